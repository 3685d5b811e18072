// Named collections of JSON documents: configuration, and other data that must survive a crash. Independent of graphs. A read
// sees the last commit of any process.

import { assert } from '../../kernel/assert.ts'
import type {
  DocumentEdit,
  DocumentReader,
  DocumentStore,
  DocumentTransaction,
} from '../../kernel/folder/document-store.ts'
import { type FolderFeature, featureOf, PROGRAM_LEVEL } from '../../kernel/folder/folder-features.ts'
import { ByteWriter, type ValueView } from '../format/bytes.ts'
import { DOCUMENT_KEY_UNITS_MAX, type DocumentKey, documentKeys, type SymbolKey } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import { DOCUMENTS_DESCRIPTION, openKeyed, openMeta, openOutbox } from '../lmdb/databases.ts'
import type { ReadTransaction } from '../lmdb/environment-file.ts'
import { checkLayout, documentsLayout, readLayout, requireProgram } from '../lmdb/layout.ts'
import { LmdbFile } from '../lmdb/lmdb-file.ts'
import type { LmdbFileOptions } from '../lmdb/open-file.ts'
import { PendingWrites } from '../lmdb/pending-writes.ts'
import { EventOutbox } from '../outbox/outbox.ts'
import type { OutboxEdits } from '../outbox/outbox-edits.ts'
import type { OutboxOptions } from '../outbox/outbox-format.ts'

/** Collections of documents in one environment. */
export class Collections implements DocumentStore {
  /** The events of changes to the documents. */
  readonly outbox: EventOutbox
  private readonly file: LmdbFile
  private readonly documents: Database<DocumentKey>
  private readonly meta: Database<SymbolKey>

  constructor(path: string, options: LmdbFileOptions & OutboxOptions) {
    this.file = new LmdbFile(path, options)
    try {
      this.meta = openMeta(this.file, DOCUMENTS_DESCRIPTION)
      checkLayout(this.file, this.meta, documentsLayout, options.readOnly === true, () => {})
      this.documents = openKeyed(this.file, 'documents', documentKeys, DOCUMENTS_DESCRIPTION)
      this.outbox = new EventOutbox(this.file, openOutbox(this.file, DOCUMENTS_DESCRIPTION), options)
    } catch (error) {
      void this.file.close()
      throw error
    }
  }

  /** A document, or null. Throws DataCorruptionError. */
  get(collection: string, key: string): unknown {
    return this.read((reading) => reading.get(collection, key))
  }

  /** All documents of a collection as [key, document], ascending by key. Throws DataCorruptionError. */
  all(collection: string): readonly (readonly [string, unknown])[] {
    return this.read((reading) => reading.all(collection))
  }

  /** Calls `look` with the documents as of one commit. `look` must be synchronous. */
  read<T>(look: (reading: DocumentReader) => T): T {
    const view = this.file.readTransactions.acquire()
    try {
      return look({
        get: (collection, key) => this.find(collection, key, view),
        all: (collection) => this.list(collection, view),
      })
    } finally {
      this.file.readTransactions.release(view)
    }
  }

  /** `view`: the read transaction; without it, the read is part of the write transaction in progress. */
  private find(collection: string, key: string, view?: ReadTransaction): unknown {
    checkDocumentKey(collection, key)
    return parse(this.documents.get({ collection, key }, view))
  }

  private list(collection: string, view?: ReadTransaction): [string, unknown][] {
    checkDocumentKey(collection, '')
    const documents: [string, unknown][] = []
    const start = { collection, key: '' }
    for (const { key, valueView } of this.documents.entries({ start, end: undefined, ...view })) {
      if (key.collection !== collection) break
      documents.push([key.key, parse(valueView)])
    }
    return documents
  }

  /**
   * Runs `change` in one transaction and resolves with its result when it is on disk. Rejects with what `change` throws, or
   * with StorageWriteError; then nothing is written. `change` must be synchronous.
   */
  async transact<T>(change: (tx: DocumentTransaction) => T): Promise<T> {
    const outcome = await this.file.transaction(() => this.attempt(change))
    if ('error' in outcome) throw outcome.error
    return outcome.value
  }

  private attempt<T>(change: (tx: DocumentTransaction) => T): { value: T } | { error: unknown } {
    const pending = new Map<string, DocumentEdit>()
    const events = this.outbox.edits()
    let open = true
    const name = (collection: string, key: string): string => {
      assert(open, 'a change is not used after its function has returned')
      checkDocumentKey(collection, key)
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
        appendEvents: (stream, record, count, timeMs) => {
          assert(open, 'a change is not used after its function has returned')
          events.append(stream, record, count, timeMs)
        },
      })
      assert(!(value instanceof Promise), 'a change is synchronous')
      this.apply([...pending.values()], events)
      return { value }
    } catch (error) {
      return { error }
    } finally {
      open = false
    }
  }

  /**
   * Raises the oldest program that may serve the folder to one that knows all features of its documents, and `features`. Resolves when it
   * is on disk.
   */
  async requireProgram(features: readonly FolderFeature[]): Promise<void> {
    const level = readLayout(this.meta)?.needs?.level ?? 0
    if (level >= PROGRAM_LEVEL) return
    const used = [...features]
    for (const { collection, key } of this.everything()) {
      const feature = featureOf(collection, this.get(collection, key))
      if (feature !== null && !used.includes(feature)) used.push(feature)
    }
    if (used.every((feature) => feature.level <= level)) return
    await this.file.transaction(() => {
      for (const feature of used) requireProgram(this.meta, feature)
    })
  }

  private apply(pending: readonly DocumentEdit[], events: OutboxEdits): void {
    for (const { collection, json } of pending) {
      const feature = json === null ? null : featureOf(collection, JSON.parse(json))
      if (feature !== null) requireProgram(this.meta, feature)
    }
    const writer = new ByteWriter()
    const operations = new PendingWrites()
    for (const { collection, key, json } of pending) {
      if (json === null) operations.remove(this.documents, { collection, key })
      else {
        operations.begin(writer)
        writer.text(json)
        operations.put(this.documents, { collection, key }, writer)
      }
    }
    events.encode(writer, operations)
    operations.apply(writer)
    events.publish()
  }

  /** All documents of all collections, by collection and key. */
  everything(): readonly DocumentEdit[] {
    const view = this.file.readTransactions.acquire()
    try {
      const start = { collection: '', key: '' }
      return Array.from(this.documents.entries({ start, end: undefined, ...view }), ({ key, valueView }) => ({
        ...key,
        json: JSON.stringify(parse(valueView)),
      }))
    } finally {
      this.file.readTransactions.release(view)
    }
  }

  /** False if the file was removed or replaced, so that no process would read what is written to it. */
  isAtItsPath(): boolean {
    return this.file.isAtItsPath()
  }

  /** Removes readers of killed processes. */
  clearStaleReaders(): void {
    this.file.clearStaleReaders()
  }

  /** Closes the environment after pending writes. */
  close(): Promise<void> {
    return this.file.close()
  }
}

/** Throws AssertionError for a key that the store does not accept. */
export function checkDocumentKey(collection: string, key: string): void {
  assert(collection !== '' && !collection.includes('\0'), 'a collection has a name without zero characters')
  assert(collection.length + key.length <= DOCUMENT_KEY_UNITS_MAX, 'a document key is short')
}

function parse(valueView: ValueView | null): unknown {
  return valueView === null
    ? null
    : JSON.parse(valueView.text.toString('utf8', 4, 4 + valueView.view.getUint32(0, true)))
}

/** Opens the documents in a folder, and creates it if it does not exist. Throws LayoutError if it contains a graph. */
export function openCollections(path: string, options: LmdbFileOptions & OutboxOptions): Collections {
  return new Collections(path, options)
}
