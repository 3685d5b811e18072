// Keeps all configuration documents: durable through a handed-in store, read from one immutable snapshot in memory.
// Several processes may write to one store. A change runs inside the store's own transaction, on the newest state there
// is, whoever wrote it; and `follow` brings the snapshot to the last commit of any process, telling the subscribers.
// INVARIANT: the shared number is at least the number of the last commit, because it is set before each commit. So a
// snapshot whose commit has that number is the newest; any other one looks into the store.
import { DocumentSnapshot } from './document-snapshot.ts'
import type { ConfigWriter, DocumentChange, DocumentDraft, StoredDocument } from './kind.ts'

/** The collection of the store that holds the documents, by id. */
const COLLECTION = 'configuration'
/** Revisions that were replaced, for whoever asks for one by its number; they are not held in memory. */
const PAST = 'configuration-past'
/** Where documents lie, whole and as JSON: for whoever goes through all of them, as a change of the master key does. */
export const documentCollections: readonly string[] = [COLLECTION, PAST]
/** Holds one entry: which commit is the last. */
const HEADS = 'configuration-head'
const HEAD = 'head'
/** Ids of the documents that each of the last commits touched, by its number. */
const LOG = 'configuration-log'
/** Who is further behind than this reads everything anew. */
const LOG_LENGTH = 1000

export interface DocumentReading {
  get(collection: string, key: string): unknown
  all(collection: string): readonly (readonly [string, unknown])[]
}

export interface DocumentTransaction extends DocumentReading {
  put(collection: string, key: string, value: unknown): void
  remove(collection: string, key: string): void
}

/** Durable named collections; values are JSON. Matched by shape by whatever keeps them. */
export interface DocumentStore {
  /** Everything that `look` reads is of one moment: the last commit of any process. */
  read<T>(look: (reading: DocumentReading) => T): T
  /**
   * Runs the change in the one write transaction there is at a time, over all processes, and resolves when it is on disk;
   * all or nothing. The change sees what others have committed, and what goes before it in the same transaction.
   */
  transact<T>(change: (transaction: DocumentTransaction) => T): Promise<T>
}

/** Seen at once by all processes that share the store. */
export interface CommitCounter {
  load(): number
  store(value: number): void
}

type ChangeListener = (changes: readonly DocumentChange[]) => void

/** `by` is of one attempt alone: a commit that failed, and the one that took its number, are told apart. */
interface CommitHead {
  readonly commit: number
  readonly by: string
}

interface RepositoryState {
  readonly head: CommitHead
  readonly documents: DocumentSnapshot
}

export class ConfigRepository implements ConfigWriter {
  private readonly store: DocumentStore
  private readonly counter: CommitCounter
  private readonly listeners: ChangeListener[] = []
  private readonly writer = crypto.randomUUID()
  private attempts = 0
  private state: RepositoryState
  /** What the last change of this process left in its transaction, committed or not. */
  private lastAttempt: RepositoryState

  /** `shared` is left out where no other process writes. */
  constructor(store: DocumentStore, shared: CommitCounter = localCounter()) {
    this.store = store
    this.counter = shared
    this.state = store.read((reading) => ({ head: readHead(reading), documents: readAll(reading) }))
    this.lastAttempt = this.state
  }

  get(kind: string, id: string): StoredDocument | null {
    return this.state.documents.get(kind, id)
  }

  getByName(kind: string, scopeId: string, name: string): StoredDocument | null {
    return this.state.documents.getByName(kind, scopeId, name)
  }

  children(kind: string, parentId: string): readonly StoredDocument[] {
    return this.state.documents.children(kind, parentId)
  }

  inScope(kind: string, scopeId: string): readonly StoredDocument[] {
    return this.state.documents.inScope(kind, scopeId)
  }

  all(kind: string): readonly StoredDocument[] {
    return this.state.documents.all(kind)
  }

  pastRevision(kind: string, id: string, revision: number): StoredDocument | null {
    const past = this.store.read((reading) => reading.get(PAST, revisionKey(id, revision))) as StoredDocument | null
    return past?.kind === kind ? past : null
  }

  subscribe(listener: ChangeListener): void {
    this.listeners.push(listener)
  }

  /** Sees what any process has committed until now. Some nanoseconds where that is nothing new: asked for every request. */
  catchUp(): void {
    if (this.counter.load() !== this.state.head.commit) this.refresh()
  }

  /** For the only process on the store: whatever a crash left of the number, the store is right. */
  resetCounter(): void {
    this.counter.store(this.state.head.commit)
  }

  async write<T>(change: (draft: DocumentDraft) => T): Promise<T> {
    const value = await this.store.transact((transaction) => this.attempt(transaction, change))
    this.refresh()
    return value
  }

  private attempt<T>(transaction: DocumentTransaction, change: (draft: DocumentDraft) => T): T {
    const { head, documents } = this.newestState(transaction)
    const draft = new RepositoryDraft(documents)
    const value = change(draft)
    const changes = draft.changes()
    if (changes.length === 0) return value
    const ids: string[] = []
    for (const { before, after } of changes) {
      const { id } = (after ?? before) as StoredDocument
      ids.push(id)
      if (after !== null) transaction.put(COLLECTION, id, after)
      else transaction.remove(COLLECTION, id)
      if (before !== null) archiveRevision(transaction, before, after)
    }
    this.attempts += 1
    const next: CommitHead = { commit: head.commit + 1, by: `${this.writer} ${this.attempts}` }
    transaction.put(HEADS, HEAD, next)
    transaction.put(LOG, logKey(next.commit), ids)
    transaction.remove(LOG, logKey(next.commit - LOG_LENGTH))
    this.lastAttempt = { head: next, documents: draft.documents }
    // Before the commit: nobody can take the state without it for the newest, even if this process ends here.
    this.counter.store(next.commit)
    return value
  }

  private newestState(reading: DocumentReading): RepositoryState {
    const { by } = readHead(reading)
    if (by === this.lastAttempt.head.by) return this.lastAttempt
    return by === this.state.head.by ? this.state : advance(this.state, reading).state
  }

  private refresh(): void {
    const { state, changes } = this.store.read((reading) => advance(this.state, reading))
    this.state = state
    if (changes.length > 0) for (const listener of this.listeners) listener(changes)
  }
}

/** From a state to the one that the store holds, with each document that differs. */
function advance(
  from: RepositoryState,
  reading: DocumentReading,
): { state: RepositoryState; changes: readonly DocumentChange[] } {
  const head = readHead(reading)
  if (head.by === from.head.by) return { state: from, changes: [] }
  let { documents } = from
  const changes: DocumentChange[] = []
  for (const id of changedIdsSince(from, head, reading)) {
    const before = documents.find(id)
    const after = reading.get(COLLECTION, id) as StoredDocument | null
    if (before === null && after === null) continue
    // What did not change stays the same object: others keep what they made of a document by its identity.
    if (JSON.stringify(before) === JSON.stringify(after)) continue
    documents = after === null ? documents.without((before as StoredDocument).kind, id) : documents.with(after)
    changes.push({ before, after: after === null ? null : documents.find(id) })
  }
  return { state: { head, documents }, changes }
}

/** Every document there is or was, where the log does not reach back so far. */
function changedIdsSince(from: RepositoryState, { commit }: CommitHead, reading: DocumentReading): ReadonlySet<string> {
  const touched = new Set<string>()
  let known = commit > from.head.commit && commit - from.head.commit < LOG_LENGTH
  for (let number = from.head.commit + 1; known && number <= commit; number++) {
    const ids = reading.get(LOG, logKey(number)) as readonly string[] | null
    known = ids !== null
    for (const id of ids ?? []) touched.add(id)
  }
  if (known) return touched
  return new Set([...from.documents.ids(), ...reading.all(COLLECTION).map(([id]) => id)])
}

function readHead(reading: DocumentReading): CommitHead {
  return (reading.get(HEADS, HEAD) as CommitHead | null) ?? { commit: 0, by: '' }
}

function readAll(reading: DocumentReading): DocumentSnapshot {
  return DocumentSnapshot.of(reading.all(COLLECTION).map(([, value]) => value as StoredDocument))
}

const revisionKey = (id: string, revision: number): string => `${id}.${revision}`

/** Collection and key that a document lies under, */
export function currentKey({ id }: StoredDocument): readonly [collection: string, key: string] {
  return [COLLECTION, id]
}

/** and once a later revision has taken its place. */
export function pastRevisionKey({ id, revision }: StoredDocument): readonly [collection: string, key: string] {
  return [PAST, revisionKey(id, revision)]
}

/** A document that is removed takes its past along. */
function archiveRevision(transaction: DocumentTransaction, before: StoredDocument, after: StoredDocument | null): void {
  const { id, revision } = before
  if (after === null) for (let past = 1; past < revision; past++) transaction.remove(PAST, revisionKey(id, past))
  else if (after.revision > revision) transaction.put(PAST, revisionKey(id, revision), before)
}

function logKey(commit: number): string {
  return String(commit)
}

function localCounter(): CommitCounter {
  let number = 0
  return {
    load: () => number,
    store: (value) => {
      number = value
    },
  }
}

class RepositoryDraft implements DocumentDraft {
  documents: DocumentSnapshot
  private readonly start: DocumentSnapshot
  private readonly touched = new Map<string, { kind: string; id: string }>()

  constructor(start: DocumentSnapshot) {
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
