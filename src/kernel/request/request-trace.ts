// The trace to which a request belongs (W3C Trace Context), as the parts of the service see it that do not record spans.

/** The span of a request. */
export interface RequestTrace {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** The value of the header `traceparent` for what the request causes. */
  readonly traceparent: string
  /** The value of the header `tracestate`; empty: the request has no such header. */
  readonly tracestate: string
  /** False: no span of the trace is recorded here. */
  readonly isSampled: boolean
}

/** The id of the trace for the exemplar of a metric; null: there is no trace that can be looked up. */
export function exemplarOf(trace: RequestTrace | null | undefined): string | null {
  return trace?.isSampled ? trace.traceId : null
}

/** The trace of the request that caused an event: the values of the headers of W3C Trace Context. */
export type RecordedTrace = readonly [traceparent: string, tracestate?: string]

/** The member `trace` of what a request causes; nothing if the request is not traced. */
export function tracedBy({ trace }: { readonly trace?: RequestTrace | null }): { readonly trace?: RecordedTrace } {
  if (trace == null) return untraced
  const { traceparent, tracestate } = trace
  return { trace: tracestate === '' ? [traceparent] : [traceparent, tracestate] }
}

const untraced = {}
