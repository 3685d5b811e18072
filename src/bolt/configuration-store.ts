// The configuration that several instances of the service share, in a database server: one node with the version, one node for each
// document, and a lease (docs/decisions/0068-instances-that-share-a-configuration.md). All nodes have the label of the state of the
// service, so a graph in the same database does not contain them.
import { ExecutionError } from '../engine/errors.ts'
import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import type { DocumentEdit, DocumentEdits, EventEdit } from '../kernel/folder/document-store.ts'
import { type BoltRecord, type BoltServer, type BoltTransaction, CommitUnknownError } from './bolt-server.ts'
import { COMMITS_KEPT, type CommitMark, type CommitOutcome, outcomeOf } from './graph-state.ts'
import { STATE_LABEL } from './print/names.ts'

const DOCUMENT = '_VerdigraphDocument'
const EVENTS = '_VerdigraphEvents'
/** Also the label of a document that was deleted, until all copies with fewer changes are made again. */
const DELETED = '_VerdigraphDeleted'
const HEAD = `(h:${STATE_LABEL} {key: 'configuration'})`
const HEAD_FIELDS = 'h.store AS store, h.version AS version, h.format AS format, h.commits[-1] AS commit'
/** The id of the change that has created $version, if it is one of the last. */
const COMMIT_OF_VERSION =
  'h.commits[CASE WHEN $version > h.version THEN NULL ELSE size(h.commits) - 1 - (h.version - $version) END]'
/** The form in which documents are stored. */
const FORMAT = 1

/** Changes between two removals of what deleted documents have left. */
const CLEAN_CHANGES = 64
/** Documents that one statement writes. */
const BATCH = 1000
/** Time limit of a poll, milliseconds. */
const POLL_TIME_MS = 2000
/**
 * Time limit of a change, milliseconds: an instance that is paused in a transaction must not stop the changes of the others for long.
 */
const CHANGE_TIME_MS = 5000
/** How often changes are read without locking the configuration, while other instances change it. */
const READ_ATTEMPTS = 5
/** How often a constraint or an index is created that other instances may create too. */
const PREPARE_ATTEMPTS = 5
/** Pause between two queries about the outcome of a commit, milliseconds. */
const ASK_AGAIN_MS = 200

/** The shared configuration as of one version. */
export interface ConfigurationHead {
  /** Random; made when the configuration was created. */
  readonly store: string
  /** Counts the changes. 0: the configuration is empty. */
  readonly version: number
  /** Identifies the last change; empty if no change was made. */
  readonly commit: string
}

/** The changes after a version, and the events of one instance that it has not stored yet. */
export interface FetchedChanges extends DocumentEdits {
  readonly head: ConfigurationHead
  /** The change that has created the version after which these follow. Null: it is too long ago, so these are all documents. */
  readonly after: string | null
}

/** The documents and events of a change, in the version that it has created. */
interface CommittedChange<T> {
  readonly value: T
  readonly edits: DocumentEdits
  /** The newest state; null: it has written nothing. */
  readonly head: ConfigurationHead | null
}

/** The configuration in a database. */
export class ConfigurationStore {
  private readonly server: BoltServer
  private readonly database: string | null

  constructor(server: BoltServer, database: string | null) {
    this.server = server
    this.database = database
  }

  /**
   * Creates what the service needs, if it does not exist, and returns the newest version. Rejects with the error of the server if it
   * cannot be used.
   */
  async prepare(): Promise<ConfigurationHead> {
    const texts = [
      `CREATE CONSTRAINT verdigraph_state IF NOT EXISTS FOR (s:${STATE_LABEL}) REQUIRE s.key IS UNIQUE`,
      `CREATE INDEX verdigraph_documents IF NOT EXISTS FOR (d:${DOCUMENT}) ON (d.version)`,
      `CREATE INDEX verdigraph_events IF NOT EXISTS FOR (e:${EVENTS}) ON (e.instance)`,
      `MERGE ${HEAD} ON CREATE SET h.version = 0, h.commits = [], h.format = ${FORMAT}, h.store = randomUUID()`,
      `MERGE (:${STATE_LABEL} {key: 'changes'})`,
      `MERGE (l:${STATE_LABEL} {key: 'lease'}) ON CREATE SET l.holder = '', l.until = 0`,
    ]
    for (const text of texts) await this.prepareOne(text)
    return this.server.write(this.database, lock)
  }

  /** Neo4j refuses a constraint or an index that another instance creates at the same time, in spite of IF NOT EXISTS. */
  private async prepareOne(text: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.server.write(this.database, (transaction) => transaction.run(text, {}))
        return
      } catch (error) {
        if (attempt === PREPARE_ATTEMPTS || error instanceof ThrownServiceError) throw error
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS * Math.random()))
      }
    }
  }

  /** The newest version. Rejects with ThrownServiceError `unavailable` if the server does not answer. */
  async head(): Promise<ConfigurationHead> {
    const text = `MATCH ${HEAD} RETURN ${HEAD_FIELDS}`
    try {
      const records = await this.server.read(this.database, { text, parameters: {} }, POLL_TIME_MS)
      return headOf(records)
    } catch (error) {
      throw unavailableInstead(error)
    }
  }

  /** The changes after `version`. Rejects as `head`. */
  async changesAfter(version: number, instance: string): Promise<FetchedChanges> {
    const { queryTimeMs } = this.server.limits
    const reading: BoltTransaction = {
      run: (text, parameters) => this.server.read(this.database, { text, parameters }, queryTimeMs),
    }
    try {
      // Without a transaction that locks: an instance that was paused in one would keep all others from answering.
      for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        const head = await this.committed()
        const changes = await fetchChanges(reading, head, version, instance)
        if ((await this.committed()).commit === head.commit) return changes
      }
      return await this.server.write(this.database, async (transaction) =>
        fetchChanges(transaction, await lock(transaction), version, instance),
      )
    } catch (error) {
      throw unavailableInstead(error)
    }
  }

  /** The newest version, all of whose documents can be read: a commit in progress has locked the node. */
  private async committed(): Promise<ConfigurationHead> {
    const text = `MATCH ${HEAD} SET h.key = 'configuration' RETURN ${HEAD_FIELDS}`
    return headOf(await this.server.writeAlone(this.database, { text, parameters: {} }, POLL_TIME_MS))
  }

  /**
   * Runs `change` while no other instance changes the configuration, and writes what it returns. `change` gets the newest version and
   * may run several times. `id` identifies the change; `timeMs`: time limit. Rejects with what it throws; with ThrownServiceError
   * `unavailable` if the server does not answer: then nothing is written, unless the message tells that this is not known.
   */
  async write<T>(
    instance: string,
    change: (
      head: ConfigurationHead,
      fetch: (version: number) => Promise<FetchedChanges>,
    ) => Promise<{ readonly value: T; readonly edits: DocumentEdits }>,
    {
      id = crypto.randomUUID() as string,
      timeMs = CHANGE_TIME_MS,
    }: { readonly id?: string; readonly timeMs?: number } = {},
  ): Promise<CommittedChange<T>> {
    let attempt: { readonly mark: CommitMark; readonly committed: CommittedChange<T> } | null = null
    try {
      return await this.server.write(
        this.database,
        async (transaction) => {
          attempt = null
          const head = await lock(transaction)
          const { value, edits } = await change(head, (version) => fetchChanges(transaction, head, version, instance))
          if (edits.documents.length === 0 && edits.events.length === 0) return { value, edits, head: null }
          const mark = { id, version: head.version + 1 }
          const committed = { value, edits, head: { store: head.store, version: mark.version, commit: id } }
          attempt = { mark, committed }
          await store(transaction, mark, instance, edits)
          return committed
        },
        timeMs,
      )
    } catch (error) {
      // Assigned in a function, which the compiler does not follow.
      const last = attempt as { readonly mark: CommitMark; readonly committed: CommittedChange<T> } | null
      if (error instanceof CommitUnknownError && last !== null) {
        const outcome = await this.outcome(last.mark)
        if (outcome === 'committed') return last.committed
        throw unavailable(error.message, outcome === 'unknown')
      }
      throw unavailableInstead(error)
    }
  }

  /** The outcome of a commit, as soon as the server answers; `unknown` after the time for repetitions. */
  private async outcome(mark: CommitMark): Promise<CommitOutcome> {
    const untilMs = performance.now() + this.server.limits.retryTimeMs
    do {
      try {
        return await this.server.write(this.database, async (transaction) => {
          await lock(transaction)
          const [head] = await transaction.run(`MATCH ${HEAD} RETURN h.version AS version, h.commits AS commits`, {})
          return outcomeOf(mark, { version: Number(head?.version), commits: head?.commits as readonly string[] })
        })
      } catch {
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS))
      }
    } while (performance.now() < untilMs)
    return 'unknown'
  }

  /** Identifies the change that has created a version; null: it is too long ago, or has not happened. Rejects as `head`. */
  async commitOf(version: number): Promise<string | null> {
    const text = `MATCH ${HEAD} RETURN ${COMMIT_OF_VERSION} AS commit`
    try {
      const parameters = { version: BigInt(version) }
      const [found] = await this.server.read(this.database, { text, parameters }, POLL_TIME_MS)
      return (found?.commit as string | null | undefined) ?? null
    } catch (error) {
      throw unavailableInstead(error)
    }
  }

  /** Takes the lease, or keeps it, for `ms` milliseconds. Returns false if another instance has it. */
  async takeLease(instance: string, ms: number): Promise<boolean> {
    // The first SET takes the lock of the node, so that what follows reads what the last holder has written.
    const text = `MATCH (l:${STATE_LABEL} {key: 'lease'}) SET l.key = 'lease' WITH l WHERE l.holder = $instance OR l.until < timestamp() SET l.holder = $instance, l.until = timestamp() + $ms RETURN true AS taken`
    const parameters = { instance, ms: BigInt(ms) }
    return (await this.server.writeAlone(this.database, { text, parameters }, POLL_TIME_MS)).length > 0
  }

  /** Gives the lease up if this instance has it. */
  async leaveLease(instance: string): Promise<void> {
    const text = `MATCH (l:${STATE_LABEL} {key: 'lease'}) SET l.key = 'lease' WITH l WHERE l.holder = $instance SET l.until = 0`
    await this.server.writeAlone(this.database, { text, parameters: { instance } }, POLL_TIME_MS)
  }

  /** Closes the connections. */
  close(): Promise<void> {
    return this.server.close()
  }
}

/** Changes of all instances follow each other. */
async function lock(transaction: BoltTransaction): Promise<ConfigurationHead> {
  const locked = await transaction.run(
    `MATCH (c:${STATE_LABEL} {key: 'changes'}) SET c.key = 'changes' RETURN 1 AS one`,
    {},
  )
  return locked.length === 0 ? headOf([]) : headOf(await transaction.run(`MATCH ${HEAD} RETURN ${HEAD_FIELDS}`, {}))
}

function headOf([head]: readonly BoltRecord[]): ConfigurationHead {
  if (head === undefined) throw new OperationalError('the database does not contain the configuration any more')
  if (Number(head.format) !== FORMAT)
    throw new OperationalError('the configuration in the database was written by a later version of the service')
  return { store: String(head.store), version: Number(head.version), commit: (head.commit as string | null) ?? '' }
}

async function fetchChanges(
  transaction: BoltTransaction,
  head: ConfigurationHead,
  version: number,
  instance: string,
): Promise<FetchedChanges> {
  const isRecent = version > 0 && head.version - version < COMMITS_KEPT
  const [known] = isRecent
    ? await transaction.run(`MATCH ${HEAD} RETURN ${COMMIT_OF_VERSION} AS commit`, { version: BigInt(version) })
    : []
  const documents = await transaction.run(
    `MATCH (d:${DOCUMENT}) WHERE d.version > $version${isRecent ? '' : ' AND d.json IS NOT NULL'} RETURN d.collection AS collection, d.document AS key, d.json AS json ORDER BY d.version`,
    { version: BigInt(isRecent ? version : 0) },
  )
  const events = await transaction.run(
    `MATCH (e:${EVENTS} {instance: $instance}) WHERE e.version > $version RETURN e.stream AS stream, e.record AS record, e.count AS count, e.time AS time ORDER BY e.version, e.number`,
    { version: BigInt(version), instance },
  )
  return {
    head,
    after: isRecent ? String(known?.commit) : null,
    documents: documents.map(({ collection, key, json }) => ({
      collection: String(collection),
      key: String(key),
      json: (json as string | null) ?? null,
    })),
    events: events.map(({ stream, record, count, time }) => ({
      stream: String(stream),
      record: Buffer.from(String(record), 'base64'),
      count: Number(count),
      timeMs: Number(time),
    })),
  }
}

async function store(
  transaction: BoltTransaction,
  { id, version }: CommitMark,
  instance: string,
  { documents, events }: DocumentEdits,
): Promise<void> {
  const at = BigInt(version)
  for (let start = 0; start < documents.length; start += BATCH) {
    await transaction.run(
      `UNWIND $documents AS one MERGE (d:${STATE_LABEL} {key: one.key}) SET d:${DOCUMENT}, d.collection = one.collection, d.document = one.document, d.json = one.json, d.version = $version FOREACH (gone IN CASE WHEN one.json IS NULL THEN [d] ELSE [] END | SET gone:${DELETED}) FOREACH (present IN CASE WHEN one.json IS NULL THEN [] ELSE [d] END | REMOVE present:${DELETED})`,
      { version: at, documents: documents.slice(start, start + BATCH).map(documentParameter) },
    )
  }
  if (version % CLEAN_CHANGES === 0) {
    const oldest = BigInt(version - COMMITS_KEPT)
    await transaction.run(`MATCH (d:${DELETED}) WHERE d.version <= $oldest DELETE d`, { oldest })
  }
  // This instance has stored what it had written before.
  await transaction.run(`MATCH (e:${EVENTS} {instance: $instance}) DELETE e`, { instance })
  if (events.length > 0) {
    await transaction.run(
      `UNWIND $events AS one CREATE (e:${STATE_LABEL}:${EVENTS} {key: one.key}) SET e.instance = $instance, e.version = $version, e.number = one.number, e.stream = one.stream, e.record = one.record, e.count = one.count, e.time = one.time`,
      { version: at, instance, events: events.map((event, number) => eventParameter(id, event, number)) },
    )
  }
  // Last: readers wait for this lock.
  const counted = `MATCH ${HEAD} SET h.version = $version, h.commits = (h.commits + [$id])[-${COMMITS_KEPT}..]`
  await transaction.run(counted, { version: at, id })
}

function documentParameter({ collection, key, json }: DocumentEdit): object {
  return { key: `document\n${collection}\n${key}`, collection, document: key, json }
}

function eventParameter(id: string, { stream, record, count, timeMs }: EventEdit, number: number): object {
  return {
    key: `events\n${id}\n${number}`,
    number: BigInt(number),
    stream,
    record: Buffer.from(record).toString('base64'),
    count: BigInt(count),
    time: BigInt(Math.floor(timeMs)),
  }
}

function unavailableInstead(error: unknown): unknown {
  const isUnavailable = error instanceof ThrownServiceError && error.error.kind === 'unavailable'
  // A time limit, or an error of the server.
  return isUnavailable || error instanceof ExecutionError ? unavailable(error.message) : error
}

/** `detail`: for the log. `isUnknown`: the change may have been stored. */
function unavailable(detail: string, isUnknown = false): ThrownServiceError {
  const lost = 'the database server with the shared configuration cannot be reached'
  const message = isUnknown ? `${lost}, and it is not known whether the change was stored` : lost
  const error = new ThrownServiceError({ kind: 'unavailable', message, retryAfterS: 2 })
  error.message = `the shared configuration: ${detail}`
  return error
}
