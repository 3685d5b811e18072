// Named collections of JSON documents beside the graph: configuration, and whatever else must survive a crash.
// Knows nothing of graphs. A reading sees the last commit of any process.
import { assert } from '../../kernel/assert.ts'
import { Sink, windowOn, windowOnRead } from '../bytes.ts'
import { DOCUMENT_KEY_UNITS_MAX, type DocumentKey, documentKeys } from '../keys.ts'
import { checkLayout, type Layout, openMeta } from './databases.ts'
import { type Database, type FileOptions, LmdbFile, type ReadView } from './native.ts'

export const collectionsLayout: Layout = { kind: 2, what: 'documents', version: 1 }

/** The documents as of one moment. */
export interface DocumentReading {
  /** Null when there is none. */
  get(collection: string, key: string): unknown
  /** Ascending by key. */
  all(collection: string): readonly (readonly [string, unknown])[]
}

/** What a change may do. `get` sees its own writes; `all` is asked before the first of them. */
export interface DocumentChanges extends DocumentReading {
  put(collection: string, key: string, value: unknown): void
  delete(collection: string, key: string): void
}

export class Collections {
  private readonly file: LmdbFile
  private readonly documents: Database<DocumentKey>

  constructor(path: string, options: FileOptions) {
    this.file = new LmdbFile(path, options)
    try {
      checkLayout(this.file, openMeta(this.file), collectionsLayout, options.readOnly === true, () => {})
      this.documents = this.file.database('documents', documentKeys)
    } catch (fault) {
      void this.file.close()
      throw fault
    }
  }

  /** Null when there is none. */
  get(collection: string, key: string): unknown {
    return this.read((reading) => reading.get(collection, key))
  }

  /** Ascending by key. */
  all(collection: string): readonly (readonly [string, unknown])[] {
    return this.read((reading) => reading.all(collection))
  }

  /** All that `look` reads is of one moment. It is synchronous. */
  read<T>(look: (reading: DocumentReading) => T): T {
    const view = this.file.takeView()
    try {
      return look({
        get: (collection, key) => this.find(collection, key, view),
        all: (collection) => this.list(collection, view),
      })
    } finally {
      this.file.giveBack(view)
    }
  }

  /** Without a view: as the write transaction has it. */
  private find(collection: string, key: string, view?: ReadView): unknown {
    checkKey(collection, key)
    return parse(this.documents.getBinaryFast({ collection, key }, view))
  }

  private list(collection: string, view?: ReadView): [string, unknown][] {
    checkKey(collection, '')
    const documents: [string, unknown][] = []
    const start = { collection, key: '' }
    for (const { key, value } of this.documents.getRange({ start, end: undefined, ...view })) {
      if (key.collection !== collection) break
      documents.push([key.key, JSON.parse(windowOn(value).text.toString('utf8', 0, value.length))])
    }
    return documents
  }

  /** All or nothing, on disk when it resolves. Rejects with what `change` threw, and then nothing is written. */
  async transact<T>(change: (tx: DocumentChanges) => T): Promise<T> {
    const outcome = await this.file.transaction(() => this.attempt(change))
    if ('fault' in outcome) throw outcome.fault
    return outcome.value
  }

  private attempt<T>(change: (tx: DocumentChanges) => T): { value: T } | { fault: unknown } {
    const pending = new Map<string, PendingDocument>()
    let open = true
    const name = (collection: string, key: string): string => {
      assert(open, 'a change is not used after its function has returned')
      checkKey(collection, key)
      return `${collection}\0${key}`
    }
    try {
      const value = change({
        get: (collection, key) => {
          const found = pending.get(name(collection, key))
          if (found !== undefined) return found.json === null ? null : JSON.parse(found.json)
          return this.find(collection, key)
        },
        all: (collection) => {
          assert(open && pending.size === 0, 'a change lists before it writes')
          return this.list(collection)
        },
        put: (collection, key, document) => {
          const json: string | undefined = JSON.stringify(document)
          assert(json !== undefined, 'a document is a JSON value')
          pending.set(name(collection, key), { collection, key, json })
        },
        delete: (collection, key) => {
          pending.set(name(collection, key), { collection, key, json: null })
        },
      })
      assert(!(value instanceof Promise), 'a change is synchronous')
      this.apply([...pending.values()])
      return { value }
    } catch (fault) {
      return { fault }
    } finally {
      open = false
    }
  }

  private apply(pending: readonly PendingDocument[]): void {
    const sink = new Sink()
    for (const { collection, key, json } of pending) {
      if (json === null) this.documents.remove({ collection, key })
      else {
        const start = sink.length
        sink.raw(Buffer.from(json, 'utf8'))
        this.documents.put({ collection, key }, sink.bytes.subarray(start, sink.length))
      }
    }
  }

  close(): Promise<void> {
    return this.file.close()
  }
}

interface PendingDocument {
  readonly collection: string
  readonly key: string
  /** Null deletes. */
  readonly json: string | null
}

function checkKey(collection: string, key: string): void {
  assert(collection !== '' && !collection.includes('\0'), 'a collection has a name without zero characters')
  assert(collection.length + key.length <= DOCUMENT_KEY_UNITS_MAX, 'a document key is short')
}

function parse(bytes: Uint8Array | undefined): unknown {
  return bytes === undefined ? null : JSON.parse(windowOnRead(bytes).text.toString('utf8', 0, bytes.length))
}

/** Opens the folder, creating what is missing. Throws LayoutFault when it holds something else. */
export function openCollections(path: string, options: FileOptions): Collections {
  return new Collections(path, options)
}
