// The port for durable JSON documents, which features store through: named collections with string keys. store/documents/collections.ts
// implements it in a data folder, and config/shared/shared-configuration.ts for several instances.

/** Reads of one commit. */
export interface DocumentReader {
  /** Returns null if there is no such document. */
  get(collection: string, key: string): unknown
  /** All documents of a collection with their keys, ascending by key. */
  all(collection: string): readonly (readonly [string, unknown])[]
}

/** Reads and writes of one transaction. `get` returns its own writes; `all` must be called before the first write. */
export interface DocumentTransaction extends DocumentReader {
  put(collection: string, key: string, value: unknown): void
  delete(collection: string, key: string): void
  /**
   * Appends a record of `count` events to a stream of the outbox of the store: it is on disk exactly if the transaction is.
   * `timeMs`: milliseconds since the epoch.
   */
  appendEvents(stream: string, record: Uint8Array, count: number, timeMs: number): void
}

/** A document that a change has written. */
export interface DocumentEdit {
  readonly collection: string
  readonly key: string
  /** Null: deleted. */
  readonly json: string | null
}

/** A record that a change has appended to the outbox; see `appendEvents`. */
export interface EventEdit {
  readonly stream: string
  readonly record: Uint8Array
  readonly count: number
  readonly timeMs: number
}

/** All that a change has written. */
export interface DocumentEdits {
  readonly documents: readonly DocumentEdit[]
  readonly events: readonly EventEdit[]
}

/** Durable collections of JSON documents. Several processes may use the same store. */
export interface DocumentStore {
  /** Runs `look` on one commit: the last one of any process. `look` is synchronous. */
  read<T>(look: (reader: DocumentReader) => T): T
  /**
   * Runs the change in the write transaction of the store, of which there is one at a time over all processes. Resolves
   * when the commit is on disk. The change sees all earlier commits and its own writes. Rejects with what `change` threw,
   * or with the failure of the commit; then nothing is written.
   */
  transact<T>(change: (transaction: DocumentTransaction) => T): Promise<T>
}
