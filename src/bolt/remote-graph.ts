// A graph in a database server, behind the port of the graphs of this process (docs/decisions/0067-graphs-in-a-database-server.md).

import type {
  BatchView,
  GraphStore,
  GraphVersion,
  NodeKey,
  OpenSnapshot,
  QueryPushdown,
  WriteBatch,
} from '../engine/store.ts'
import { assert } from '../kernel/assert.ts'
import { ThrownServiceError } from '../kernel/errors.ts'
import { mintGid } from '../kernel/ids.ts'
import { type ExecutionTime, ExecutionTimes } from '../kernel/request/execution-times.ts'
import { currentRemoteReads, PendingReadsError, settleRemoteReads } from '../kernel/request/remote-reads.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import {
  type BoltServer,
  type BoltTransaction,
  CommitUnknownError,
  FailedStatementError,
  isTimeError,
} from './bolt-server.ts'
import type { BoltDriver } from './driver-values.ts'
import { type BoltRead, FetchedGraph, type FetchRequests } from './fetched-graph.ts'
import { GraphSchema } from './graph-schema.ts'
import { type CommitMark, type GraphState, lockState, outcomeOf, STATE_QUERY, stateOf } from './graph-state.ts'
import { hidden, quoted, STATE_LABEL } from './print/names.ts'
import { Pushdown, type PushedPlans } from './pushed-queries.ts'
import { type AssignedIdentity, RemoteBatch } from './remote-batch.ts'
import { RemoteSnapshot } from './remote-snapshot.ts'
import { openExecution, requestFetches } from './request-fetches.ts'
import { SharedSymbols } from './shared-symbols.ts'
import { EXTERNAL_ID, nodeTypeOf, TYPE_TEXT } from './stored-elements.ts'
import { TouchedElements } from './touched-elements.ts'
import { VanishedElementError, writeChanges } from './write-changes.ts'
import { unknownCommit, writeError } from './write-error.ts'

/** Attempts of one batch within its transaction. A batch that reads rows needs one for each fetch. */
const ATTEMPTS_MAX = 1_000

const KEYS_PER_PAGE = 2_000

/** How often a batch begins again because another tool has deleted what it changes. */
const VANISHED_REPEATS_MAX = 5

/** How often a lost server is asked whether it has committed. */
const COMMIT_POLL_MS = 250

/** Notes that the service keeps in the node of the state. */
type StateNote = 'intents' | 'proxies_complete'

/** The fields that a node and its proxy share. */
export interface NodeIdentity {
  readonly key: NodeKey
  readonly gid: string
  readonly location: string | null
}

/** A committed batch, for events and audit. */
export interface RemoteCommits {
  /**
   * Stores what the batch has to report, before its transaction commits: a crash then loses no event. Returns what to call when the
   * transaction has ended. Rejects if it cannot be stored; then nothing is committed.
   */
  prepare(batch: RemoteBatch, mark: CommitMark): Promise<PreparedReport>
}

/** To be called when a transaction has ended. */
export interface PreparedReport {
  committed(): Promise<void>
  dropped(): Promise<void>
  /** It is not known whether it was committed: the server has to be asked later. */
  undecided(): void
}

/** Parts of a graph that the service shares among its graphs. */
interface RemoteGraphDeps {
  readonly server: BoltServer
  /** The database of the server; null: its default. */
  readonly database: string | null
  readonly clock: Clock
  /** Null: events are not recorded. */
  readonly commits: RemoteCommits | null
  readonly plans: PushedPlans
}

/** One database as a graph. */
export class RemoteGraph implements GraphStore {
  readonly isRemote = true
  private readonly deps: RemoteGraphDeps
  private symbols = new SharedSymbols()
  private readonly schema: GraphSchema
  private readonly writer = Math.floor(Math.random() * 2 ** 31)
  private attempts = 0

  constructor(deps: RemoteGraphDeps) {
    this.deps = deps
    this.schema = new GraphSchema(deps.server, deps.database)
  }

  /** A snapshot of what the running request has fetched. Throws PendingReadsError outside of `withRemoteReads`. */
  snapshot(): OpenSnapshot {
    const running = currentRemoteReads()
    const { reads, executions } = running
    const { server, database } = this.deps
    const fetched = reads.of(this, () => {
      reads.whenEnded(server.hold())
      return this.newFetched()
    })
    const requests = requestFetches(server, database, running, fetched)
    const { startedMs } = reads
    const pushdown = this.pushdown(fetched, requests, startedMs, executions)
    return new RemoteSnapshot(this, fetched, requests, this.nextVersion(), startedMs, pushdown)
  }

  private newFetched(): FetchedGraph {
    this.symbols = this.symbols.current()
    return new FetchedGraph(this.symbols)
  }

  private pushdown(
    fetched: FetchedGraph,
    requests: FetchRequests,
    statementMs: number,
    executions: ExecutionTimes,
    isUsed = true,
  ): QueryPushdown {
    const { plans } = this.deps
    const snapshot = new RemoteSnapshot(this, fetched, requests, this.nextVersion(), statementMs, null)
    return new Pushdown({ plans, fetched, requests, snapshot, executions, isUsed })
  }

  /** No two attempts see the same version: nothing tells that the database has not changed in between. */
  private nextVersion(): GraphVersion {
    this.attempts += 1
    return { writer: this.writer, commit: this.attempts }
  }

  write<T>(change: (batch: WriteBatch) => T): Promise<T> {
    return this.writeBatch(change)
  }

  /** As `write`, with the batch of this store. */
  async writeBatch<T>(change: (batch: RemoteBatch) => T, hooks: BatchHooks = {}): Promise<T> {
    const { server, database } = this.deps
    const driver = await server.module()
    const giveUpMs = performance.now() + server.limits.retryTimeMs
    let usesPushdown = true
    for (let repeats = 0; ; ) {
      let attempt: WriteAttempt<T> | null = null
      try {
        await server.write(database, async (transaction) => {
          // An attempt before this one was rolled back.
          await attempt?.report?.dropped()
          attempt = null
          attempt = await this.writeIn(transaction, change, driver, hooks, usesPushdown)
        })
      } catch (error) {
        if (error instanceof CommitUnknownError && attempt !== null) {
          if ((await this.outcomeOf(attempt, error, giveUpMs)) === 'lost') continue
          return await committedValue(attempt)
        }
        await (attempt as WriteAttempt<T> | null)?.report?.dropped()
        if (error instanceof FailedChange) throw await server.lateError(error.cause, database)
        if (error instanceof MissingConstraints) {
          await this.schema.create(error.types).catch((failure: unknown) => {
            throw writeError(failure)
          })
        }
        // An error of a statement ends its transaction: the engine then executes the queries of the batch.
        else if (error instanceof FailedStatementError && usesPushdown) usesPushdown = false
        else if (error instanceof VanishedElementError && repeats < VANISHED_REPEATS_MAX) repeats += 1
        else throw writeError(await server.lateError(error, database))
        continue
      }
      // From here on the batch is committed: a failure to report it must not drop its events.
      return await committedValue(attempt)
    }
  }

  /**
   * Finds out whether an attempt was committed whose connection was lost. Rejects if the server cannot be asked in time; what the
   * attempt has to report is then decided later.
   */
  private async outcomeOf(
    { mark, report }: WriteAttempt<unknown>,
    error: CommitUnknownError,
    giveUpMs: number,
  ): Promise<'committed' | 'lost'> {
    while (performance.now() < giveUpMs) {
      await new Promise((resolve) => setTimeout(resolve, COMMIT_POLL_MS))
      const state = await this.lockedState().catch(() => null)
      if (state === null) continue
      const outcome = outcomeOf(mark, state)
      if (outcome === 'unknown') break
      if (outcome === 'lost') await report?.dropped()
      return outcome
    }
    report?.undecided()
    throw unknownCommit(error)
  }

  /** The state when no write is in progress: a commit that the server still works on has ended. */
  async lockedState(): Promise<GraphState> {
    const { server, database } = this.deps
    return server.write(database, async (transaction) => {
      await transaction.run(`MATCH (s:${STATE_LABEL} {key: 'state'}) SET s.key = 'state'`, {})
      return stateOf(await transaction.run(STATE_QUERY, {}))
    })
  }

  private async writeIn<T>(
    transaction: BoltTransaction,
    change: (batch: RemoteBatch) => T,
    driver: BoltDriver,
    hooks: BatchHooks,
    usesPushdown: boolean,
  ): Promise<WriteAttempt<T>> {
    const mark = await lockState(transaction)
    await hooks.locked?.()
    const fetched = this.newFetched()
    const { symbols } = fetched
    const elements: BatchElements = {
      touched: new TouchedElements(fetched.symbols),
      fetched,
      nowMs: this.deps.clock.now(),
      usesPushdown,
      executions: new ExecutionTimes(),
    }
    const { value, batch } = await this.attempt(change, transaction, driver, elements, [])
    const missing = this.schema.missing(batch, symbols)
    // A constraint is created in a transaction of its own.
    if (missing.length > 0) throw new MissingConstraints(missing)
    const ids = await writeChanges(transaction, driver, batch, symbols)
    // Through its view, the change has seen ids that the database had not assigned yet.
    const isRepeated = batch.isViewed && ids.size > 0
    const assigned = batch.assigned.map(({ id, gid }) => ({ id: ids.get(id) ?? id, gid }))
    const last = isRepeated ? await this.attempt(change, transaction, driver, elements, assigned) : { value, batch }
    await hooks.written?.(transaction, last.batch)
    const report = (await this.deps.commits?.prepare(last.batch, mark)) ?? null
    return { value: last.value, mark, report }
  }

  /** Runs the batch until everything that it reads is fetched. */
  private async attempt<T>(
    change: (batch: RemoteBatch) => T,
    transaction: BoltTransaction,
    driver: BoltDriver,
    elements: BatchElements,
    assigned: readonly AssignedIdentity[],
  ): Promise<{ readonly value: T; readonly batch: RemoteBatch }> {
    const { touched, fetched, nowMs, executions } = elements
    const run: BoltRead = (text, parameters) => transaction.run(text, parameters)
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      let pending: (() => Promise<void>) | null = null
      let isForeign = false
      const requests: FetchRequests = {
        require(fetch) {
          const execution = openExecution(executions)
          pending = () => fetchWithin(execution, transaction, (limited) => fetch(limited, driver))
          throw new PendingReadsError()
        },
      }
      executions.restart()
      const view = (of: RemoteBatch): BatchView => this.viewOf(of, elements, requests)
      const batch = new RemoteBatch(fetched.symbols, touched, nowMs, view, assigned)
      try {
        const value = change(batch)
        if (!batch.isIncomplete) return { value, batch }
      } catch (error) {
        // An error of an attempt without its elements means nothing.
        isForeign = error instanceof PendingReadsError && pending === null
        if (!batch.isIncomplete && !(error instanceof PendingReadsError)) throw new FailedChange(error)
      }
      // A change may read other graphs, which it does outside of this transaction.
      if (isForeign) await settleRemoteReads()
      else if (pending !== null) await (pending as () => Promise<void>)()
      await touched.fetch(run, driver, fetched)
    }
    throw new ThrownServiceError({ kind: 'timed-out', message: 'the write reads too much of the graph' })
  }

  private viewOf(
    batch: RemoteBatch,
    { fetched, nowMs, usesPushdown, executions }: BatchElements,
    requests: FetchRequests,
  ): BatchView {
    const pushdown = this.pushdown(fetched, requests, nowMs, executions, usesPushdown)
    return new RemoteSnapshot(this, fetched, requests, this.nextVersion(), nowMs, pushdown, {
      node: (id) => batch.nodes.get(id)?.now,
      relationship: (id) => batch.relationships.get(id)?.now,
    })
  }

  /** Creates what the service needs in the database. Rejects with OperationalError or ThrownServiceError. */
  async provision(): Promise<void> {
    await this.deps.server.probe(this.deps.database)
    await this.schema.prepare()
  }

  /** Whether the database has nodes other than those of the service, or relationships. */
  holds(what: 'nodes' | 'relationships'): Promise<boolean> {
    return this.schema.holds(what)
  }

  /**
   * Reads the fields that a node and its proxy share. A key without a node is missing in the result, and one whose node another tool has
   * written: it has no id.
   */
  async identities(keys: readonly NodeKey[]): Promise<readonly NodeIdentity[]> {
    const { server, database } = this.deps
    const found: NodeIdentity[] = []
    for (const [type, ofType] of Map.groupBy(keys, (key) => key.type)) {
      const records = await server.read(
        database,
        {
          text: `UNWIND $keys AS key MATCH (n:${quoted(type)} {${EXTERNAL_ID}: key}) WHERE ${TYPE_TEXT} = $type AND n.${hidden.id} IS NOT NULL RETURN key, n.${hidden.id} AS gid, n.${hidden.location} AS location`,
          parameters: { keys: ofType.map(({ externalId }) => externalId), type },
        },
        server.limits.queryTimeMs,
      )
      for (const { key, gid, location } of records) {
        found.push({
          key: { type, externalId: String(key) },
          gid: String(gid),
          location: typeof location === 'string' ? location : null,
        })
      }
    }
    return found
  }

  /**
   * Keys of nodes, ascending by their ids in the database after `after`, at most a page of them. Gives those that another tool has written
   * a global id.
   */
  async identifiedKeys(after: bigint): Promise<{ readonly keys: readonly NodeKey[]; readonly last: bigint | null }> {
    const { server, database } = this.deps
    const records = await server.read(
      database,
      {
        text: `MATCH (n) WHERE n.${EXTERNAL_ID} IS NOT NULL AND id(n) > $after RETURN id(n) AS id, labels(n) AS labels, n.${hidden.type} AS type, n.${EXTERNAL_ID} AS key, n.${hidden.id} IS NULL AS isForeign ORDER BY id LIMIT ${KEYS_PER_PAGE}`,
        parameters: { after },
      },
      server.limits.queryTimeMs,
    )
    const foreign: unknown[] = []
    const keys = records.flatMap(({ id, labels, type, key, isForeign }): NodeKey[] => {
      const name = nodeTypeOf(labels as readonly string[], type)
      if (name === null || typeof key !== 'string') return []
      if (isForeign === true) foreign.push(id)
      return [{ type: name, externalId: key }]
    })
    await this.identify(foreign)
    const last = records.length < KEYS_PER_PAGE ? null : (records.at(-1)!.id as bigint)
    return { keys, last }
  }

  /** Gives nodes of other tools an id and times, as a capture does. `at`: their ids in the database. */
  private async identify(at: readonly unknown[]): Promise<void> {
    if (at.length === 0) return
    const nowMs = this.deps.clock.now()
    await this.runInLock(
      `UNWIND $rows AS row MATCH (n) WHERE id(n) = row.at AND n.${hidden.id} IS NULL SET n.${hidden.id} = row.id, n.${hidden.created} = $now, n.${hidden.updated} = $now`,
      { rows: at.map((id) => ({ at: id, id: mintGid(nowMs) })), now: timestamp(nowMs) },
    )
  }

  /** Runs one statement in a transaction that has the lock of the graph. */
  async runInLock(text: string, parameters: Readonly<Record<string, unknown>>): Promise<void> {
    const { server, database } = this.deps
    await server.write(database, async (transaction) => {
      await lockState(transaction)
      await transaction.run(text, parameters)
    })
  }

  /** What the service has noted in the node of the state: a text, or null. */
  async note(name: StateNote): Promise<unknown> {
    const { server, database } = this.deps
    const [record] = await server.read(
      database,
      { text: `MATCH (s:${STATE_LABEL} {key: 'state'}) RETURN s.${name} AS note`, parameters: {} },
      server.limits.queryTimeMs,
    )
    return record?.note ?? null
  }
}

/** An error of the feature, not of the server. */
class FailedChange extends Error {
  override readonly name = 'FailedChange'
  constructor(cause: unknown) {
    super('a change failed', { cause })
  }
}

/** What was done in a transaction before its commit. */
interface WriteAttempt<T> {
  readonly value: T
  readonly mark: CommitMark
  readonly report: PreparedReport | null
}

async function committedValue<T>(attempt: WriteAttempt<T> | null): Promise<T> {
  assert(attempt !== null, 'a transaction is committed after its work')
  await attempt.report?.committed()
  return attempt.value
}

/** What else happens in the transaction of a batch. */
interface BatchHooks {
  /** The transaction has the lock of the graph: other writes have ended. */
  readonly locked?: () => Promise<void>
  /** The changes are written. */
  readonly written?: (transaction: BoltTransaction, batch: RemoteBatch) => Promise<void>
}

/** What a batch has fetched, for its writes and for its view. */
interface BatchElements {
  readonly touched: TouchedElements
  readonly fetched: FetchedGraph
  /** The time of all its changes. */
  readonly nowMs: number
  /** False: the engine executes all queries. */
  readonly usesPushdown: boolean
  /** The queries that the batch runs. */
  readonly executions: ExecutionTimes
}

/** Fetches in a transaction, with the time limit of an execution. */
async function fetchWithin(
  execution: ExecutionTime | null,
  transaction: BoltTransaction,
  fetch: (run: BoltRead) => Promise<void>,
): Promise<void> {
  const leftMs = (): number | undefined =>
    execution === null ? undefined : Math.max(1, execution.deadlineMs - performance.now())
  try {
    await fetch((text, parameters) => transaction.run(text, parameters, leftMs()))
  } catch (error) {
    // The transaction cannot be used any more.
    throw execution !== null && isTimeError(error) ? new FailedChange(error) : error
  }
}

class MissingConstraints extends Error {
  override readonly name = 'MissingConstraints'
  readonly types: readonly string[]
  constructor(types: readonly string[]) {
    super(`constraints are missing: ${types.join(', ')}`)
    this.types = types
  }
}
