// Read views of our own: taken, given back, and the last one kept for what is read in the same turn.
// The package's shared read transaction arms a timer at each renewal (2.4 µs); a view of our own renews in 0.2 µs.
import * as lmdb from 'lmdb'
import type { GraphVersion } from '../format/header.ts'
import type { SharedCounter } from '../process/shared-counter.ts'
import type { ReadOptions } from './raw-database.ts'

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
const MDB_RDONLY = 0x20000

/** A read transaction that begins with the first reading through it. */
export interface ReadTransaction extends ReadOptions {
  readonly transaction: NativeTransaction | undefined
  /** Of a view that may be kept: how many commits there were before it began, and the state that it found. */
  commits: number | null
  graphVersion: GraphVersion | null
}

/** Reads the write transaction under way, in its own turn. */
export const IN_WRITE_TRANSACTION: ReadTransaction = { transaction: undefined, commits: null, graphVersion: null }

/** Those of one environment. */
export class ReadTransactions {
  private readonly environment: object
  private readonly commits: Pick<SharedCounter, 'load'> | null
  private readonly all = new Set<ReadTransaction>()
  private readonly free: ReadTransaction[] = []
  /** The view that began last. One that began before it must not be read after it: states lead forwards only. */
  private newest: ReadTransaction | null = null
  private recent: ReadTransaction | null = null
  private isResetScheduled = false
  private closed = false

  /** `environment` is the package's own. Without `commits` nobody knows that nothing was committed, and none is kept. */
  constructor(environment: object, commits: Pick<SharedCounter, 'load'> | null) {
    this.environment = environment
    this.commits = commits
  }

  /** A view of what is committed now. Give it back within the same turn. */
  acquire(): ReadTransaction {
    if (this.closed) throw new Error('assertion failed: the store is closed')
    const resting = this.free.pop()
    if (resting !== undefined) return resting
    const transaction = new Txn(this.environment, MDB_RDONLY)
    resetTxn(transaction.address)
    const view: ReadTransaction = { transaction, commits: null, graphVersion: null }
    this.all.add(view)
    return view
  }

  /** To be looked at before a view begins that is to be kept. Null: none is. */
  commitCount(): number | null {
    return this.commits?.load() ?? null
  }

  /** The view has begun after that look, and found that state: it may be read again while nothing is committed. */
  allowReuse(view: ReadTransaction, commits: number | null, stamp: GraphVersion): void {
    view.commits = commits
    view.graphVersion = stamp
    this.newest = view
  }

  /**
   * The view that a snapshot of this very turn has given back, with its state, where nobody was told of a commit since it
   * began. To begin a view and to ask it for its state is a quarter of a decision (1.2 of 4.7 µs). Null where there is none.
   */
  acquireRecent(): ReadTransaction | null {
    const { recent } = this
    if (recent === null) return null
    this.recent = null
    if (!this.closed && recent.commits === this.commitCount()) return recent
    this.reset(recent)
    return null
  }

  /** Lets go of the pages, at the latest when this turn is over; the next reading through the view begins a new one. */
  release(view: ReadTransaction): void {
    if (view.commits === null || view !== this.newest || this.closed) {
      this.reset(view)
      return
    }
    this.recent = view
    if (this.isResetScheduled) return
    this.isResetScheduled = true
    setImmediate(() => {
      this.isResetScheduled = false
      const { recent } = this
      this.recent = null
      if (recent !== null) this.reset(recent)
    })
  }

  private reset(view: ReadTransaction): void {
    view.commits = null
    if (this.closed || view.transaction === undefined) return
    resetTxn(view.transaction.address)
    this.free.push(view)
  }

  /** No view is in use. */
  get isIdle(): boolean {
    return this.all.size === this.free.length + (this.recent === null ? 0 : 1)
  }

  /** Begins a reading of what is committed now, and keeps its pages until the answer is called. */
  pin(): () => void {
    const transaction = new Txn(this.environment, MDB_RDONLY)
    return () => transaction.abort()
  }

  /** Before the environment is. */
  close(): void {
    this.closed = true
    for (const view of this.all) view.transaction?.abort()
    this.all.clear()
  }
}
