// Decides which requests leave the event loop, and hands them to a lane (docs/decisions/0018-lanes.md).
import type { LaneRequiredError } from '../kernel/lane-required.ts'
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
  private readonly budget = new EventLoopBudget()

  constructor(lanes: LaneDispatch) {
    this.lanes = lanes
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
    const { limit, writes, waits = false } = route.lane ?? defaultUse
    const job: LaneJob = {
      project: exchange.projectName,
      agent: exchange.callerName,
      label: `${route.method} ${route.path}`,
      limitMs: cause?.limitMs ?? this.lanes.limits[limit],
      isRepeatable: cause?.isWrite === undefined ? writes !== 'once' : !cause.isWrite,
      isSharedWrite: limit === 'write' && !waits,
      isWaiting: waits,
      body: exchange.bytes,
      signal: request.signal,
      head: () => ({
        method: request.method,
        path: request.path,
        query: request.query,
        headers: [...request.headers()],
        requestId,
        address: exchange.address,
        introspected: exchange.introspected,
      }),
    }
    return this.lanes.pool.run(job)
  }
}
