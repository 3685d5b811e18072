// Takes consistent cuts of several environments without a lock: read transactions on all environments that changed, as of one
// moment. All are begun, and then it is checked that none of the environments had a commit since its own began; until that is so, those
// that had one are begun again. The environments stay open between cuts, because opening one excludes its writers for a moment.
import { closeSync, fstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { DATA_FILE } from '../../kernel/folder/data-folder.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import { type ChangedPages, changedPages } from '../pages/page-difference.ts'
import { type MetaPage, PageFile, readMetaPage } from '../pages/page-file.ts'
import { LmdbFile } from './lmdb-file.ts'
import { openWhenUnwritten } from './open-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from './open-lock.ts'

/** Environments that stay open between cuts. */
const OPEN_MAX = 64
/** Repetitions of the read transactions before the process does something else. */
const PASSES_PER_TURN = 20
const RETRY_INTERVAL_MS = 2
/** How long to look for a moment without a commit. One pass over the environments takes microseconds. */
const CUT_TIMEOUT_MS = 5000

/** Identifies the content of an environment: its file, and its last committed transaction. */
interface EnvironmentState {
  /** Device and inode of the data file. */
  readonly identity: string
  readonly transaction: number
}

/** An environment with a read transaction, as of a cut. */
export interface CutEnvironment extends EnvironmentState {
  readonly folder: string
  readonly meta: MetaPage
  /** The meta page of the transaction. */
  readonly metaPage: Uint8Array
  /** The pages that transactions after `since` have written; -1: all pages. Throws DataCorruptionError. */
  pages(since: number): Generator<ChangedPages, void>
}

/** Several environments as they were at the same time. */
export interface Cut {
  /** The moment, in milliseconds since the epoch. */
  readonly timeMs: number
  /** Those that are not in their known state. */
  readonly changed: readonly CutEnvironment[]
  /** The folders of all environments. */
  readonly folders: readonly string[]
  /** Ends the read transactions. */
  release(): void
}

interface OpenEnvironment {
  readonly identity: string
  readonly file: LmdbFile
  readonly pages: PageFile
  users: number
}

interface Pin {
  readonly folder: string
  readonly environment: OpenEnvironment
  transaction: number
  end(): void
}

/** Takes cuts of the environments of a data folder. */
export class CutTaker {
  /** Least recently used first. */
  private readonly open = new Map<string, OpenEnvironment>()
  private readonly list: () => readonly string[]
  private readonly clock: Clock
  /** The cut that is being taken: another one waits for it, so that each environment is opened once. */
  private taking: Promise<unknown> = Promise.resolve()

  /** `list`: the folders of all environments that exist. */
  constructor(list: () => readonly string[], clock: Clock) {
    this.list = list
    this.clock = clock
  }

  /**
   * Takes a cut. `known`: the state in which an environment needs no read transaction. The cut must be released. Throws
   * OperationalError if an environment cannot be opened, or commits follow each other without a pause.
   */
  take(known: (folder: string) => EnvironmentState | null): Promise<Cut> {
    const cut = this.taking.then(() => this.takeNow(known))
    this.taking = cut.catch(() => undefined)
    return cut
  }

  private async takeNow(known: (folder: string) => EnvironmentState | null): Promise<Cut> {
    const until = performance.now() + CUT_TIMEOUT_MS
    let unopened: string | null = null
    do {
      const folders = this.list()
      const changed = folders.filter((folder) => !isIn(readState(folder), known(folder)))
      const pins: Pin[] = []
      let isTaken = false
      try {
        for (const folder of changed) {
          const environment = await this.use(folder)
          if (environment === null) unopened = folder
          else pins.push(pinned(folder, environment))
        }
        const cut = pins.length === changed.length ? this.settle(folders, pins, known) : null
        isTaken = cut !== null
        if (cut !== null) return cut
      } finally {
        if (!isTaken) for (const pin of pins) this.unpin(pin)
      }
      await Bun.sleep(RETRY_INTERVAL_MS)
    } while (performance.now() < until)
    if (unopened !== null && this.list().includes(unopened))
      throw new OperationalError(
        `the database in ${unopened} has no valid meta page, so no consistent state can be read`,
      )
    throw new OperationalError(
      `no consistent state of the data folder was found within ${CUT_TIMEOUT_MS / 1000} s, because commits follow each other without a pause`,
    )
  }

  /** Returns the cut if all pins were the newest commits at the same time, and all other environments in their known state; else null. */
  private settle(
    folders: readonly string[],
    pins: readonly Pin[],
    known: (folder: string) => EnvironmentState | null,
  ): Cut | null {
    let timeMs: number
    for (let pass = 0; ; pass++) {
      // Between the read transactions and the check: at this time the states were exactly those of the cut.
      timeMs = this.clock.now()
      if (pass === PASSES_PER_TURN) return null
      const moved = pins.filter(({ environment, transaction }) => environment.file.lastTransaction() !== transaction)
      if (moved.length === 0) break
      for (const pin of moved) pinAgain(pin)
    }
    // The others are read after that time, so they had not changed then.
    const environments = pins.map(cutEnvironment)
    const isPinned = new Set(pins.map(({ folder }) => folder))
    const isSettled =
      environments.every((environment) => environment !== null) &&
      folders.every((folder) => isPinned.has(folder) || isIn(readState(folder), known(folder))) &&
      sameNames(folders, this.list())
    if (!isSettled) return null
    return {
      timeMs,
      changed: environments.filter((environment) => environment !== null),
      folders,
      release: () => {
        for (const pin of pins) this.unpin(pin)
      },
    }
  }

  private async use(folder: string): Promise<OpenEnvironment | null> {
    const state = readState(folder)
    if (state === null) return null
    const before = this.open.get(folder)
    this.open.delete(folder)
    if (before !== undefined && before.identity !== state.identity) await closeEnvironment(before)
    const environment =
      before !== undefined && before.identity === state.identity ? before : await openEnvironment(folder, state)
    if (environment === null) return null
    environment.users += 1
    this.open.set(folder, environment)
    return environment
  }

  private unpin(pin: Pin): void {
    pin.end()
    pin.environment.users -= 1
    for (const [folder, environment] of this.open) {
      if (this.open.size <= OPEN_MAX) return
      if (environment.users > 0) continue
      this.open.delete(folder)
      void closeEnvironment(environment)
    }
  }

  /** Removes readers of killed processes from the reader tables. */
  clearStaleReaders(): void {
    for (const { file } of this.open.values()) file.clearStaleReaders()
  }

  /** Closes all environments. All cuts must be released. */
  async close(): Promise<void> {
    const environments = [...this.open.values()]
    this.open.clear()
    for (const environment of environments) await closeEnvironment(environment)
  }
}

function pinned(folder: string, environment: OpenEnvironment): Pin {
  const pin: Pin = { folder, environment, transaction: 0, end: () => {} }
  pinAgain(pin)
  return pin
}

function pinAgain(pin: Pin): void {
  const { file } = pin.environment
  pin.end()
  // A commit between the two calls is noticed: the last transaction is then another one.
  pin.transaction = file.lastTransaction()
  pin.end = file.readTransactions.pin()
}

function cutEnvironment({ folder, environment, transaction }: Pin): CutEnvironment | null {
  const { pages, identity } = environment
  const meta = pages.metas()?.find((one) => one.transaction === transaction) ?? null
  if (meta === null) return null
  const metaPage = new Uint8Array(meta.pageBytes)
  const slot = [0, 1].find((page) => pages.read(page, metaPage) && metaTransaction(metaPage) === transaction)
  if (slot === undefined) return null
  return {
    folder,
    identity,
    transaction,
    meta,
    metaPage,
    pages: (since) => changedPages(pages, meta, since),
  }
}

const META_TRANSACTION_AT = 152

/** The transaction of a meta page. */
export function metaTransaction(page: Uint8Array): number {
  return Number(new DataView(page.buffer, page.byteOffset).getBigUint64(META_TRANSACTION_AT, true))
}

/** Null: the environment was removed since. */
async function openEnvironment(folder: string, { identity }: EnvironmentState): Promise<OpenEnvironment | null> {
  const open = () => new LmdbFile(folder, { readOnly: true })
  let file: LmdbFile
  let pages: PageFile
  try {
    file = await openWhenUnwritten(folder, open, COMMAND_LOCK_TIMEOUT_MS)
    pages = new PageFile(join(folder, DATA_FILE))
  } catch (failure) {
    if (readState(folder) === null) return null
    throw failure
  }
  if (readState(folder)?.identity === identity && file.isAtItsPath()) return { identity, file, pages, users: 0 }
  pages.close()
  await file.close()
  return null
}

async function closeEnvironment({ file, pages }: OpenEnvironment): Promise<void> {
  pages.close()
  await file.close()
}

/** The state of an environment as its file shows it; null: it does not exist, or is being created. */
export function readState(folder: string): EnvironmentState | null {
  let file: number
  try {
    file = openSync(join(folder, DATA_FILE), 'r')
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw failure
  }
  try {
    const first = readMetaPage(file, 0)
    const second = first === null ? null : readMetaPage(file, first.pageBytes)
    if (first === null || second === null) return null
    const { dev, ino } = fstatSync(file)
    return { identity: `${dev}:${ino}`, transaction: Math.max(first.transaction, second.transaction) }
  } finally {
    closeSync(file)
  }
}

function isIn(state: EnvironmentState | null, known: EnvironmentState | null): boolean {
  return state !== null && state.identity === known?.identity && state.transaction === known.transaction
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, at) => name === b[at])
}
