// The port between the dispatcher and the lanes: a request to run in another process. lanes/lane-pool.ts implements it.
import type { HttpResponse } from './route.ts'

/** The head of a request as it is sent to another process. */
export interface ForwardedRequestHead {
  readonly method: string
  /** Decoded, without query. */
  readonly path: string
  readonly query: string
  readonly headers: readonly (readonly [string, string])[]
  readonly requestId: string
  /** IP address of the client; empty: unknown. */
  readonly address: string
  /** See `HttpRequest.introspected`. */
  readonly introspected: readonly string[]
}

/** A request to run in a lane. */
export interface LaneJob {
  /** The project that is charged for the lane, or the organization for configuration. */
  readonly project: string
  readonly agent: string
  /** Method and path template, for logs. */
  readonly label: string
  /** Time limit, milliseconds. */
  readonly limitMs: number
  /** Running it twice has the same effect as running it once. */
  readonly isRepeatable: boolean
  /** A write that may run concurrently with other writes of its project in one lane: they share commits. */
  readonly isSharedWrite: boolean
  /** It waits for other services, and leaves its lane to other requests. */
  readonly isWaiting: boolean
  /** See `LaneUse.isTest`. */
  readonly isTest: boolean
  /** Null: no body. */
  readonly body: Uint8Array | null
  /** Aborted when the client disconnects; absent if that cannot be detected. */
  readonly signal?: AbortSignal | undefined
  head(): ForwardedRequestHead
  /** Called when a lane takes the request, before `head`: again if another lane repeats it. `lane`: its number. */
  onStart?(lane: number): void
}

/** Runs requests in lanes. */
export interface LaneRunner {
  /** Runs the request in a lane. Rejects with ThrownServiceError: `unavailable` or `timed-out`. */
  run(job: LaneJob): Promise<HttpResponse>
}
