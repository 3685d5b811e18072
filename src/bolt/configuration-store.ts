// The configuration that several instances of the service share, in a database server: one node with the version, one node for each
// document, and a lease (docs/decisions/0068-instances-that-share-a-configuration.md). All nodes have the label of the state of the
// service, so a graph in the same database does not contain them.
import { ExecutionError } from '../engine/errors.ts'
import type { DocumentEdit, DocumentEdits, EventEdit } from '../kernel/document-store.ts'
import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import { type BoltRecord, type BoltServer, type BoltTransaction, CommitUnknownError } from './bolt-server.ts'
import { COMMITS_KEPT, type CommitMark, type CommitOutcome, outcomeOf } from './graph-state.ts'
import { STATE_LABEL } from './print/names.ts'

const DOCUMENT = '_VerdigraphDocument'
const EVENTS = '_VerdigraphEvents'
const HEAD = `(h:${STATE_LABEL} {key: 'configuration'})`
/** The form in which documents are stored. */
const FORMAT = 1

/** Documents that one statement writes. */
const BATCH = 1000
/** Time limit of a poll, milliseconds. */
const POLL_TIME_MS = 2000
/**
 * Time limit of a change, milliseconds: an instance that is paused in a transaction must not stop the changes of the others for long.
 */
const CHANGE_TIME_MS = 5000
/** Pause between two queries about the outcome of a commit, milliseconds. */
const ASK_AGAIN_MS = 200

/** The shared configuration as of one version. */
export interface ConfigurationHead {
  /** Random; made when the configuration was created. */
  readonly store: string
  /** Counts the changes. 0: the configuration is empty. */
  readonly version: number
}

/** The changes after a version, and the events of one instance that it has not stored yet. */
export interface FetchedChanges extends DocumentEdits {
  readonly head: ConfigurationHead
}

/** The documents and events of a change, in the version that it has created. */
export interface CommittedChange<T> {
  readonly value: T
  readonly edits: DocumentEdits
  /** Null: it has written nothing. */
  readonly version: number | null
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
   * Creates what the service needs, if it does not exist, and returns the newest version. Rejects with OperationalError if the server
   * cannot be used.
   */
  async prepare(): Promise<ConfigurationHead> {
    const texts = [
      `CREATE CONSTRAINT verdigraph_state IF NOT EXISTS FOR (s:${STATE_LABEL}) REQUIRE s.key IS UNIQUE`,
      `CREATE INDEX verdigraph_documents IF NOT EXISTS FOR (d:${DOCUMENT}) ON (d.version)`,
      `CREATE INDEX verdigraph_events IF NOT EXISTS FOR (e:${EVENTS}) ON (e.instance)`,
      `MERGE ${HEAD} ON CREATE SET h.version = 0, h.commits = [], h.format = ${FORMAT}, h.store = randomUUID()`,
      `MERGE (l:${STATE_LABEL} {key: 'lease'}) ON CREATE SET l.holder = '', l.until = 0`,
    ]
    try {
      for (const text of texts) await this.server.write(this.database, (transaction) => transaction.run(text, {}))
      return await this.server.write(this.database, lock)
    } catch (error) {
      throw new OperationalError((error as Error).message)
    }
  }

  /** The newest version. Rejects with ThrownServiceError `unavailable` if the server does not answer. */
  async head(): Promise<ConfigurationHead> {
    const text = `MATCH ${HEAD} RETURN h.store AS store, h.version AS version, h.format AS format`
    try {
      const records = await this.server.read(this.database, { text, parameters: {} }, POLL_TIME_MS)
      return headOf(records)
    } catch (error) {
      throw unavailableInstead(error)
    }
  }

  /** The changes after `version`, read in one transaction. Rejects as `head`. */
  async changesAfter(version: number, instance: string): Promise<FetchedChanges> {
    try {
      return await this.server.write(this.database, async (transaction) => {
        const head = await lock(transaction)
        return { head, ...(await fetchChanges(transaction, version, instance)) }
      })
    } catch (error) {
      throw unavailableInstead(error)
    }
  }

  /**
   * Runs `change` while no other instance changes the configuration, and writes what it returns. `change` gets the newest version and
   * may run several times. `timeMs`: time limit. Rejects with what it throws; with ThrownServiceError `unavailable` if the server does not answer, and nothing
   * is written, or the outcome is unknown and in the message.
   */
  async write<T>(
    instance: string,
    change: (
      head: ConfigurationHead,
      fetch: (version: number) => Promise<DocumentEdits>,
    ) => Promise<{ readonly value: T; readonly edits: DocumentEdits }>,
    timeMs = CHANGE_TIME_MS,
  ): Promise<CommittedChange<T>> {
    let attempt: { readonly mark: CommitMark; readonly committed: CommittedChange<T> } | null = null
    try {
      return await this.server.write(
        this.database,
        async (transaction) => {
          attempt = null
          const head = await lock(transaction)
          const { value, edits } = await change(head, (version) => fetchChanges(transaction, version, instance))
          if (edits.documents.length === 0 && edits.events.length === 0) return { value, edits, version: null }
          const mark = { id: crypto.randomUUID(), version: head.version + 1 }
          const committed = { value, edits, version: mark.version }
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
        throw unavailable(
          outcome === 'lost'
            ? null
            : 'the connection to it was lost, and it is not known whether the change was stored',
        )
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

  /** Takes the lease, or keeps it, for `ms` milliseconds. Returns false if another instance has it. */
  async takeLease(instance: string, ms: number): Promise<boolean> {
    // The first SET takes the lock of the node, so that what follows reads what the last holder has written.
    const text = `MATCH (l:${STATE_LABEL} {key: 'lease'}) SET l.key = 'lease' WITH l WHERE l.holder = $instance OR l.until < timestamp() SET l.holder = $instance, l.until = timestamp() + $ms RETURN true AS taken`
    const records = await this.server.write(this.database, (transaction) =>
      transaction.run(text, { instance, ms: BigInt(ms) }),
    )
    return records.length > 0
  }

  /** Gives the lease up if this instance has it. */
  async leaveLease(instance: string): Promise<void> {
    const text = `MATCH (l:${STATE_LABEL} {key: 'lease'}) SET l.key = 'lease' WITH l WHERE l.holder = $instance SET l.until = 0`
    await this.server.write(this.database, (transaction) => transaction.run(text, { instance }))
  }

  /** Closes the connections. */
  close(): Promise<void> {
    return this.server.close()
  }
}

/** Changes of all instances follow each other. */
async function lock(transaction: BoltTransaction): Promise<ConfigurationHead> {
  const text = `MATCH ${HEAD} SET h.key = 'configuration' RETURN h.store AS store, h.version AS version, h.format AS format`
  return headOf(await transaction.run(text, {}))
}

function headOf([head]: readonly BoltRecord[]): ConfigurationHead {
  if (head === undefined) throw new OperationalError('the database does not contain the configuration any more')
  if (Number(head.format) !== FORMAT)
    throw new OperationalError('the configuration in the database was written by a later version of the service')
  return { store: String(head.store), version: Number(head.version) }
}

async function fetchChanges(transaction: BoltTransaction, version: number, instance: string): Promise<DocumentEdits> {
  const documents = await transaction.run(
    `MATCH (d:${DOCUMENT}) WHERE d.version > $version RETURN d.collection AS collection, d.document AS key, d.json AS json ORDER BY d.version`,
    { version: BigInt(version) },
  )
  const events = await transaction.run(
    `MATCH (e:${EVENTS} {instance: $instance}) WHERE e.version > $version RETURN e.stream AS stream, e.record AS record, e.count AS count, e.time AS time ORDER BY e.version, e.number`,
    { version: BigInt(version), instance },
  )
  return {
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
  await transaction.run(`MATCH ${HEAD} SET h.version = $version, h.commits = (h.commits + [$id])[-${COMMITS_KEPT}..]`, {
    version: at,
    id,
  })
  for (let start = 0; start < documents.length; start += BATCH) {
    await transaction.run(
      `UNWIND $documents AS one MERGE (d:${STATE_LABEL} {key: one.key}) SET d:${DOCUMENT}, d.collection = one.collection, d.document = one.document, d.json = one.json, d.version = $version`,
      { version: at, documents: documents.slice(start, start + BATCH).map(documentParameter) },
    )
  }
  // This instance has stored what it had written before.
  await transaction.run(`MATCH (e:${EVENTS} {instance: $instance}) DELETE e`, { instance })
  if (events.length === 0) return
  await transaction.run(
    `UNWIND $events AS one CREATE (e:${STATE_LABEL}:${EVENTS} {key: one.key}) SET e.instance = $instance, e.version = $version, e.number = one.number, e.stream = one.stream, e.record = one.record, e.count = one.count, e.time = one.time`,
    { version: at, instance, events: events.map((event, number) => eventParameter(id, event, number)) },
  )
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

function unavailable(detail: string | null): ThrownServiceError {
  const error = new ThrownServiceError({
    kind: 'unavailable',
    message: 'the database server with the shared configuration cannot be reached',
    retryAfterS: 2,
  })
  if (detail !== null) error.message = `the shared configuration: ${detail}`
  return error
}
