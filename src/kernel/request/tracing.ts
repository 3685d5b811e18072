// The port for recording spans (docs/decisions/0058-observability.md). Where it is optional, null means that tracing is off.
import type { RequestTrace } from './request-trace.ts'

/** The attributes of a span. Undefined values are left out. They must contain no secret and no id of a person. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** A span that was started. */
export interface ActiveSpan extends RequestTrace {
  /** The headers by which another service or process continues the trace. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Ends the span; further calls have no effect. `error`: a short name of what failed; null: nothing. */
  end(error: string | null, attributes?: SpanAttributes): void
}

/** Records spans. */
export interface Tracing {
  /**
   * Starts the span of a request, and runs `run` within it: what `run` starts, also later, belongs to it. `header`: a header of the
   * request, which may name a parent.
   */
  serve<T>(
    name: string,
    attributes: SpanAttributes,
    header: (name: string) => string | null,
    run: (span: ActiveSpan) => T,
  ): T
  /** Starts a part of the current request; null: no request is in progress. `client`: a call of another service. */
  start(name: string, kind: 'internal' | 'client', attributes: SpanAttributes): ActiveSpan | null
  /**
   * Adds a part of the current request that has ended, if spans of the request are recorded. `startMs`, `endMs`: of
   * `performance.now()`.
   */
  add(name: string, startMs: number, endMs: number, attributes: () => SpanAttributes, error: string | null): void
}
