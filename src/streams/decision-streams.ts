// Streams of decisions: each client receives the lines of the decision log of its project as they are written by any process. The log
// file is followed, so a stream delays no decision, has the same lines as the log, and is sampled as the log is. Lines that a slow client
// does not read are dropped and counted.
import { statSync } from 'node:fs'
import type { ServiceError } from '../kernel/errors.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { ClientStream } from '../kernel/request/client-stream.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { findLine, LogFollower } from '../ops/log-follower.ts'
import type {
  DecisionLogReads,
  DecisionStreamFilter,
  DecisionStreamRequest,
  LoggedDecision,
} from '../pdp/decision-stream-schema.ts'

/** Open decision streams of a process. */
const STREAMS_MAX = 64
/** Those of one project, so that it leaves some to the others. */
const PROJECT_STREAMS_MAX = 16
/** Characters that a client has not read. */
const UNREAD_CHARACTERS_MAX = 512 * 1024
const TICK_MS = 100
/** Ticks after which credentials are checked while there are no lines. */
const CHECK_TICKS = 10
/** Lines are written some milliseconds after the answer. */
const WRITTEN_AFTER_MS = 100

/** Options of decision streams. */
interface DecisionStreamOptions {
  /** Path of the decision log; null: it is off. */
  readonly path: string | null
  /** Percentage of the calls that are in the log. */
  readonly percent: number
  /** Interval of keep-alive comments, milliseconds. */
  readonly keepAliveMs: number
  /** Called with an unexpected error, for the log. */
  onInternalError(error: unknown): void
}

class LoggedDecisionStream extends ClientStream {
  readonly request: DecisionStreamRequest
  private text: string
  private skippedBytes = 0

  constructor(request: DecisionStreamRequest, first: string, onLeft: () => void) {
    super(onLeft)
    this.request = request
    this.text = first
  }

  push(line: string): void {
    if (this.text.length + line.length > UNREAD_CHARACTERS_MAX) this.skip(line.length)
    else this.text += `event: decision\ndata: ${line}\n\n`
    this.flush()
  }

  skip(bytes: number): void {
    this.skippedBytes += bytes
    this.flush()
  }

  protected override take(): string {
    const skipped = this.skippedBytes === 0 ? '' : `event: skipped\ndata: {"bytes":${this.skippedBytes}}\n\n`
    const text = `${this.text}${skipped}`
    this.text = ''
    this.skippedBytes = 0
    return text
  }
}

/** The decision streams of a process. */
export class DecisionStreams implements DecisionLogReads {
  private readonly options: DecisionStreamOptions
  private readonly streams = new Set<LoggedDecisionStream>()
  private readonly quietTicksMax: number
  private reader: LogFollower | null = null
  private ticker: ReturnType<typeof setInterval> | null = null
  private ticks = 0
  private isReading = false
  private isClosed = false

  constructor(options: DecisionStreamOptions) {
    this.options = options
    this.quietTicksMax = Math.max(1, Math.floor(options.keepAliveMs / TICK_MS))
  }

  streamError(projectId: string): ServiceError | null {
    const unreadable = this.logError()
    if (unreadable !== null) return unreadable
    if (this.isClosed) return { kind: 'unavailable', message: 'the server is stopping' }
    const inProject = [...this.streams].filter(({ request }) => request.caller.projectId === projectId).length
    if (this.streams.size < STREAMS_MAX && inProject < PROJECT_STREAMS_MAX) return null
    return { kind: 'unavailable', message: 'the limit of decision streams is reached', retryAfterS: 30 }
  }

  stream(request: DecisionStreamRequest): Result<AsyncIterator<string, void>, ServiceError> {
    const error = this.streamError(request.caller.projectId)
    if (error !== null) return err(error)
    this.reader ??= new LogFollower(this.options.path ?? '')
    const hello = `event: hello\ndata: ${JSON.stringify({ sample_percent: this.options.percent })}\n\n`
    const stream = new LoggedDecisionStream(request, hello, () => this.remove(stream))
    this.streams.add(stream)
    this.ticker ??= setInterval(() => void this.tick(), TICK_MS)
    this.ticker.unref()
    return ok(stream)
  }

  async find(projectId: string, id: string): Promise<Result<string, ServiceError>> {
    const unreadable = this.logError()
    if (unreadable !== null) return err(unreadable)
    const { path, percent } = this.options
    for (const waitMs of [0, WRITTEN_AFTER_MS]) {
      await Bun.sleep(waitMs)
      const line = await findLine(path ?? '', JSON.stringify(id), (text) => {
        const read = readLine(text)
        return read?.id === id && read.project_id === projectId
      })
      if (line !== null) return ok(line)
    }
    const sample = percent < 100 ? `; it has ${percent} % of the calls (setting decision_log_pct)` : ''
    return err({ kind: 'not-found', message: `the decision log has no line with the id ${id}${sample}` })
  }

  /** Ends all streams. */
  endAll(): void {
    for (const stream of [...this.streams]) this.end(stream)
  }

  /** Ends all streams and opens no more. */
  close(): void {
    this.isClosed = true
    this.endAll()
  }

  private logError(): ServiceError | null {
    const { path } = this.options
    if (path === null) return { kind: 'conflict', message: 'the decision log is off (setting decision_log)' }
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return null
    return { kind: 'conflict', message: 'the decision log is not a regular file (setting decision_log)' }
  }

  private async tick(): Promise<void> {
    if (this.isReading || this.reader === null) return
    this.isReading = true
    this.ticks += 1
    const { reader } = this
    try {
      const { lines, skippedBytes } = await reader.next()
      if (skippedBytes > 0) for (const stream of this.streams) stream.skip(skippedBytes)
      // No line is sent to a client whose credentials or permission are gone since the last one.
      if (lines.length > 0) await Promise.all([...this.streams].map((stream) => this.endUnlessAllowed(stream)))
      for (const line of lines) this.send(line)
      for (const stream of this.streams) this.keepAlive(stream)
    } catch (error) {
      this.endAll()
      this.options.onInternalError(error)
    } finally {
      this.isReading = false
      if (this.streams.size === 0) this.stop()
    }
  }

  private send(line: string): void {
    let read: LoggedDecision | null | undefined
    for (const stream of this.streams) {
      const { caller, filter } = stream.request
      // Most lines are of other projects: a search of text takes less than parsing.
      if (!line.includes(caller.projectId)) continue
      read ??= readLine(line)
      if (read?.project_id === caller.projectId && isAccepted(filter, read)) stream.push(line)
    }
  }

  private keepAlive(stream: LoggedDecisionStream): void {
    if (this.ticks % CHECK_TICKS === 0) void this.endUnlessAllowed(stream)
    if (!stream.tick(this.quietTicksMax, () => ': keep-alive\n\n')) this.end(stream)
  }

  private async endUnlessAllowed(stream: LoggedDecisionStream): Promise<void> {
    const isAllowed = await stream.request.isStillAllowed().catch(() => false)
    if (!isAllowed) this.end(stream)
  }

  private end(stream: LoggedDecisionStream): void {
    stream.end()
    this.remove(stream)
  }

  private remove(stream: LoggedDecisionStream): void {
    this.streams.delete(stream)
    if (this.streams.size === 0 && !this.isReading) this.stop()
  }

  private stop(): void {
    if (this.ticker !== null) clearInterval(this.ticker)
    this.ticker = null
    this.reader?.close()
    this.reader = null
  }
}

function readLine(line: string): LoggedDecision | null {
  try {
    const read: unknown = JSON.parse(line)
    return isJsonObject(read) ? (read as unknown as LoggedDecision) : null
  } catch {
    // Incomplete, after a full disk.
    return null
  }
}

function isAccepted({ decision, subject, action, resource }: DecisionStreamFilter, line: LoggedDecision): boolean {
  if (decision === 'granted' && line.decision !== true) return false
  if (decision === 'denied' && (line.kind !== 'evaluation' || line.decision === true)) return false
  if (action !== undefined && line.action !== action) return false
  return isEntity(subject, line.subject) && isEntity(resource, line.resource)
}

function isEntity(wanted: string | undefined, entity: LoggedDecision['subject']): boolean {
  if (wanted === undefined) return true
  if (entity === undefined) return false
  return wanted === entity.type || wanted === `${entity.type}:${entity.id ?? ''}`
}
