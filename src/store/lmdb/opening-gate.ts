// Keeps the writers of all processes still while one of them opens an environment. LMDB puts the number of the last commit
// into the table that all processes share, as it has read it from the file some moments before (`mdb_env_open2`): a commit in
// between is taken back by that. Readers see the state before it, and the next writer writes over it, acknowledged or not.
// Two locks that the system drops with their process: on the folder, the turnstile that a writer passes and an opener holds;
// on the data file, what writers share and an opener waits to have alone. The turnstile lets no stream of writers starve it.
import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorFault, WriteFault } from '../../kernel/errors.ts'
import { EXCLUSIVE, hasLocks, locked, SHARED, UNLOCK } from './system-locks.ts'

/** For an opening to end, or for those who write to finish what they have begun. */
const PATIENCE_MS = 10_000
const PATIENCE_OF_A_WRITER_MS = 1000
/** One transaction of an import, and a slow disk, take longer. */
const PATIENCE_OF_A_COMMAND_MS = 120_000
const LOOK_AGAIN_MS = 1

/** An opening that has waited so long lets those pass who wait to write, before they lose their patience. */
const TURN_MS = 5000
const LET_PASS_MS = 50

let patience = PATIENCE_MS

/** In a process that does one thing and ends: nobody waits for what it has open. */
export function bePatient(): void {
  patience = PATIENCE_OF_A_COMMAND_MS
}

/** Nothing is wrong with the folder: somebody else does not get on. */
export class BusyFault extends OperatorFault {
  override readonly name = 'BusyFault'
}

/** In all folders: writes that this process has begun and not finished. */
let writing = 0

/** By the folder's device and inode: those that open one folder twice in a process share the locks, as they share LMDB's. */
const gates = new Map<string, OpeningGate>()

interface Opening {
  hasTurnstile: boolean
}

export class OpeningGate {
  private readonly name: string
  private readonly file: string
  /** Null where there are no such locks. */
  private readonly turnstile: number | null
  /** The data file, once there is one. */
  private passage: number | null = null
  private users = 0
  private writers = 0
  /** Openings of this process that have the turnstile, and since when. */
  private openings = 0
  private since = 0
  /** Within an opening: nobody writes, in no process. */
  private isStill = false
  /** The last of those who wait to write, in their order. */
  private queue: Promise<void> | null = null

  private constructor(name: string, file: string, turnstile: number | null) {
    this.name = name
    this.file = file
    this.turnstile = turnstile
  }

  /** Of a data file that need not exist, in a folder that does. To be closed as often as it was asked for. */
  static of(file: string): OpeningGate {
    const { dev, ino } = statSync(dirname(file))
    const name = `${dev}:${ino}`
    let gate = gates.get(name)
    if (gate === undefined) {
      gate = new OpeningGate(name, file, hasLocks() ? openSync(dirname(file), 'r') : null)
      gates.set(name, gate)
    }
    gate.users++
    return gate
  }

  /**
   * Blocks until nobody writes, and lets nobody begin before `open` has ended. Throws BusyFault when that takes long: this
   * process finishes no write of its own meanwhile, for which another may be waiting that blocks in the same way.
   */
  whileStill<T>(open: () => T): T {
    const opening: Opening = { hasTurnstile: false }
    const until = Date.now() + (writing > 0 ? PATIENCE_OF_A_WRITER_MS : patience)
    try {
      while (!this.quiets(opening)) {
        if (Date.now() > until) throw this.busy()
        sleep(this.pause(opening))
      }
      return this.open(open)
    } finally {
      this.end(opening)
    }
  }

  /** As `whileStill`, and this process goes on meanwhile. To be kept open until it is over. */
  async onceStill<T>(open: () => T): Promise<T> {
    const opening: Opening = { hasTurnstile: false }
    const until = Date.now() + patience
    try {
      while (!this.quiets(opening)) {
        if (Date.now() > until) throw this.busy()
        const pause = this.pause(opening)
        await new Promise((resolve) => setTimeout(resolve, pause))
      }
      return this.open(open)
    } finally {
      this.end(opening)
    }
  }

  /** True: nobody writes, and nobody begins before this turn is over. */
  private quiets(opening: Opening): boolean {
    if (this.turnstile === null || this.opensNothing()) return true
    if (!opening.hasTurnstile) {
      if (this.openings === 0) {
        if (!locked(this.turnstile, EXCLUSIVE)) return false
        this.since = Date.now()
      }
      opening.hasTurnstile = true
      this.openings++
      this.findPassage()
    }
    return this.passage === null || locked(this.passage, EXCLUSIVE)
  }

  /** Until it is looked again. */
  private pause(opening: Opening): number {
    if (!opening.hasTurnstile || Date.now() - this.since < TURN_MS) return LOOK_AGAIN_MS
    this.end(opening)
    return LET_PASS_MS
  }

  /** What this process is writing to it has open already, and LMDB opens nothing anew. */
  private opensNothing(): boolean {
    return this.isStill || this.writers > 0
  }

  private open<T>(open: () => T): T {
    if (this.opensNothing()) return open()
    this.isStill = true
    try {
      return open()
    } finally {
      this.isStill = false
      if (this.passage === null) this.findPassage()
      else locked(this.passage, UNLOCK)
    }
  }

  private end(opening: Opening): void {
    if (!opening.hasTurnstile) return
    opening.hasTurnstile = false
    this.openings--
    if (this.openings === 0 && this.turnstile !== null) locked(this.turnstile, UNLOCK)
  }

  private busy(): BusyFault {
    return new BusyFault(`${this.file} is busy: others do not stop writing to it`)
  }

  /** The file may be another one by now, or there may be one at last. */
  private findPassage(): void {
    if (this.turnstile === null) return
    const found = existsSync(this.file) ? openSync(this.file, 'r') : null
    this.forgetPassage()
    this.passage = found
  }

  private forgetPassage(): void {
    if (this.passage !== null) closeSync(this.passage)
    this.passage = null
  }

  /**
   * Before a write begins, which lasts until `leave`. Null: it may begin at once; else it waits behind those who wait
   * already. Rejects with WriteFault when it waits for long.
   */
  enter(): Promise<void> | null {
    if (this.queue === null && this.passes()) {
      this.begin()
      return null
    }
    const until = Date.now() + PATIENCE_MS
    const wait = () => this.waitToEnter(until)
    const turn = (this.queue ?? Promise.resolve()).then(wait, wait)
    this.queue = turn
    const end = () => {
      if (this.queue === turn) this.queue = null
    }
    turn.then(end, end)
    return turn
  }

  private async waitToEnter(until: number): Promise<void> {
    while (!this.passes()) {
      if (this.users === 0) throw new WriteFault(`${this.file} was closed`, null)
      if (Date.now() > until) throw new WriteFault(`another process does not finish opening ${this.file}`, null)
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
    }
    this.begin()
  }

  /** Blocks while somebody else is opening the folder. */
  during<T>(write: () => T): T {
    if (this.isStill || this.users === 0) return write()
    const until = Date.now() + PATIENCE_MS
    // A write of this process under way keeps others from opening: to wait for them would be to wait for itself.
    while (this.writers === 0 && !this.passes()) {
      if (Date.now() > until) throw new BusyFault(`${this.file} is busy: another process does not finish opening it`)
      sleep(LOOK_AGAIN_MS)
    }
    this.begin()
    try {
      return write()
    } finally {
      this.leave()
    }
  }

  private passes(): boolean {
    if (this.users === 0) return false
    if (this.turnstile === null) return true
    // An opening of this process keeps others from theirs, and waits for what passes here, too.
    if (this.openings > 0) return this.takesPassage()
    if (!locked(this.turnstile, SHARED)) return false
    try {
      return this.takesPassage()
    } finally {
      locked(this.turnstile, UNLOCK)
    }
  }

  private takesPassage(): boolean {
    return this.writers > 0 || this.passage === null || locked(this.passage, SHARED)
  }

  private begin(): void {
    this.writers++
    writing++
  }

  /** The write is on disk, or has failed. */
  leave(): void {
    this.writers--
    writing--
    if (this.writers === 0 && this.passage !== null) locked(this.passage, UNLOCK)
  }

  close(): void {
    this.users--
    if (this.users > 0) return
    gates.delete(this.name)
    this.forgetPassage()
    if (this.turnstile !== null) closeSync(this.turnstile)
  }
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
