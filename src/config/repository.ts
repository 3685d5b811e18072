// Keeps all configuration documents: durable through a handed-in store, read from one immutable snapshot in memory.

import { Documents } from './documents.ts'
import type { ConfigWriter, DocumentChange, DocumentDraft, StoredDocument } from './kind.ts'

/** The collection of the store that holds the documents, by id. */
const COLLECTION = 'configuration'

export interface DocumentTransaction {
  put(collection: string, key: string, value: unknown): void
  remove(collection: string, key: string): void
}

/** Durable named collections; values are JSON. Matched by shape by whatever keeps them. */
export interface DocumentStore {
  get(collection: string, key: string): unknown
  all(collection: string): readonly (readonly [string, unknown])[]
  /** Resolves when the change is on disk; all or nothing. */
  transact<T>(change: (transaction: DocumentTransaction) => T): Promise<T>
}

type Listener = (changes: readonly DocumentChange[]) => void

export class Repository implements ConfigWriter {
  private readonly store: DocumentStore
  private documents: Documents
  private readonly listeners: Listener[] = []
  private tail: Promise<unknown> = Promise.resolve()

  constructor(store: DocumentStore) {
    this.store = store
    this.documents = Documents.of(store.all(COLLECTION).map(([, value]) => value as StoredDocument))
  }

  get(kind: string, id: string): StoredDocument | null {
    return this.documents.get(kind, id)
  }

  getByName(kind: string, scopeId: string, name: string): StoredDocument | null {
    return this.documents.getByName(kind, scopeId, name)
  }

  children(kind: string, parentId: string): readonly StoredDocument[] {
    return this.documents.children(kind, parentId)
  }

  inScope(kind: string, scopeId: string): readonly StoredDocument[] {
    return this.documents.inScope(kind, scopeId)
  }

  all(kind: string): readonly StoredDocument[] {
    return this.documents.all(kind)
  }

  subscribe(listener: Listener): void {
    this.listeners.push(listener)
  }

  write<T>(change: (draft: DocumentDraft) => T): Promise<T> {
    const written = this.tail.then(() => this.apply(change))
    // A change that failed must not stop the ones behind it; its own caller sees the failure.
    this.tail = written.catch(() => undefined)
    return written
  }

  private async apply<T>(change: (draft: DocumentDraft) => T): Promise<T> {
    const draft = new Draft(this.documents)
    const value = change(draft)
    const changes = draft.changes()
    if (changes.length === 0) return value
    await this.store.transact((transaction) => {
      for (const { before, after } of changes) {
        if (after !== null) transaction.put(COLLECTION, after.id, after)
        else if (before !== null) transaction.remove(COLLECTION, before.id)
      }
    })
    this.documents = draft.documents
    for (const listener of this.listeners) listener(changes)
    return value
  }
}

class Draft implements DocumentDraft {
  documents: Documents
  private readonly start: Documents
  private readonly touched = new Map<string, { kind: string; id: string }>()

  constructor(start: Documents) {
    this.start = start
    this.documents = start
  }

  get(kind: string, id: string): StoredDocument | null {
    return this.documents.get(kind, id)
  }

  getByName(kind: string, scopeId: string, name: string): StoredDocument | null {
    return this.documents.getByName(kind, scopeId, name)
  }

  children(kind: string, parentId: string): readonly StoredDocument[] {
    return this.documents.children(kind, parentId)
  }

  inScope(kind: string, scopeId: string): readonly StoredDocument[] {
    return this.documents.inScope(kind, scopeId)
  }

  all(kind: string): readonly StoredDocument[] {
    return this.documents.all(kind)
  }

  put(document: StoredDocument): void {
    this.documents = this.documents.with(document)
    this.touched.set(`${document.kind} ${document.id}`, document)
  }

  remove(kind: string, id: string): void {
    this.documents = this.documents.without(kind, id)
    this.touched.set(`${kind} ${id}`, { kind, id })
  }

  /** One per document, in the order in which they were first touched; what came and went again is left out. */
  changes(): DocumentChange[] {
    return [...this.touched.values()]
      .map(({ kind, id }) => ({ before: this.start.get(kind, id), after: this.documents.get(kind, id) }))
      .filter(({ before, after }) => before !== after)
  }
}
