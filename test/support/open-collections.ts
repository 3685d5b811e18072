// The real collections behind the port that the repository declares, as the application joins them.
import { join } from 'node:path'
import type { DocumentStore } from '../../src/config/repository.ts'
import { openCollections } from '../../src/store/documents/collections.ts'

export function openStore(dir: string): DocumentStore & { close(): Promise<void> } {
  const collections = openCollections(join(dir, 'config'), { sync: false })
  return {
    read: (look) => collections.read(look),
    transact: (change) =>
      collections.transact(({ get, all, put, delete: remove }) => change({ get, all, put, remove })),
    close: () => collections.close(),
  }
}
