// The request that causes an event. It is passed from the server to the functions that record events, in place of its parts. For a
// request over HTTP it is the exchange (http/exchange.ts).
import type { RequestTrace } from './request-trace.ts'

/** A request, as events describe it. Do not keep it longer than the request: it refers to the request's body. */
export interface RequestOrigin {
  /** The X-Request-ID of the call; empty: it has none. */
  readonly requestId: string
  /** The IP address of the client; empty: unknown. Read it only to record an event, and before the answer: it costs 0.4 µs. */
  readonly address: string
  /** The path template of its route; absent: it is no HTTP request. */
  readonly route?: string
  /** The trace of the request; absent or null: it is not traced. */
  readonly trace?: RequestTrace | null
  /** Call it when the request has an event of its own type: it then needs no general one. */
  noteEvent(): void
  /**
   * Call it before a transaction with an event of the request commits: from then on the request must not run again without its
   * caller, because it would be recorded twice.
   */
  noteCommit(): void
  /**
   * Call it when a token of the request was verified. `token`: names the token, without a part of it. Returns false if that was
   * reported already: a request that moves to a lane is authenticated again there.
   */
  noteIntrospection(token: string): boolean
}

/** The origin of an event that no request causes. */
export const noOrigin: RequestOrigin = {
  requestId: '',
  address: '',
  noteEvent: () => undefined,
  noteCommit: () => undefined,
  noteIntrospection: () => true,
}
