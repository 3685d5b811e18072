// The store of the configuration, as the application opens it.
import { join } from 'node:path'
import { type Collections, openCollections } from '../../src/store/documents/collections.ts'

export function openStore(dir: string): Collections {
  return openCollections(join(dir, 'config'), { sync: false })
}
