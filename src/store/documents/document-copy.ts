// The copy that a data folder has of documents in a database server, which several instances of the service share. The folder has
// the version of its copy, so each change is applied once, also if several processes fetch it.

import { OperationalError } from '../../kernel/errors.ts'
import { AUDIT_ACKNOWLEDGED_LOSSES, AUDIT_HEADS } from '../../kernel/folder/data-folder.ts'
import type { DocumentEdit, DocumentEdits, DocumentReader } from '../../kernel/folder/document-store.ts'
import { type Collections, openCollections } from './collections.ts'

const COPY_STATE = 'copy-state'
/** Collections that belong to one data folder and are not copied: the state of the copy, and data of this folder alone. */
const LOCAL_COLLECTIONS: readonly string[] = [COPY_STATE, AUDIT_HEADS, AUDIT_ACKNOWLEDGED_LOSSES]
const KEY = 'state'
/** Documents of one transaction: about two milliseconds. */
const SLICE = 50

/** The origin and the version of the copy in a data folder. */
export interface CopyState {
  /** Identifies the documents in the server. */
  readonly store: string
  /** Identifies this data folder among the instances. */
  readonly instance: string
  /** The last change that the copy contains. */
  readonly version: number
  /** Identifies that change. */
  readonly commit: string
}

/** The changes after a version of the copy, up to another version. */
export interface DocumentChanges extends DocumentEdits {
  readonly head: Omit<CopyState, 'instance'>
  /** Null: these are all documents, and others are deleted. */
  readonly after: string | null
}

/** The state of the copy; null: the documents of the folder are its own. */
export function copyStateOf(reader: DocumentReader): CopyState | null {
  return reader.get(COPY_STATE, KEY) as CopyState | null
}

/** Opens documents that a command changes. Throws OperationalError if they are a copy, which only the service changes. */
export function openOwnCollections(path: string, options: Parameters<typeof openCollections>[1]): Collections {
  const collections = openCollections(path, options)
  if (collections.read(copyStateOf) === null) return collections
  void collections.close()
  throw new OperationalError(
    `${path} is a copy of a configuration that several instances share: only the service changes it, over HTTP`,
  )
}

/** Makes restored documents those of the folder: nothing follows the configuration of which they were a copy. */
export async function endCopy(path: string): Promise<void> {
  const collections = openCollections(path, {})
  try {
    if (collections.read(copyStateOf) === null) return
    await collections.transact((transaction) => transaction.delete(COPY_STATE, KEY))
  } finally {
    await collections.close()
  }
}

/** Receives the documents that are written to the copy. */
interface CopyListener {
  /** Whether documents of the collection make the others visible. */
  isLast(collection: string): boolean
  /** Called in each transaction that writes some of them. */
  writing(documents: readonly DocumentEdit[]): void
  /** Called when all are written. */
  written(documents: readonly DocumentEdit[]): void
}

/** The copy of one data folder. */
export class DocumentCopy {
  private readonly store: Collections
  private readonly listener: CopyListener

  constructor(store: Collections, listener: CopyListener) {
    this.store = store
    this.listener = listener
  }

  /** Null: the documents of the folder are its own. */
  state(): CopyState | null {
    return this.store.read(copyStateOf)
  }

  /** Makes the folder a copy of another state. Does nothing if another process has done so. */
  async begin({ store, version, commit }: Omit<CopyState, 'instance'>): Promise<void> {
    await this.store.transact((transaction) => {
      if (copyStateOf(transaction) !== null) return
      transaction.put(COPY_STATE, KEY, { store, instance: crypto.randomUUID(), version, commit } satisfies CopyState)
    })
  }

  /**
   * Writes what was changed after version `from`. Does nothing if another process has done so, and the copy has another version now. Many
   * documents are written in several transactions, between which this process answers requests; the last one has the documents of which
   * `isLast` is true, the events and the version, so the others are not taken for the new state before.
   */
  async apply(from: number, changes: DocumentChanges): Promise<void> {
    const { head, events } = changes
    if (head.version <= from) return
    // Read after `from` was: if another process has changed the copy since, nothing is written.
    const documents = changes.after === null ? this.differences(changes.documents) : changes.documents
    const { early = [], last = [] } = Object.groupBy(documents, ({ collection }) =>
      this.listener.isLast(collection) ? 'last' : 'early',
    )
    while (early.length > SLICE) {
      const isWritten = await this.write(from, { documents: early.splice(0, SLICE), events: [] }, null)
      if (!isWritten) return
    }
    const isWritten = await this.write(from, { documents: [...early, ...last], events }, head)
    if (isWritten) this.listener.written(documents)
  }

  /** `head`: the state of the copy from then on; null: the same as before. */
  private write(
    from: number,
    { documents, events }: DocumentEdits,
    head: DocumentChanges['head'] | null,
  ): Promise<boolean> {
    return this.store.transact((transaction) => {
      const state = copyStateOf(transaction)
      if (state?.version !== from) return false
      for (const { collection, key, json } of documents) {
        if (json === null) transaction.delete(collection, key)
        else transaction.put(collection, key, JSON.parse(json))
      }
      for (const { stream, record, count, timeMs } of events) transaction.appendEvents(stream, record, count, timeMs)
      if (head !== null) transaction.put(COPY_STATE, KEY, { ...state, ...head } satisfies CopyState)
      this.listener.writing(documents)
      return true
    })
  }

  /** The edits that make the copy contain these documents and no others. */
  private differences(documents: readonly DocumentEdit[]): readonly DocumentEdit[] {
    const present = new Map(
      this.store
        .everything()
        .filter(isShared)
        .map((edit) => [nameOf(edit), edit]),
    )
    const changed: DocumentEdit[] = []
    for (const edit of documents) {
      const name = nameOf(edit)
      if (present.get(name)?.json !== edit.json) changed.push(edit)
      present.delete(name)
    }
    return [...changed, ...Array.from(present.values(), (edit) => ({ ...edit, json: null }))]
  }
}

/** Whether instances share a document. */
export function isShared({ collection }: DocumentEdit): boolean {
  return !LOCAL_COLLECTIONS.includes(collection)
}

function nameOf({ collection, key }: DocumentEdit): string {
  return `${collection}\0${key}`
}
