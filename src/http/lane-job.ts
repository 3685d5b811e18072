// What the dispatcher hands to a lane, and the port that runs it.
import type { HttpResponse } from './route.ts'

/** A request as it goes over to another process. */
export interface ForwardedRequestHead {
  readonly method: string
  /** Decoded, without query. */
  readonly path: string
  readonly query: string
  readonly headers: readonly (readonly [string, string])[]
  readonly requestId: string
}

export interface LaneJob {
  /** Whose share of the lanes it uses. */
  readonly project: string
  readonly agent: string
  /** For logs: the method and the pattern of the path. */
  readonly label: string
  /** How long it may run, milliseconds. */
  readonly limitMs: number
  /** Running it twice has the effect of running it once. */
  readonly isRepeatable: boolean
  /** A write, which may run beside other writes of its project: they share commits. */
  readonly isSharedWrite: boolean
  /** Null: no body. */
  readonly body: Uint8Array | null
  /** Aborted when the client leaves; absent where that cannot be known. */
  readonly signal?: AbortSignal | undefined
  head(): ForwardedRequestHead
}

export interface LaneRunner {
  /** Rejects with ServiceFault. */
  run(job: LaneJob): Promise<HttpResponse>
}
