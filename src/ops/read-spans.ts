// Records read transactions as spans.
import type { SpanAttributes, Tracing } from '../kernel/request/tracing.ts'

/** Adds a span for each read transaction on a graph: from the opening of the snapshot until it is closed. */
export function createReadSpans(tracing: Tracing): () => () => void {
  return () => {
    const startMs = performance.now()
    return () => tracing.add('store read', startMs, performance.now(), noAttributes, null)
  }
}

const noAttributes = (): SpanAttributes => ({})
