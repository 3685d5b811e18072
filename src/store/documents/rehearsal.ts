// Runs a change of documents without writing: the caller writes elsewhere what the change would have written.
import { assert } from '../../kernel/assert.ts'
import type {
  DocumentEdit,
  DocumentEdits,
  DocumentReader,
  DocumentTransaction,
  EventEdit,
} from '../../kernel/folder/document-store.ts'
import { checkDocumentKey } from './collections.ts'

/** The result of a change, and what it has written. */
interface RehearsedChange<T> {
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
    // Otherwise a document would be in the server that no copy accepts.
    checkDocumentKey(collection, key)
    assert(json !== undefined, 'a document is a JSON value')
    documents.set(`${collection}\0${key}`, { collection, key, json })
  }
  const value = change({
    get(collection, key) {
      const written = documents.get(`${collection}\0${key}`)
      if (written === undefined) return reader.get(collection, key)
      return written.json === null ? null : JSON.parse(written.json)
    },
    all(collection) {
      assert(documents.size === 0, 'a change lists before it writes')
      return reader.all(collection)
    },
    put: (collection, key, document) => write(collection, key, JSON.stringify(document)),
    delete: (collection, key) => write(collection, key, null),
    appendEvents: (stream, record, count, timeMs) => void events.push({ stream, record, count, timeMs }),
  })
  assert(!(value instanceof Promise), 'a change is synchronous')
  return { value, edits: { documents: [...documents.values()], events } }
}
