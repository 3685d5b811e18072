// What a batch will put and remove, encoded beforehand: what may fail fails here, while the database is still untouched.
import { assert } from '../../kernel/assert.ts'
import type { ByteWriter } from '../format/bytes.ts'
import type { Database } from './database.ts'

export interface TouchedKey {
  readonly database: Database<unknown>
  readonly key: unknown
}

interface PendingWrite extends TouchedKey {
  /** Where the value stands in the sink; -1 removes. */
  readonly start: number
  readonly end: number
}

export class PendingWrites {
  private list: PendingWrite[] = []
  private start = 0

  /** What is written to the sink from here on is the next value. */
  begin(sink: ByteWriter): void {
    this.start = sink.length
  }

  put<K>(database: Database<K>, key: K, sink: ByteWriter): void {
    assert(sink.length >= this.start, 'a value begins where it was begun')
    database.seal(key, sink, this.start)
    this.list.push({ database: database as Database<unknown>, key, start: this.start, end: sink.length })
  }

  /** Puts what concerns one database behind everything else, in that order: for keys that occur once. */
  sort<K>(database: Database<K>, compare: (a: K, b: K) => number): void {
    const others: PendingWrite[] = []
    const sorted: PendingWrite[] = []
    for (const each of this.list) (each.database === database ? sorted : others).push(each)
    sorted.sort((a, b) => compare(a.key as K, b.key as K))
    this.list = others
    for (const each of sorted) others.push(each)
  }

  remove<K>(database: Database<K>, key: K): void {
    this.list.push({ database: database as Database<unknown>, key, start: -1, end: -1 })
  }

  /** What is put and removed. */
  get touched(): readonly TouchedKey[] {
    return this.list
  }

  apply(sink: ByteWriter): void {
    for (const { database, key, start, end } of this.list) {
      if (start < 0) database.remove(key)
      else database.putSealed(key, sink, start, end)
    }
  }
}
