// Connects tracing to the settings, the metrics and the features: what is a span, and what it may contain.

import type { SpanAttributes, Tracing } from '../kernel/request/tracing.ts'
import { parsePairs } from '../kernel/text/pairs.ts'
import type { Log } from '../ops/log.ts'
import { createLogThrottle } from '../ops/log-throttle.ts'
import type { ServiceMetrics } from '../ops/service-metrics.ts'
import type { OpenTracing } from '../ops/tracing.ts'
import type { DecisionDeps, DecisionEvent } from '../pdp/decision-deps.ts'
import type { ParameterMask } from '../pdp/parameter-mask.ts'
import { policiesDecided } from '../pdp/policy-status.ts'
import type { Settings } from '../settings.ts'
import type { Upstream } from '../upstream/client.ts'

/** The process that records spans. */
interface TracedProcess {
  readonly version: string
  /** Its number among the workers and lanes; null: it is the only process. */
  readonly number: number | null
  readonly isLane: boolean
  readonly metrics: ServiceMetrics
  readonly log: Log
}

/** A collector that does not accept spans is logged once in this time, milliseconds. */
const REPORT_INTERVAL_MS = 60_000

/** Starts tracing if the settings have an endpoint; null: requests are not traced, and the SDK is not loaded. */
export async function openServiceTracing(settings: Settings, process: TracedProcess): Promise<OpenTracing | null> {
  const url = tracesUrl(settings)
  if (url === null) return null
  const { openTracing } = await import('../ops/tracing.ts')
  const { metrics, log, isLane, number, version } = process
  const throttle = createLogThrottle(REPORT_INTERVAL_MS, () => Date.now())
  return openTracing({
    url,
    headers: parsePairs(settings.otlpHeaders) ?? {},
    timeoutMs: settings.otlpTimeoutMs,
    sampler: settings.tracesSampler,
    ratio: settings.tracesSamplerShare,
    resource: {
      ...parsePairs(settings.otelResource),
      'service.name': settings.otelServiceName,
      'service.version': version,
      'service.instance.id': `${isLane ? 'lane' : 'process'}-${number ?? 0}-${globalThis.process.pid}`,
    },
    version,
    isLane,
    queueMax: settings.spanQueueMax,
    batchMax: settings.spanBatchMax,
    delayMs: settings.spanDelayMs,
    count: metrics.spans,
    report(reason) {
      const times = throttle(url)
      if (times > 0) log({ level: 'error', message: 'spans could not be sent', url, reason, times })
    },
  })
}

/** The URL that spans are sent to; null: none. */
function tracesUrl(settings: Settings): string | null {
  if (settings.tracesDisabled === 'true' || settings.tracesExporter === 'none') return null
  if (settings.otlpTracesEndpoint !== '') return settings.otlpTracesEndpoint
  return settings.otlpEndpoint === '' ? null : `${settings.otlpEndpoint}/v1/traces`
}

/** A client whose calls are spans and continue the trace. `purpose`: what is called. */
export function tracedUpstream(upstream: Upstream, tracing: Tracing | null, purpose: 'resolver' | 'issuer'): Upstream {
  if (tracing === null) return upstream
  return {
    urlError: (url) => upstream.urlError(url),
    async send(request) {
      const url = URL.parse(request.url)
      const span = tracing.start(`${purpose} ${request.method}`, 'client', {
        'http.request.method': request.method,
        // Path and query may contain parameters of a caller.
        'server.address': url?.hostname,
        'server.port': url === null ? undefined : portOf(url),
        'verdigraph.upstream': purpose,
      })
      if (span === null) return upstream.send(request)
      const isOther = ([name]: readonly [string, string]): boolean =>
        !['traceparent', 'tracestate'].includes(name.toLowerCase())
      const headers = [...request.headers.filter(isOther), ...span.headers]
      const response = await upstream.send({ ...request, headers })
      if (response.ok) {
        const { status } = response.value
        span.end(status < 400 ? null : String(status), { 'http.response.status_code': status })
      } else span.end(response.error.kind)
      return response
    },
  }
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}

/** Adds a span for each read transaction on a graph: from the opening of the snapshot until it is closed. */
export function createReadSpans(tracing: Tracing): () => () => void {
  return () => {
    const startMs = performance.now()
    return () => tracing.add('store read', startMs, performance.now(), noAttributes, null)
  }
}

const noAttributes = (): SpanAttributes => ({})

/** Spans of the items of one batch; further items have none. */
const BATCH_SPANS_MAX = 50

/** Adds a span for each decision and search. */
export function createDecisionSpans(
  tracing: Tracing,
  mask: ParameterMask,
  deps: Parameters<typeof policiesDecided>[0],
): NonNullable<DecisionDeps['onDecided']> {
  return (event) => {
    if ((event.item ?? 0) >= BATCH_SPANS_MAX) return
    const name = event.kind === 'evaluation' ? 'decision' : event.kind
    const { startedMs, durationMs, error } = event
    tracing.add(
      name,
      startedMs,
      startedMs + durationMs,
      () => decisionAttributes(event, mask, deps),
      error?.kind ?? null,
    )
  }
}

/** The name under which the parameter mask shows or hides the ids of subjects and resources. */
const EXTERNAL_ID = 'external_id'

function decisionAttributes(
  { kind, item, request, decision, found, granting, plans, id, caller }: DecisionEvent,
  mask: ParameterMask,
  deps: Parameters<typeof policiesDecided>[0],
): SpanAttributes {
  const run = plans?.list() ?? []
  const common = {
    'verdigraph.decision.id': id ?? undefined,
    'verdigraph.decision.item': item ?? undefined,
    'verdigraph.decision.result': decision === null ? undefined : decision ? 'permit' : 'deny',
    'verdigraph.search.results': found ?? undefined,
    // In the order of the first runs; no names and no values.
    'verdigraph.plan.operators': run.length === 0 ? undefined : run.map(({ operators }) => operators),
    'verdigraph.plan.origins':
      run.length === 0 ? undefined : run.map(({ isCached }) => (isCached ? 'cached' : 'planned')),
  }
  if (request === null) return common
  const { subject, resource, action, context } = request
  const isActionSearch = kind === 'action search'
  const policies = isActionSearch ? [] : policiesDecided(deps, caller, request)
  const idOf = (external: string | null): string | undefined =>
    external === null || mask.valueAt([EXTERNAL_ID], external) !== external ? undefined : external
  const parameters = context?.input_params
  return {
    ...common,
    'verdigraph.subject.type': subject.type,
    'verdigraph.subject.id': idOf(subject.id),
    'verdigraph.action': isActionSearch ? undefined : action.name,
    'verdigraph.resource.type': resource.type,
    'verdigraph.resource.id': idOf(resource.id),
    'verdigraph.policy.ids': policies.map((policy) => policy.id),
    'verdigraph.policy.granted_by': granting?.id,
    'verdigraph.parameters': parameters === undefined ? undefined : JSON.stringify(mask.apply(parameters)),
  }
}
