// Read views of our own: taken, given back, and the last one kept for what is read in the same turn.
// The package's shared read transaction arms a timer at each renewal (2.4 µs); a view of our own renews in 0.2 µs.
import * as lmdb from 'lmdb'
import type { SharedNumber } from '../shared-number.ts'
import type { Stamp } from './header.ts'
import type { Reading } from './raw-database.ts'

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

/** A read transaction that begins with the first reading through it. */
export interface ReadView extends Reading {
  readonly transaction: NativeTransaction | undefined
  /** Of a view that may be kept: how many commits there were before it began, and the state that it found. */
  commits: number | null
  stamp: Stamp | null
}

/** Reads the write transaction under way, in its own turn. */
export const WRITING: ReadView = { transaction: undefined, commits: null, stamp: null }

/** Those of one environment. */
export class ReadViews {
  private readonly environment: object
  private readonly commits: Pick<SharedNumber, 'load'> | null
  private readonly all = new Set<ReadView>()
  private readonly free: ReadView[] = []
  /** The view that began last. One that began before it must not be read after it: states lead forwards only. */
  private newest: ReadView | null = null
  private kept: ReadView | null = null
  private isResting = false
  private closed = false

  /** `environment` is the package's own. Without `commits` nobody knows that nothing was committed, and none is kept. */
  constructor(environment: object, commits: Pick<SharedNumber, 'load'> | null) {
    this.environment = environment
    this.commits = commits
  }

  /** A view of what is committed now. Give it back within the same turn. */
  take(): ReadView {
    if (this.closed) throw new Error('assertion failed: the store is closed')
    const resting = this.free.pop()
    if (resting !== undefined) return resting
    const transaction = new Txn(this.environment, READ_ONLY)
    resetTxn(transaction.address)
    const view: ReadView = { transaction, commits: null, stamp: null }
    this.all.add(view)
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
    this.free.push(view)
  }

  /** No view is in use. */
  get isIdle(): boolean {
    return this.all.size === this.free.length + (this.kept === null ? 0 : 1)
  }

  /** Begins a reading of what is committed now, and keeps its pages until the answer is called. */
  pin(): () => void {
    const transaction = new Txn(this.environment, READ_ONLY)
    return () => transaction.abort()
  }

  /** Before the environment is. */
  close(): void {
    this.closed = true
    for (const view of this.all) view.transaction?.abort()
    this.all.clear()
  }
}
