// The records of one kind of element that a batch edits. A record is read when the batch first needs it, and written if it has
// changed at the end.
import type { SymbolId } from '../../engine/store.ts'
import type { ByteWriter, ValueView } from '../format/bytes.ts'
import type { StoredProperties } from '../format/records.ts'
import type { Database } from '../lmdb/database.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'

/** A record before the batch and as edited; null: it does not exist. */
export interface EditedRecord<R> {
  readonly before: R | null
  now: R | null
}

/** Fields that an imported element keeps. Missing fields get new values. Times are milliseconds since the epoch. */
export interface PreservedFields {
  readonly gid?: string
  readonly createdMs?: number
  readonly updatedMs?: number
}

/** The fields that both kinds of records share. */
interface EditableRecord {
  readonly type: SymbolId
  readonly gid: string
  readonly updatedMs: number
  readonly properties: StoredProperties
}

/** The edited records of one kind of element. */
export class ElementEdits<R extends EditableRecord> {
  private readonly database: Database<number>
  private readonly readRecord: (valueView: ValueView) => R
  private readonly writeRecord: (writer: ByteWriter, record: R) => void
  private readonly edited = new Map<number, EditedRecord<R>>()

  constructor(
    database: Database<number>,
    readRecord: (valueView: ValueView) => R,
    writeRecord: (writer: ByteWriter, record: R) => void,
  ) {
    this.database = database
    this.readRecord = readRecord
    this.writeRecord = writeRecord
  }

  /** The record as edited; null: deleted; undefined: the batch has not read it. */
  now(id: number): R | null | undefined {
    return this.edited.get(id)?.now
  }

  /** Whether the element exists, with the edits of the batch. */
  exists(id: number): boolean {
    const now = this.now(id)
    return now === undefined ? this.database.get(id) !== null : now !== null
  }

  /** Returns the record for editing, and reads it if necessary. */
  at(id: number): EditedRecord<R> {
    let edited = this.edited.get(id)
    if (edited === undefined) {
      const valueView = this.database.get(id)
      const record = valueView === null ? null : this.readRecord(valueView)
      edited = { before: record, now: record }
      this.edited.set(id, edited)
    }
    return edited
  }

  /** All records that differ from those before the batch. A record that was created and deleted again is left out. */
  *changes(): Iterable<EditedRecord<R>> {
    for (const edited of this.edited.values()) if (edited.before !== edited.now) yield edited
  }

  /** Has the record encoded again as it is, with its times. */
  rewrite(id: number): void {
    const edited = this.at(id)
    // Another object is a change.
    if (edited.now !== null) edited.now = { ...edited.now }
  }

  protected add(id: number, record: R): void {
    this.edited.set(id, { before: null, now: record })
  }

  /** Replaces the properties. If `change` returns the same map, nothing changes. Returns the global id. */
  change(id: number, now: number, change: (properties: StoredProperties) => StoredProperties): string {
    const edited = this.at(id)
    const old = edited.now!
    const properties = change(old.properties)
    if (properties !== old.properties) edited.now = { ...old, properties, updatedMs: now }
    return old.gid
  }

  /** Encodes changed records, after a call of `tell` for each. Returns the change of the element count by type. */
  protected encodeRecords(
    writer: ByteWriter,
    operations: PendingWrites,
    onChange?: (id: number, before: R | null, now: R | null) => void,
  ): Map<SymbolId, number> {
    const counts = new Map<SymbolId, number>()
    for (const [id, { before, now }] of this.edited) {
      if (before === now) continue
      const { type } = (now ?? before)!
      const step = (now === null ? 0 : 1) - (before === null ? 0 : 1)
      if (step !== 0) counts.set(type, (counts.get(type) ?? 0) + step)
      onChange?.(id, before, now)
      if (now === null) operations.remove(this.database, id)
      else {
        operations.begin(writer)
        this.writeRecord(writer, now)
        operations.put(this.database, id, writer)
      }
    }
    return counts
  }
}
