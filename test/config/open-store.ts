// The real collections behind the port that the repository declares, as the application joins them.
import { join } from 'node:path'
import type { DocumentStore } from '../../src/config/repository.ts'
import { openCollections } from '../../src/store/lmdb/collections.ts'

export function openStore(dir: string): DocumentStore & { close(): Promise<void> } {
  const collections = openCollections(join(dir, 'config'), { sync: false })
  return {
    get: (collection, key) => collections.get(collection, key),
    all: (collection) => collections.all(collection),
    transact: (change) =>
      collections.transact((changes) =>
        change({
          put: (collection, key, value) => changes.put(collection, key, value),
          remove: (collection, key) => changes.delete(collection, key),
        }),
      ),
    close: () => collections.close(),
  }
}
