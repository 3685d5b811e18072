// The one door to the lmdb package: what the store uses of it, in our own types, and read views of our own.
// The package's shared read transaction arms a timer at each renewal (2.4 µs); a view of our own renews in 0.2 µs.
import { existsSync, linkSync, mkdirSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as lmdb from 'lmdb'
import { open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb'
import { OperatorFault, WriteFault } from '../../kernel/errors.ts'
import type { KeyCodec } from '../keys.ts'
import type { SharedNumber } from '../shared-number.ts'
import { faultOfFile } from './file-check.ts'
import type { Stamp } from './header.ts'
import { OpeningGate } from './opening-gate.ts'
import { takeRoom } from './room.ts'

export interface Reading {
  readonly transaction: object | undefined
}

export interface Range<K> extends Partial<Reading> {
  /** Always given: the package's own default is no key of ours. */
  readonly start: K
  /** Exclusive; when reading in reverse, the lower end. */
  readonly end: K | undefined
  readonly limit?: number
  readonly reverse?: boolean
}

/**
 * A named database. Inside a write transaction single reads see that transaction, whatever `reading` says; ranges do so
 * only where they are given no reading.
 */
export interface RawDatabase<K> {
  /** One buffer for all: valid until the next read of any database. */
  getBinaryFast(key: K, reading?: Reading): Uint8Array | undefined
  getRange(range: Range<K>): Iterable<{ key: K; value: Uint8Array }>
  getKeys(range: Range<K>): Iterable<K>
  put(key: K, value: Uint8Array, options?: { readonly append: boolean }): unknown
  remove(key: K): unknown
}

/**
 * Puts a part of the bytes, of which the package takes `start` and `end` for its own: a view made for each value would cost
 * as much as the put. Within a write transaction alone, where the value is copied at once; the bytes begin their memory.
 */
export function putPiece<K>(database: RawDatabase<K>, key: K, bytes: Uint8Array, start: number, end: number): void {
  database.put(key, pieceOf(bytes, start, end))
}

/**
 * As `putPiece`, for a key that is above all others: it needs no search, and leaves its page full. Where it is not above
 * them, it is put in its place.
 */
export function appendPiece<K>(database: RawDatabase<K>, key: K, bytes: Uint8Array, start: number, end: number): void {
  const piece = pieceOf(bytes, start, end)
  const { result } = database.put(key, piece, APPEND) as { result?: boolean }
  if (result === false) database.put(key, piece)
}

const APPEND = { append: true }

function pieceOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const piece = bytes as Uint8Array & { start: number; end: number }
  piece.start = start
  piece.end = end
  return piece
}

interface NativeTransaction {
  readonly address: number
  abort(): void
}

interface NativeAddon {
  readonly Txn: new (environment: object, flags: number) => NativeTransaction
  resetTxn(address: number): void
}

// Exported by the package and missing from its types.
const { Txn, resetTxn } = (lmdb as unknown as { nativeAddon: NativeAddon }).nativeAddon

/** MDB_RDONLY. */
const READ_ONLY = 0x20000

/**
 * Address space, not disk: a store that grows beyond it is mapped anew, at twice its size. A process has room for some
 * 6,000 of them; maps of 256 GiB filled it with 500.
 */
const MAP_BYTES = 16 * 2 ** 30

/** The package's name for the file in the folder. */
export const DATA_FILE = 'data.mdb'

/** Where a migration writes the new folder, and where it puts the old one before the new one takes its place. */
export function besideOf(path: string): string {
  return `${path}.migrated`
}

export function asideOf(path: string): string {
  return `${path}.before`
}

/** The folder itself, of what a migration that was cut off may have left. */
export function stemOf(path: string): string {
  return path.replace(/\.(migrated|before)$/, '')
}

/** What to tell of it. */
export function cutOff(path: string): string {
  return `the migration of ${stemOf(path)} was cut off; \`verdigraph migrate\` finishes it`
}

/** Something is stored there, be it that a migration was cut off in between. */
export function isStored(path: string): boolean {
  return existsSync(join(path, DATA_FILE)) || existsSync(asideOf(path))
}

const READERS_MAX = 1000
/** The package's name for the table of them, and what each takes there, with its part of what stands before it. */
const READERS_FILE = 'lock.mdb'
const READER_BYTES = 72
/** With the first pages of a store: LMDB spoils its memory, and the process dies at its end, where these find no room. */
const FIRST_BYTES = 512 * 1024

/** With less room on the disk, a failed commit is told as one that had none. */
const ROOM_MIN_BYTES = 64 * 2 ** 20
const DATABASES_MAX = 16

function ignore(): void {}

export interface FileOptions {
  /** False: commits are not flushed to disk (tests). */
  readonly sync?: boolean
  readonly readOnly?: boolean
  /**
   * Another number after each commit of any process, before whoever wrote is told that it is done: only where all that
   * write to the file bump the same one. Without it nobody knows that nothing was committed.
   */
  readonly commits?: Pick<SharedNumber, 'load' | 'bump'>
  /** For tests: the address space to begin with. */
  readonly mapBytes?: number
}

/** One LMDB environment on disk. */
export class LmdbFile {
  private readonly path: string
  private readonly file: string
  /** What the system knows the open file by, whatever its path leads to later. */
  private readonly inode: number
  private readonly root: RootDatabase
  private readonly leaveRoom: () => void
  private readonly gate: OpeningGate
  private readonly isReadOnly: boolean
  private readonly freeViews: ReadView[] = []
  private readonly commits: FileOptions['commits'] | null
  /** The view that began last. One that began before it must not be read after it: states lead forwards only. */
  private newest: ReadView | null = null
  private kept: ReadView | null = null
  private isResting = false
  private readonly views = new Set<ReadView>()
  private closed = false
  private isLeaving = false

  constructor(path: string, options: FileOptions) {
    this.path = path
    this.commits = options.commits ?? null
    this.isReadOnly = options.readOnly === true
    // An empty store in its place would hide what is there.
    if (!existsSync(join(path, DATA_FILE)) && existsSync(asideOf(path))) throw new OperatorFault(cutOff(path))
    // The package would make the folder before it finds that it may not write.
    if (this.isReadOnly && !existsSync(join(path, DATA_FILE)))
      throw new OperatorFault(`the folder ${path} holds no store`)
    const file = join(path, DATA_FILE)
    this.file = file
    const mapBytes = options.mapBytes ?? MAP_BYTES
    this.leaveRoom = takeRoom(path, mapBytes)
    let gate: OpeningGate | null = null
    try {
      if (!this.isReadOnly) mkdirSync(path, { recursive: true })
      gate = OpeningGate.of(file)
      this.gate = gate
      this.root = gate.whileStill(() => openSound(path, file, openOptions(path, options, mapBytes)))
      this.inode = statSync(file).ino
    } catch (failure) {
      gate?.close()
      this.leaveRoom()
      if (failure instanceof OperatorFault) throw failure
      throw new OperatorFault(`the store in ${path} cannot be opened: ${(failure as Error).message}`)
    }
  }

  database<K>(name: string, keyEncoder: KeyCodec<K>): RawDatabase<K> {
    return this.openNamed({ name, encoding: 'binary', keyEncoder })
  }

  /** Keys are plain numbers up to 32 bits. */
  numbered(name: string): RawDatabase<number> {
    return this.openNamed({ name, encoding: 'binary', keyEncoding: 'uint32' })
  }

  private openNamed<K>(options: object): RawDatabase<K> {
    const openIt = () => this.root.openDB(options as { name: string }) as RawDatabase<K> | undefined
    const database = this.isReadOnly ? openIt() : this.gate.during(openIt)
    if (database === undefined) throw new Error('the folder holds no such store')
    return database
  }

  /**
   * Runs `change` in the next write transaction. The promise resolves when the commit is on disk, and rejects with
   * WriteFault when it could not be written: then nothing of it is, and what was committed before stays as it is.
   * `change` does not throw, for the package would commit what it has written by then.
   */
  async transaction<T>(change: () => T): Promise<T> {
    const turn = this.gate.enter()
    // Awaited only where it must be: what is written in one turn shares a batch.
    if (turn !== null) await turn
    try {
      // A file that was removed or replaced takes what is written to it, and nobody ever reads it again.
      if (!this.isInPlace()) throw new WriteFault(`${this.file} is not the file any more that was opened`, false)
      const committed = this.root.transaction(change)
      this.leaveBatchToCommit()
      return await committed
    } catch (failure) {
      throw await this.readable(failure)
    } finally {
      // Before anybody is told: a decision after that must not be made of a view from before.
      this.commits?.bump()
      this.gate.leave()
    }
  }

  /** Its path still leads to it. */
  isInPlace(): boolean {
    return statSync(this.file, { throwIfNoEntry: false })?.ino === this.inode
  }

  /**
   * The package begins a batch of its own for all that is written in one turn, and drops the promise of it; the getter is
   * the one way to that promise, from the moment at which the package has begun the batch.
   */
  private leaveBatchToCommit(): void {
    if (this.isLeaving) return
    this.isLeaving = true
    setImmediate(() => {
      this.isLeaving = false
      this.root.committed.then(ignore, ignore)
    })
  }

  /** The package rejects a promise of its own beside; whoever does not look at that one ends the process. */
  private async readable(failure: unknown): Promise<unknown> {
    const { commitError } = failure as { commitError?: Promise<never> }
    if (commitError === undefined) return failure
    let cause = 'the commit failed'
    commitError.catch((reason: unknown) => {
      if (reason instanceof Error) cause = reason.message
    })
    // It is rejected within this turn, or never.
    await new Promise((resolve) => setImmediate(resolve))
    return new WriteFault(cause, this.isFull())
  }

  /** LMDB tells of a full disk by any of several codes, so the disk is asked. */
  private isFull(): boolean {
    try {
      const { bavail, bsize } = statfsSync(this.path)
      return bavail * bsize < ROOM_MIN_BYTES
    } catch {
      return false
    }
  }

  /** Blocks the process: for opening only. */
  transactionNow(change: () => void): void {
    this.gate.during(() => this.root.transactionSync(change))
  }

  /** A view of what is committed now. Give it back within the same turn. */
  takeView(): ReadView {
    if (this.closed) throw new Error('assertion failed: the store is closed')
    const free = this.freeViews.pop()
    if (free !== undefined) return free
    const transaction = new Txn((this.root as unknown as { env: object }).env, READ_ONLY)
    resetTxn(transaction.address)
    const view: ReadView = { transaction, commits: null, stamp: null }
    this.views.add(view)
    return view
  }

  /** To be looked at before a view begins that is to be kept. Null: none is. */
  commitsNow(): number | null {
    return this.commits?.load() ?? null
  }

  /** The view has begun after that look, and found that state: it may be read again while nothing is committed. */
  mayKeep(view: ReadView, commits: number | null, stamp: Stamp): void {
    view.commits = commits
    view.stamp = stamp
    this.newest = view
  }

  /**
   * The view that a snapshot of this very turn has given back, with its state, where nobody was told of a commit since it
   * began. To begin a view and to ask it for its state is a quarter of a decision (1.2 of 4.7 µs). Null where there is none.
   */
  takeKept(): ReadView | null {
    const { kept } = this
    if (kept === null) return null
    this.kept = null
    if (!this.closed && kept.commits === this.commitsNow()) return kept
    this.rest(kept)
    return null
  }

  /** Lets go of the pages, at the latest when this turn is over; the next reading through the view begins a new one. */
  giveBack(view: ReadView): void {
    if (view.commits === null || view !== this.newest || this.closed) {
      this.rest(view)
      return
    }
    this.kept = view
    if (this.isResting) return
    this.isResting = true
    setImmediate(() => {
      this.isResting = false
      const { kept } = this
      this.kept = null
      if (kept !== null) this.rest(kept)
    })
  }

  private rest(view: ReadView): void {
    view.commits = null
    if (this.closed || view.transaction === undefined) return
    resetTxn(view.transaction.address)
    this.freeViews.push(view)
  }

  /** Begins a reading of what is committed now, and keeps its pages until the answer is called. */
  pin(): () => void {
    const transaction = new Txn((this.root as unknown as { env: object }).env, READ_ONLY)
    return () => transaction.abort()
  }

  /** A copy without free pages, as of when it begins, in a folder that holds none. */
  async copyCompacted(folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true })
    try {
      await this.root.backup(folder, true)
    } catch (failure) {
      throw new OperatorFault(`${folder} cannot be written: ${(failure as Error).message}`)
    }
  }

  /** Lets go of the pages that readings of killed processes hold; else they are kept until somebody opens the file. */
  checkReaders(): void {
    if (!this.closed) this.root.readerCheck()
  }

  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    for (const view of this.views) view.transaction?.abort()
    this.views.clear()
    try {
      await this.root.close()
    } finally {
      this.leaveRoom()
      this.gate.close()
    }
  }
}

/** A read transaction that begins with the first reading through it. */
export interface ReadView extends Reading {
  readonly transaction: NativeTransaction | undefined
  /** Of a view that may be kept: how many commits there were before it began, and the state that it found. */
  commits: number | null
  stamp: Stamp | null
}

/** Reads the write transaction under way, in its own turn. */
export const WRITING: ReadView = { transaction: undefined, commits: null, stamp: null }

/**
 * LMDB maps a table of its readers, and the disk gives it room where it is first touched: with none left, the system ends
 * the process that touches it. So it is filled before anybody maps it.
 */
function takeRoomForReaders(path: string): void {
  const file = join(path, READERS_FILE)
  if (existsSync(file)) return
  const draft = `${file}.${process.pid}`
  try {
    writeFileSync(draft, new Uint8Array(FIRST_BYTES))
    truncateSync(draft, READERS_MAX * READER_BYTES)
    // Never over one that another process has in use already.
    linkSync(draft, file)
  } catch (failure) {
    const { code } = failure as { code?: string }
    if (code === 'ENOSPC' || code === 'EDQUOT') throw new OperatorFault(`there is no room for a store in ${path}`)
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * `open` opens the folder, which it does at once: what it would have to wait for is waited for before, and this process goes
 * on with its own writes. Of those that open what another one writes to, none keeps the others waiting.
 */
export async function openedStill<T>(path: string, open: () => T): Promise<T> {
  let gate: OpeningGate
  try {
    gate = OpeningGate.of(join(path, DATA_FILE))
  } catch {
    // It says better what is wrong with the folder.
    return open()
  }
  try {
    return await gate.onceStill(open)
  } finally {
    gate.close()
  }
}

/** Looked at while nobody writes: what changes meanwhile would look damaged. */
function openSound(path: string, file: string, options: RootDatabaseOptionsWithPath): RootDatabase {
  const fault = faultIn(file)
  if (fault !== null) throw new OperatorFault(`${file} ${fault}`)
  takeRoomForReaders(path)
  return open(options)
}

function faultIn(file: string): string | null {
  try {
    return faultOfFile(file)
  } catch (failure) {
    return `cannot be read: ${(failure as Error).message}`
  }
}

function openOptions(path: string, options: FileOptions, mapBytes: number): RootDatabaseOptionsWithPath {
  return {
    path,
    encoding: 'binary',
    keyEncoding: 'binary',
    mapSize: mapBytes,
    maxDbs: DATABASES_MAX,
    maxReaders: READERS_MAX,
    noSubdir: false,
    noSync: options.sync === false,
    readOnly: options.readOnly === true,
    // A commit is then on disk when it resolves (ruling G9); writes that wait meanwhile share the next one.
    overlappingSync: false,
  }
}
