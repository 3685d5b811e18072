// The records of one kind, nodes or relationships, as a batch edits them: each is read when the batch first comes near it,
// and put when it is another one in the end.
import type { SymbolId } from '../../engine/store.ts'
import type { ByteWriter, ValueView } from '../format/bytes.ts'
import type { StoredProperties } from '../format/records.ts'
import type { Database } from '../lmdb/database.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'

/** An element as the database has it and as the batch leaves it; null where there is none. */
export interface EditedRecord<R> {
  readonly before: R | null
  now: R | null
}

/** What an element keeps of where it was before, when it is moved here: an import is no new fact. */
export interface PreservedFields {
  readonly gid?: string
  readonly createdMs?: number
  readonly updatedMs?: number
}

/** What both kinds have in common. */
interface EditableRecord {
  readonly type: SymbolId
  readonly gid: string
  readonly updatedMs: number
  readonly properties: StoredProperties
}

export class ElementEdits<R extends EditableRecord> {
  private readonly database: Database<number>
  private readonly readRecord: (window: ValueView) => R
  private readonly writeRecord: (sink: ByteWriter, record: R) => void
  private readonly edited = new Map<number, EditedRecord<R>>()

  constructor(
    database: Database<number>,
    readRecord: (window: ValueView) => R,
    writeRecord: (sink: ByteWriter, record: R) => void,
  ) {
    this.database = database
    this.readRecord = readRecord
    this.writeRecord = writeRecord
  }

  /** As the batch leaves it so far (null: gone), and undefined when the batch has not come near it. */
  now(id: number): R | null | undefined {
    return this.edited.get(id)?.now
  }

  exists(id: number): boolean {
    const now = this.now(id)
    return now === undefined ? this.database.get(id) !== null : now !== null
  }

  /** Reads it, if it was not read before. */
  at(id: number): EditedRecord<R> {
    let edited = this.edited.get(id)
    if (edited === undefined) {
      const window = this.database.get(id)
      const record = window === null ? null : this.readRecord(window)
      edited = { before: record, now: record }
      this.edited.set(id, edited)
    }
    return edited
  }

  protected add(id: number, record: R): void {
    this.edited.set(id, { before: null, now: record })
  }

  /** The same properties: nothing has changed. Its global id is returned. */
  change(id: number, now: number, change: (properties: StoredProperties) => StoredProperties): string {
    const edited = this.at(id)
    const old = edited.now!
    const properties = change(old.properties)
    if (properties !== old.properties) edited.now = { ...old, properties, updatedMs: now }
    return old.gid
  }

  /** Tells of each that has changed before it is encoded, and returns by type how many more there are now. */
  protected encodeRecords(
    sink: ByteWriter,
    operations: PendingWrites,
    tell?: (id: number, before: R | null, now: R | null) => void,
  ): Map<SymbolId, number> {
    const counts = new Map<SymbolId, number>()
    for (const [id, { before, now }] of this.edited) {
      if (before === now) continue
      const { type } = (now ?? before)!
      const step = (now === null ? 0 : 1) - (before === null ? 0 : 1)
      if (step !== 0) counts.set(type, (counts.get(type) ?? 0) + step)
      tell?.(id, before, now)
      if (now === null) operations.remove(this.database, id)
      else {
        operations.begin(sink)
        this.writeRecord(sink, now)
        operations.put(this.database, id, sink)
      }
    }
    return counts
  }
}
