// The writes of a batch, encoded in advance. An error during encoding leaves the database unchanged.
import { assert } from '../../kernel/assert.ts'
import type { ByteWriter } from '../format/bytes.ts'
import type { Database } from './database.ts'

/** A key that a batch puts or removes. */
export interface TouchedKey {
  readonly database: Database<unknown>
  readonly key: unknown
}

interface PendingWrite extends TouchedKey {
  /** Offset of the value in the writer; -1: the key is removed. */
  readonly start: number
  readonly end: number
}

/** The encoded writes of a batch. Their values are in one writer. */
export class PendingWrites {
  private list: PendingWrite[] = []
  private start = 0

  /** Starts the next value at the current end of the writer. */
  begin(writer: ByteWriter): void {
    this.start = writer.length
  }

  /** Seals the value since `begin` and records it under the key. */
  put<K>(database: Database<K>, key: K, writer: ByteWriter): void {
    assert(writer.length >= this.start, 'a value begins where it was begun')
    database.seal(key, writer, this.start)
    this.list.push({ database: database as Database<unknown>, key, start: this.start, end: writer.length })
  }

  /** Moves the writes of one database to the end and sorts them by key. Each key must occur once. */
  sort<K>(database: Database<K>, compare: (a: K, b: K) => number): void {
    const others: PendingWrite[] = []
    const sorted: PendingWrite[] = []
    for (const each of this.list) (each.database === database ? sorted : others).push(each)
    sorted.sort((a, b) => compare(a.key as K, b.key as K))
    this.list = others
    for (const each of sorted) others.push(each)
  }

  /** Records the removal of a key. */
  remove<K>(database: Database<K>, key: K): void {
    this.list.push({ database: database as Database<unknown>, key, start: -1, end: -1 })
  }

  /** All keys that are put or removed. */
  get touched(): readonly TouchedKey[] {
    return this.list
  }

  /** Within a write transaction: executes all writes. */
  apply(writer: ByteWriter): void {
    for (const { database, key, start, end } of this.list) {
      if (start < 0) database.remove(key)
      else database.putSealed(key, writer, start, end)
    }
  }
}
