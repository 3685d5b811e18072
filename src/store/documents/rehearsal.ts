// Runs a change of documents without writing: the caller writes elsewhere what the change would have written.
import type {
  DocumentEdit,
  DocumentEdits,
  DocumentReader,
  DocumentTransaction,
  EventEdit,
} from '../../kernel/document-store.ts'

/** The result of a change, and what it has written. */
export interface RehearsedChange<T> {
  readonly value: T
  readonly edits: DocumentEdits
}

/** Runs `change` on the documents of `reader`, as `DocumentStore.transact` would. Throws what it throws. */
export function rehearseChange<T>(
  reader: DocumentReader,
  change: (transaction: DocumentTransaction) => T,
): RehearsedChange<T> {
  const documents = new Map<string, DocumentEdit>()
  const events: EventEdit[] = []
  const write = (collection: string, key: string, json: string | null): void => {
    documents.set(`${collection}\0${key}`, { collection, key, json })
  }
  const value = change({
    get(collection, key) {
      const written = documents.get(`${collection}\0${key}`)
      if (written === undefined) return reader.get(collection, key)
      return written.json === null ? null : JSON.parse(written.json)
    },
    all: (collection) => reader.all(collection),
    put: (collection, key, document) => write(collection, key, JSON.stringify(document)),
    delete: (collection, key) => write(collection, key, null),
    appendEvents: (stream, record, count, timeMs) => void events.push({ stream, record, count, timeMs }),
  })
  return { value, edits: { documents: [...documents.values()], events } }
}
