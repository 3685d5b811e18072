// Documents in memory, for a process that keeps no configuration. They end with the object.
import type { DocumentReader, DocumentStore, DocumentTransaction } from '../../kernel/folder/document-store.ts'

/** Collections of JSON documents in memory. Nothing receives events, so a change must not append any. */
export class MemoryDocuments implements DocumentStore {
  private readonly collections = new Map<string, Map<string, unknown>>()

  read<T>(look: (reader: DocumentReader) => T): T {
    return look(this.reader())
  }

  async transact<T>(change: (transaction: DocumentTransaction) => T): Promise<T> {
    const writes: (() => void)[] = []
    const changed = new Map<string, unknown>()
    const reader = this.reader()
    const nameOf = (collection: string, key: string): string => `${collection}\0${key}`
    const value = change({
      get(collection, key) {
        const name = nameOf(collection, key)
        return changed.has(name) ? changed.get(name) : reader.get(collection, key)
      },
      all: (collection) => reader.all(collection),
      put: (collection, key, document) => {
        const stored: unknown = JSON.parse(JSON.stringify(document))
        changed.set(nameOf(collection, key), stored)
        writes.push(() => this.of(collection).set(key, stored))
      },
      delete: (collection, key) => {
        changed.set(nameOf(collection, key), null)
        writes.push(() => this.of(collection).delete(key))
      },
      appendEvents: () => {
        throw new Error('documents in memory have no receivers of events')
      },
    })
    for (const write of writes) write()
    return value
  }

  private reader(): DocumentReader {
    return {
      get: (collection, key) => this.collections.get(collection)?.get(key) ?? null,
      all: (collection) => [...this.of(collection)].sort(([a], [b]) => (a < b ? -1 : 1)),
    }
  }

  private of(name: string): Map<string, unknown> {
    const found = this.collections.get(name) ?? new Map<string, unknown>()
    this.collections.set(name, found)
    return found
  }
}
