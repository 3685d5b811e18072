// Decides which requests leave the event loop, and hands them to a lane (docs/decisions/0018-lanes.md).
import { ThrownServiceError } from '../kernel/errors.ts'
import type { LaneRequiredError } from '../kernel/request/lane-required.ts'
import type { ActiveSpan, Tracing } from '../kernel/request/tracing.ts'
import { EventLoopBudget } from './event-loop-budget.ts'
import type { Exchange } from './exchange.ts'
import type { LaneJob, LaneRunner } from './lane-job.ts'
import type { HttpResponse, LaneLimit, LaneUse, Route } from './route.ts'

/** A larger body is parsed in a lane, because parsing could block the event loop for more than a millisecond. */
const INLINE_BODY_BYTES = 32 * 1024

/** The default of a route without `lane`: its requests only read, and have the time limit of a decision in a lane. */
const defaultUse: LaneUse = { limit: 'decision' }

/** The lanes of a process, as the dispatcher uses them. */
export interface LaneDispatch {
  readonly pool: LaneRunner
  /** Time limits, milliseconds. */
  readonly limits: Readonly<Record<LaneLimit, number>>
  /** False: a request moves to a lane only after the event loop found it too large, even if its route has `always`. */
  readonly assignBeforeRun: boolean
}

/** Assigns requests to lanes. */
export class LaneAssignment {
  private readonly lanes: LaneDispatch
  private readonly tracing: Tracing | null
  private readonly budget = new EventLoopBudget()

  /** `tracing`: null if requests are not traced. */
  constructor(lanes: LaneDispatch, tracing: Tracing | null) {
    this.lanes = lanes
    this.tracing = tracing
  }

  /** Returns whether a request must run in a lane. Called before its handler; charges the budget of the event loop. */
  runsInLane(exchange: Exchange, route: Route, bodyBytes: number): boolean {
    if (!this.lanes.assignBeforeRun || route.lane === undefined) return false
    if (bodyBytes > INLINE_BODY_BYTES || route.lane.always === true) return true
    return !this.budget.tryCharge(exchange.projectName, exchange.callerName, bodyBytes, exchange.bodyReadMs)
  }

  /**
   * Runs a request in a lane from its beginning. Rejects with ThrownServiceError.
   * @param cause What the event loop found to be too large; null: the request was assigned before it ran.
   */
  run(exchange: Exchange, route: Route, cause: LaneRequiredError | null): Promise<HttpResponse> {
    const { request, requestId } = exchange
    const { limit, writes, waits = false, isTest = false } = route.lane ?? defaultUse
    const spans = this.tracing === null ? null : new LaneSpans(this.tracing)
    const job: LaneJob = {
      project: exchange.projectName,
      // Tests that wait for other tests must not delay the other requests of their caller.
      agent: isTest ? `${exchange.callerName} tests` : exchange.callerName,
      label: `${route.method} ${route.path}`,
      limitMs: cause?.limitMs ?? this.lanes.limits[limit],
      isRepeatable: cause?.isWrite === undefined ? writes !== 'once' : !cause.isWrite,
      isSharedWrite: limit === 'write' && !waits,
      isWaiting: waits,
      isTest,
      body: exchange.bytes,
      signal: request.signal,
      ...(spans !== null && {
        onStart: (lane) => {
          exchange.lane = `lane-${lane}`
          spans.start(exchange.lane)
        },
      }),
      head: () => ({
        method: request.method,
        path: request.path,
        query: request.query,
        headers: spans === null ? [...request.headers()] : spans.continuedBy(request.headers()),
        requestId,
        address: exchange.address,
        introspected: exchange.introspected,
      }),
    }
    if (spans === null) return this.lanes.pool.run(job)
    return spans.endWith(this.lanes.pool.run(job))
  }
}

/** The spans of a request in the queue and in a lane. */
class LaneSpans {
  private readonly tracing: Tracing
  private waiting: ActiveSpan | null
  private running: ActiveSpan | null = null

  constructor(tracing: Tracing) {
    this.tracing = tracing
    this.waiting = tracing.start('lane wait', 'internal', {})
  }

  /** A lane takes the request. */
  start(lane: string): void {
    this.waiting?.end(null)
    this.waiting = null
    // The lane that ran it before was killed for another request, or it crashed.
    this.running?.end('lane exited')
    this.running = this.tracing.start('lane run', 'internal', { 'verdigraph.lane': lane })
  }

  /** The headers of the request, so that its span in the lane is a child of the one here. */
  continuedBy(headers: Iterable<readonly [string, string]>): (readonly [string, string])[] {
    const own = this.running?.headers ?? []
    return [...[...headers].filter(([name]) => name !== 'traceparent' && name !== 'tracestate'), ...own]
  }

  async endWith(response: Promise<HttpResponse>): Promise<HttpResponse> {
    try {
      const answered = await response
      this.end(null)
      return answered
    } catch (error) {
      this.end(error instanceof ThrownServiceError ? error.error.kind : 'internal')
      throw error
    }
  }

  private end(error: string | null): void {
    this.waiting?.end(error)
    this.running?.end(error)
  }
}
