// One state of an environment, as it is read: through one read view, and from the hot cache while that stands at the same
// state. What is not found is proved to be absent before anybody hears of it.
import { assert } from '../../kernel/assert.ts'
import type { Window } from '../bytes.ts'
import type { Database } from './database.ts'
import type { Databases } from './databases.ts'
import type { Stamp } from './header.ts'
import type { HotCache } from './hot-cache.ts'
import type { Reading } from './raw-database.ts'
import type { ReadView } from './read-views.ts'
import type { SymbolTable } from './symbols.ts'

/** What the state is of: the environment. */
export interface Opener {
  readonly databases: Databases
  readonly symbols: SymbolTable
  readonly hot: HotCache
  release(view: ReadView): void
  /** Throws DamageFault when the database does not hold so many entries from `start` on to `end`, or the one key `start`. */
  prove<K>(database: Database<K>, start: K, end: K | null, count: number, stamp: Stamp): void
}

export class StateReading {
  readonly stamp: Stamp
  readonly databases: Databases
  readonly hot: HotCache
  protected readonly opener: Opener
  private readonly view: ReadView
  private readonly epoch: number
  private open = true

  constructor(opener: Opener, view: ReadView, epoch: number, stamp: Stamp) {
    this.opener = opener
    this.databases = opener.databases
    this.view = view
    this.hot = opener.hot
    this.epoch = epoch
    this.stamp = stamp
  }

  /** The opener is the environment. */
  get environment(): object {
    return this.opener
  }

  close(): void {
    if (!this.open) return
    this.open = false
    this.opener.release(this.view)
  }

  /** Whether the hot cache still stands where this state does. */
  get isHot(): boolean {
    assert(this.open, 'a snapshot is not used after it is closed')
    return this.epoch === this.hot.epoch
  }

  /** For a walk over a range, which whoever walks has to prove whole. */
  get reading(): Reading {
    assert(this.open, 'a snapshot is not used after it is closed')
    return this.view
  }

  read<K>(database: Database<K>, key: K): Window | null {
    assert(this.open, 'a snapshot is not used after it is closed')
    const window = database.get(key, this.view)
    if (window === null) this.opener.prove(database, key, null, 0, this.stamp)
    return window
  }

  /** What must be there. */
  expect<K>(database: Database<K>, key: K): Window {
    assert(this.open, 'a snapshot is not used after it is closed')
    return database.expect(key, this.view)
  }

  /** As the opener does. */
  prove<K>(database: Database<K>, start: K, end: K, count: number): void {
    this.opener.prove(database, start, end, count, this.stamp)
  }
}
