// A connection to a server that speaks Bolt, such as Neo4j: reads, transactions, time limits, and what an error means. If the server
// cannot be reached, calls fail at once until a probe succeeds. The driver is loaded with the first call.

import type { BookmarkManager, Driver, ManagedTransaction, QueryResult, RecordShape, Session } from 'neo4j-driver-lite'
import { ExecutionError } from '../engine/errors.ts'
import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import { type Backoff, backoffMs } from '../kernel/time/backoff.ts'
import type { BoltDriver } from './driver-values.ts'
import { mapInSlices } from './slices.ts'

/** Where a server is, and who connects. */
export interface BoltAddress {
  /** Such as `bolt://127.0.0.1:7687` or `neo4j+s://graph.internal`. */
  readonly url: string
  /** Null: the server asks for no credentials. */
  readonly username: string | null
  readonly password: string | null
}

/** Limits of connections. Times in milliseconds. */
export interface BoltLimits {
  /** Connections to one server. */
  readonly connectionsMax: number
  /** Time for opening a connection, and for waiting for a free one. */
  readonly connectTimeMs: number
  /** Time of one query of the service itself, such as a write. */
  readonly queryTimeMs: number
  /** Time in which a write is repeated after a deadlock or a change of the leader. */
  readonly retryTimeMs: number
}

/** The default limits. */
export const defaultBoltLimits: BoltLimits = {
  connectionsMax: 32,
  connectTimeMs: 5_000,
  queryTimeMs: 30_000,
  retryTimeMs: 15_000,
}

/** How a server is used. */
interface BoltServerOptions {
  readonly limits?: BoltLimits
  /** Rejects if the process may not connect to the server. Absent: it may. */
  readonly permit?: (url: string) => Promise<void>
  /** One line for the operator's log. */
  readonly report?: (line: string) => void
}

/** One record of a result, by column. */
export type BoltRecord = Readonly<Record<string, unknown>>

/** A query with its parameters, which are values of the driver. */
interface BoltQuery {
  readonly text: string
  readonly parameters: Readonly<Record<string, unknown>>
}

/** An open transaction. */
export interface BoltTransaction {
  /** `timeMs`: the time limit of the statement, if it is less than that of the transaction. */
  run(text: string, parameters: Readonly<Record<string, unknown>>, timeMs?: number): Promise<readonly BoltRecord[]>
}

/** What an operator sees of a server. */
export interface BoltServerState {
  readonly isReachable: boolean
  /** The last failure to reach it; null: none since the last success. */
  readonly failure: string | null
  readonly queries: number
  readonly failures: number
}

/** Time in which calls fail at once after the server could not be reached. Then one call tries again. */
const CLOSED_MS = 1_000

/** For how long a client is asked to wait. */
const RETRY_AFTER_S = 2

/** Records that a server sends before it is asked for more: those of large nodes are decoded in a few milliseconds. */
const RECORDS_PER_BATCH = 100
/** The longest delay before a write is repeated, because others wrote the same. */
const writeRetryDelay: Backoff = { minMs: 20, maxMs: 1280 }

/** A transaction whose commit may or may not have happened. */
export class CommitUnknownError extends Error {
  override readonly name = 'CommitUnknownError'
}

/** A statement of a transaction failed because of its text or a value, and has ended the transaction. */
export class FailedStatementError extends Error {
  override readonly name = 'FailedStatementError'
}

/** The query is not one that this server accepts. */
export class RefusedQueryError extends Error {
  override readonly name = 'RefusedQueryError'
}

/** Loads the driver, which takes some 70 ms of the event loop. */
export async function loadBoltDriver(): Promise<BoltDriver> {
  return (await import('neo4j-driver-lite')).default
}

/** A server. */
export class BoltServer {
  readonly address: BoltAddress
  readonly limits: BoltLimits
  /** Rejects if the process may not connect to the server. */
  private readonly permit: (url: string) => Promise<void>
  private readonly report: (line: string) => void
  private opening: Promise<{ readonly driver: Driver; readonly module: BoltDriver }> | null = null
  private bookmarks: BookmarkManager | null = null
  private failure: string | null = null
  private closedUntilMs = 0
  private queries = 0
  private failures = 0
  private isClosed = false
  private users = 0
  private isRetired = false

  constructor(address: BoltAddress, { limits, permit, report }: BoltServerOptions = {}) {
    this.address = address
    this.limits = limits ?? defaultBoltLimits
    this.permit = permit ?? (() => Promise.resolve())
    this.report = report ?? (() => undefined)
  }

  get state(): BoltServerState {
    const { failure, queries, failures } = this
    return { isReachable: failure === null, failure, queries, failures }
  }

  private open(): Promise<{ readonly driver: Driver; readonly module: BoltDriver }> {
    this.opening ??= this.connect().catch((error: unknown) => {
      this.opening = null
      this.lost(error as Error)
      throw unreachable((error as Error).message)
    })
    return this.opening
  }

  private async connect(): Promise<{ readonly driver: Driver; readonly module: BoltDriver }> {
    await this.permit(this.address.url)
    const module = await loadBoltDriver()
    const { url, username, password } = this.address
    const { connectionsMax, connectTimeMs } = this.limits
    const auth = {
      scheme: username === null ? 'none' : 'basic',
      principal: username ?? '',
      credentials: password ?? '',
    }
    const driver = module.driver(url, auth, {
      useBigInt: true,
      maxConnectionPoolSize: connectionsMax,
      connectionAcquisitionTimeout: connectTimeMs,
      connectionTimeout: connectTimeMs,
      // Writes are repeated by `write`, which knows whether they were committed.
      maxTransactionRetryTime: 0,
      // The driver decodes the records of one batch at once.
      fetchSize: RECORDS_PER_BATCH,
      // Idle connections are tested before use: a firewall may have dropped them.
      connectionLivenessCheckTimeout: 10_000,
      userAgent: 'verdigraph',
    })
    this.bookmarks = module.bookmarkManager()
    return { driver, module }
  }

  /** Keeps the connections of a retired server until the returned function is called. */
  hold(): () => void {
    this.users += 1
    let isHeld = true
    return () => {
      if (isHeld) this.users -= 1
      isHeld = false
      this.closeUnused()
    }
  }

  /** No project uses the server any more: its connections are closed when the running work has ended. */
  retire(): void {
    this.isRetired = true
    this.closeUnused()
  }

  /** What was begun before may still connect again. */
  private closeUnused(): void {
    if (!this.isRetired || this.users > 0 || this.opening === null) return
    const { opening } = this
    this.opening = null
    opening.then(({ driver }) => driver.close()).catch(() => undefined)
  }

  /** The module of the driver, loaded. */
  async module(): Promise<BoltDriver> {
    return (await this.open()).module
  }

  /** Throws ThrownServiceError `unavailable` if the server could not be reached just now, except for one call that tries again. */
  private refuseWhileClosed(): void {
    if (this.isClosed) throw unreachable()
    if (this.failure === null) return
    const now = performance.now()
    if (now < this.closedUntilMs) throw unreachable()
    // This call is the probe; others fail until it has an answer.
    this.closedUntilMs = now + CLOSED_MS
  }

  private async session(database: string | null, isRead: boolean): Promise<Session> {
    const { driver } = await this.open()
    return driver.session({
      // A follower of a cluster may lack what another process of this service has just written.
      defaultAccessMode: isRead && !this.address.url.startsWith('neo4j') ? 'READ' : 'WRITE',
      ...(database === null ? {} : { database }),
      ...(this.bookmarks === null ? {} : { bookmarkManager: this.bookmarks }),
    })
  }

  /**
   * Runs one query that reads, with a time limit. Rejects with ExecutionError for an error of the query or its time, with
   * RefusedQueryError if the server does not accept its text, with ThrownServiceError `unavailable` if the server cannot be reached.
   */
  read(database: string | null, query: BoltQuery, timeMs: number): Promise<readonly BoltRecord[]> {
    return this.single(database, query, timeMs, true)
  }

  /**
   * As `read`, with a query that writes and may run twice. The server commits it without waiting for this process, so that a process
   * that is paused locks nothing.
   */
  writeAlone(database: string | null, query: BoltQuery, timeMs: number): Promise<readonly BoltRecord[]> {
    return this.single(database, query, timeMs, false)
  }

  private async single(
    database: string | null,
    query: BoltQuery,
    timeMs: number,
    isRead: boolean,
  ): Promise<readonly BoltRecord[]> {
    const release = this.hold()
    try {
      return await this.singleHeld(database, query, timeMs, isRead)
    } finally {
      release()
    }
  }

  private async singleHeld(
    database: string | null,
    { text, parameters }: BoltQuery,
    timeMs: number,
    isRead: boolean,
  ): Promise<readonly BoltRecord[]> {
    this.refuseWhileClosed()
    for (let attempt = 0; ; attempt++) {
      const session = await this.session(database, isRead)
      try {
        const result = session.run(text, parameters, { timeout: Math.max(1, Math.ceil(timeMs)) })
        return await this.succeeded(await withinTime(result, timeMs))
      } catch (error) {
        // A pooled connection may have been lost since its last use; the query can be repeated.
        const isLost = isDriverError(error) && isConnectionError(error)
        if (!isLost || attempt > 0) throw this.failed(error, timeMs)
      } finally {
        void session.close().catch(() => undefined)
      }
    }
  }

  private succeeded<R extends RecordShape>({ records }: QueryResult<R>): Promise<readonly BoltRecord[]> {
    this.queries += 1
    this.reached()
    return mapInSlices(records, (record) => record.toObject())
  }

  /**
   * Runs `work` in one transaction and commits it; again after a deadlock or a change of the leader, until the time limit, so `work` may
   * run several times. Rejects as `read`, with FailedStatementError if a statement failed because of its text or a value, and with
   * CommitUnknownError if the connection was lost during the commit: the caller has to find out. `timeMs`: the time limit of the
   * transaction, absent: that of the server.
   */
  async write<T>(
    database: string | null,
    work: (transaction: BoltTransaction) => Promise<T>,
    timeMs = this.limits.queryTimeMs,
  ): Promise<T> {
    const release = this.hold()
    try {
      return await this.writeHeld(database, work, timeMs)
    } finally {
      release()
    }
  }

  private async writeHeld<T>(
    database: string | null,
    work: (transaction: BoltTransaction) => Promise<T>,
    timeMs: number,
  ): Promise<T> {
    this.refuseWhileClosed()
    const { retryTimeMs } = this.limits
    const giveUpMs = performance.now() + retryTimeMs
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.writeOnce(database, work, timeMs)
      } catch (error) {
        if (error instanceof CommitUnknownError) throw error
        const isTransient = isDriverError(error) && error.retriable === true && !isConnectionError(error)
        if (!isTransient || performance.now() > giveUpMs) throw this.failed(error, timeMs)
        await new Promise((resolve) => setTimeout(resolve, Math.random() * backoffMs(writeRetryDelay, attempt + 1)))
      }
    }
  }

  private async writeOnce<T>(
    database: string | null,
    work: (transaction: BoltTransaction) => Promise<T>,
    timeMs: number,
  ): Promise<T> {
    const session = await this.session(database, false)
    try {
      const transaction = await withinTime(session.beginTransaction({ timeout: timeMs }), timeMs)
      let isCommitting = false
      try {
        const run: BoltTransaction['run'] = async (text, parameters, statementMs = timeMs) => {
          const result = (transaction as unknown as ManagedTransaction).run(text, parameters)
          return await this.succeeded(await withinTime(result, Math.min(timeMs, statementMs)))
        }
        const value = await work({ run })
        isCommitting = true
        await withinTime(transaction.commit(), timeMs)
        this.reached()
        return value
      } catch (error) {
        // Only an error of the client tells that nothing was committed.
        const isRefused =
          isDriverError(error) && (error.code.startsWith('Neo.ClientError.') || error.retriable === true)
        if (isCommitting && (!isRefused || isConnectionError(error as DriverError))) {
          if (isDriverError(error) && isConnectionError(error)) this.lost(error)
          throw new CommitUnknownError((error as Error).message)
        }
        // An error of the server has ended the transaction already.
        await withinTime(transaction.rollback(), this.limits.connectTimeMs).catch(() => undefined)
        const isStatement = isDriverError(error) && /^Neo\.ClientError\.(Statement|Procedure)\./.test(error.code)
        throw isStatement ? new FailedStatementError((error as Error).message) : error
      }
    } finally {
      void session.close().catch(() => undefined)
    }
  }

  private reached(): void {
    if (this.failure === null) return
    this.failure = null
    this.report(`the database server ${this.address.url} is reachable again`)
  }

  private lost(error: Error): void {
    this.failures += 1
    if (this.failure === null)
      this.report(`the database server ${this.address.url} cannot be reached: ${error.message}`)
    this.failure = error.message
    this.closedUntilMs = performance.now() + CLOSED_MS
  }

  /** The error for the callers. */
  private failed(error: unknown, timeMs: number): unknown {
    if (!isDriverError(error)) return error
    this.queries += 1
    // A database that does not exist, or a refused login, is a fault of one project: the server answers.
    if (isRefusedLogin(error)) return unreachable(error.message)
    if (isConnectionError(error)) {
      this.lost(error)
      return unreachable(error.message)
    }
    return executionError(error, timeMs)
  }

  /**
   * The error for the callers of a call that has failed: `unavailable` in place of a time error if the server does not answer a query
   * that needs no time either, in the time for opening a connection.
   */
  async lateError(error: unknown, database: string | null): Promise<unknown> {
    if (!isTimeError(error)) return error
    const probe = { text: 'RETURN 1 AS one', parameters: {} }
    try {
      await this.read(database, probe, this.limits.connectTimeMs)
      return error
    } catch (failure) {
      if (!isTimeError(failure)) return failure
      const { message } = failure as Error
      this.lost(new Error(`it does not answer: ${message}`))
      return unreachable(message)
    }
  }

  /** Checks that the server answers. Rejects with OperationalError, whose message is for the operator. */
  async probe(database: string | null): Promise<void> {
    try {
      await this.read(database, { text: 'RETURN 1 AS one', parameters: {} }, this.limits.queryTimeMs)
    } catch (error) {
      throw new OperationalError(`${this.address.url}: ${this.failure ?? (error as Error).message}`)
    }
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    this.isClosed = true
    const opened = await this.opening?.catch(() => null)
    await opened?.driver.close()
  }
}

/** The server looks at its clock once in some seconds only. Closing the session then ends the query. */
async function withinTime<T>(result: PromiseLike<T>, timeMs: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(timeError(timeMs)), timeMs)
  try {
    return await Promise.race([result, promise])
  } finally {
    clearTimeout(timer)
  }
}

function timeError(timeMs: number): ExecutionError {
  return new ExecutionError('budget', `the time limit of ${Math.ceil(timeMs)} ms is reached`, 'decisionTimeMs')
}

/** Whether a call ended at its time limit. */
export function isTimeError(error: unknown): boolean {
  return error instanceof ExecutionError && error.code === 'budget' && error.subject === 'decisionTimeMs'
}

interface DriverError extends Error {
  readonly code: string
  /** Set by the driver. */
  readonly retriable?: boolean
}

function isDriverError(error: unknown): error is DriverError {
  return error instanceof Error && error.name === 'Neo4jError'
}

function isConnectionError({ code }: DriverError): boolean {
  return code === 'ServiceUnavailable' || code === 'SessionExpired' || code === 'N/A' || /^E[A-Z]+$/.test(code)
}

function isRefusedLogin({ code }: DriverError): boolean {
  return code.startsWith('Neo.ClientError.Security.') || code === 'Neo.ClientError.Database.DatabaseNotFound'
}

function unreachable(detail?: string): ThrownServiceError {
  const error = new ThrownServiceError({
    kind: 'unavailable',
    message: 'the graph database of this project cannot be reached',
    retryAfterS: RETRY_AFTER_S,
  })
  if (detail !== undefined) error.message = `the graph database cannot be reached: ${detail}`
  return error
}

const executionCodes: Readonly<Record<string, 'type' | 'argument' | 'arithmetic' | 'entity'>> = {
  TypeError: 'type',
  ArgumentError: 'argument',
  ArithmeticError: 'arithmetic',
  EntityNotFound: 'entity',
}

function executionError({ code, message }: DriverError, timeMs: number): Error {
  if (/\.Transaction\w*TimedOut|\.TransactionTerminated|LockClientStopped/.test(code)) {
    return timeError(timeMs)
  }
  if (/OutOfMemory/.test(code)) {
    return new ExecutionError('budget', 'the memory limit of the graph database is reached', 'bytesHeldMax')
  }
  const title = code.split('.').at(-1) ?? ''
  if (title === 'SyntaxError' || title === 'SemanticError') return new RefusedQueryError(message)
  if (title === 'ConstraintValidationFailed') {
    return new ThrownServiceError({
      kind: 'conflict',
      message: 'another node has the same external id and the type as a label, which the graph database does not allow',
    })
  }
  return new ExecutionError(
    executionCodes[title] ?? 'argument',
    message,
    null,
    null,
    `the graph database refused a value: ${title}`,
  )
}
