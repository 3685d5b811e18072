// Stores all configuration documents durably and serves reads from one immutable snapshot in memory. Several processes
// may write to one store: each change runs inside the store's write transaction on the newest committed state, and
// `catchUp` moves the snapshot to the last commit of any process and notifies the subscribers.
// INVARIANT: the shared commit counter is at least the number of the last commit, because it is set before each commit.
// A snapshot with the counter's number is therefore the newest; any other one reads the store.

import { CURRENT_DOCUMENTS, PAST_DOCUMENTS } from '../kernel/folder/data-folder.ts'
import type {
  DocumentEdit,
  DocumentReader,
  DocumentStore,
  DocumentTransaction,
} from '../kernel/folder/document-store.ts'
import { type Clock, systemClock } from '../kernel/time/clock.ts'
import { DocumentSnapshot } from './document-snapshot.ts'
import type { ConfigReader, ConfigWriter, DocumentChange, DocumentDraft, StoredDocument } from './kind.ts'

/** Collections that contain whole documents as JSON. A rotation of the master key visits all of them. */
export const documentCollections: readonly string[] = [CURRENT_DOCUMENTS, PAST_DOCUMENTS]
/** Collection with one entry: the last commit. */
const HEADS = 'configuration-head'
const HEAD = 'head'
/** Collection with the ids that each of the last commits changed, by commit number. */
const LOG = 'configuration-log'
/** A process that missed more commits than this reads all documents again. */
const LOG_LENGTH = 1000

/** A number in shared memory: all processes on the store see a write at once. */
export interface CommitCounter {
  /** Reads the current value. */
  load(): number
  /** Sets the value for all processes. */
  store(value: number): void
  /** Wakes the processes that wait for a commit. Called when reads see it. */
  committed?(): void
}

type ChangeListener = (changes: readonly DocumentChange[]) => void

/** `by` identifies one attempt: it distinguishes a failed commit from the one that reused its number. */
interface CommitHead {
  readonly commit: number
  readonly by: string
}

interface RepositoryState {
  readonly head: CommitHead
  readonly documents: DocumentSnapshot
}

/** The configuration of a data folder: implements ConfigWriter on a DocumentStore. */
export class ConfigRepository implements ConfigWriter {
  private readonly store: DocumentStore
  private readonly counter: CommitCounter
  /** Source of the times of events. */
  private readonly clock: Clock
  private readonly listeners: ChangeListener[] = []
  private readonly writer = crypto.randomUUID()
  private attempts = 0
  private state: RepositoryState
  /** The state after the last change of this process, committed or not. */
  private lastAttempt: RepositoryState

  /** `counter`: shared by all processes on the store; omitted if there is only one. */
  constructor(store: DocumentStore, shared: CommitCounter = localCounter(), clock: Clock = systemClock) {
    this.store = store
    this.clock = clock
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

  /** The configuration as of now: later commits do not change what it returns. */
  snapshot(): ConfigReader {
    return this.state.documents
  }

  pastRevision(kind: string, id: string, revision: number): StoredDocument | null {
    const past = this.store.read((reading) =>
      reading.get(PAST_DOCUMENTS, revisionKey(id, revision)),
    ) as StoredDocument | null
    return past?.kind === kind ? past : null
  }

  /** The number of the commit that reads see. */
  get commit(): number {
    return this.state.head.commit
  }

  subscribe(listener: ChangeListener): void {
    this.listeners.push(listener)
  }

  /**
   * Moves the snapshot to the last commit of any process. Called for every request; takes some nanoseconds if there is
   * nothing new.
   */
  catchUp(): void {
    if (this.counter.load() !== this.state.head.commit) this.refresh()
  }

  /** Sets the counter to the stored commit, after a crash. Only for the only process on the store. */
  resetCounter(): void {
    this.counter.store(this.state.head.commit)
  }

  /** See `ConfigWriter.write`. */
  async write<T>(change: (draft: DocumentDraft) => T): Promise<T> {
    const { attempts } = this
    const value = await this.store.transact((transaction) => this.attempt(transaction, change))
    this.refresh()
    if (this.attempts !== attempts) this.counter.committed?.()
    return value
  }

  /** See `ConfigWriter.rehearse`. */
  rehearse<T>(change: (draft: DocumentDraft) => T): T {
    return change(new RepositoryDraft(this.state.documents))
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
      if (after !== null) transaction.put(CURRENT_DOCUMENTS, id, after)
      else transaction.delete(CURRENT_DOCUMENTS, id)
      if (before !== null) archiveRevision(transaction, before, after)
    }
    draft.writeEvents(transaction, this.clock.now())
    this.attempts += 1
    const next: CommitHead = { commit: head.commit + 1, by: `${this.writer} ${this.attempts}` }
    transaction.put(HEADS, HEAD, next)
    transaction.put(LOG, logKey(next.commit), ids)
    transaction.delete(LOG, logKey(next.commit - LOG_LENGTH))
    this.lastAttempt = { head: next, documents: draft.documents }
    // Set before the commit: no process can take an older state for the newest one, even if this process ends here.
    this.counter.store(next.commit)
    return value
  }

  private newestState(reading: DocumentReader): RepositoryState {
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

/** Moves a state to the one in the store, and lists each document that differs. */
function advance(
  from: RepositoryState,
  reading: DocumentReader,
): { state: RepositoryState; changes: readonly DocumentChange[] } {
  const head = readHead(reading)
  if (head.by === from.head.by) return { state: from, changes: [] }
  let { documents } = from
  const changes: DocumentChange[] = []
  for (const id of changedIdsSince(from, head, reading)) {
    const before = documents.find(id)
    const after = reading.get(CURRENT_DOCUMENTS, id) as StoredDocument | null
    if (before === null && after === null) continue
    // An unchanged document stays the same object: caches use it as their key.
    if (JSON.stringify(before) === JSON.stringify(after)) continue
    documents = after === null ? documents.without((before as StoredDocument).kind, id) : documents.with(after)
    const stored = after === null ? null : documents.find(id)
    // A document that was deleted, and another kind with its id, are two changes, as for the process that wrote them one by one.
    if (before !== null && stored !== null && before.kind !== stored.kind)
      changes.push({ before, after: null }, { before: null, after: stored })
    else changes.push({ before, after: stored })
  }
  return { state: { head, documents }, changes }
}

/** The ids changed since `from`; the ids of all present and past documents if the log does not reach back so far. */
function changedIdsSince(from: RepositoryState, { commit }: CommitHead, reading: DocumentReader): ReadonlySet<string> {
  const touched = new Set<string>()
  let isLogComplete = commit > from.head.commit && commit - from.head.commit < LOG_LENGTH
  for (let number = from.head.commit + 1; isLogComplete && number <= commit; number++) {
    const ids = reading.get(LOG, logKey(number)) as readonly string[] | null
    isLogComplete = ids !== null
    for (const id of ids ?? []) touched.add(id)
  }
  if (isLogComplete) return touched
  return new Set([...from.documents.ids(), ...reading.all(CURRENT_DOCUMENTS).map(([id]) => id)])
}

/** Whether documents of the collection make the other documents of a commit visible. */
export function isCommitRecord(collection: string): boolean {
  return collection === HEADS || collection === LOG
}

/** The number of the commit that has written these documents; null: it has not changed the configuration. */
export function commitNumberOf(edits: readonly DocumentEdit[]): number | null {
  const head = edits.find(({ collection, json }) => collection === HEADS && json !== null)
  return head === undefined ? null : (JSON.parse(head.json!) as CommitHead).commit
}

function readHead(reading: DocumentReader): CommitHead {
  return (reading.get(HEADS, HEAD) as CommitHead | null) ?? { commit: 0, by: '' }
}

function readAll(reading: DocumentReader): DocumentSnapshot {
  return DocumentSnapshot.of(reading.all(CURRENT_DOCUMENTS).map(([, value]) => value as StoredDocument))
}

const revisionKey = (id: string, revision: number): string => `${id}.${revision}`

/** The collection and key of a current document. */
export function currentKey({ id }: StoredDocument): readonly [collection: string, key: string] {
  return [CURRENT_DOCUMENTS, id]
}

/** The collection and key of a document that a later revision has replaced. */
export function pastRevisionKey({ id, revision }: StoredDocument): readonly [collection: string, key: string] {
  return [PAST_DOCUMENTS, revisionKey(id, revision)]
}

/** Deleting a document deletes its past revisions. */
function archiveRevision(transaction: DocumentTransaction, before: StoredDocument, after: StoredDocument | null): void {
  const { id, revision } = before
  if (after === null)
    for (let past = 1; past < revision; past++) transaction.delete(PAST_DOCUMENTS, revisionKey(id, past))
  else if (after.revision > revision) transaction.put(PAST_DOCUMENTS, revisionKey(id, revision), before)
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
  private readonly events: ((transaction: DocumentTransaction, nowMs: number) => void)[] = []
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

  appendEvents(stream: string, record: Uint8Array, count: number): void {
    this.events.push((transaction, nowMs) => transaction.appendEvents(stream, record, count, nowMs))
  }

  writeEvents(transaction: DocumentTransaction, nowMs: number): void {
    for (const write of this.events) write(transaction, nowMs)
  }

  /**
   * One change per document, in the order of the first write. A document that was created and deleted again is left
   * out.
   */
  changes(): DocumentChange[] {
    return [...this.touched.values()]
      .map(({ kind, id }) => ({ before: this.start.get(kind, id), after: this.documents.get(kind, id) }))
      .filter(({ before, after }) => before !== after)
  }
}
