// Connects tracing to the settings and the metrics.

import { parsePairs } from '../kernel/text/pairs.ts'
import { systemClock } from '../kernel/time/clock.ts'
import type { Log } from '../ops/log.ts'
import { createLogThrottle } from '../ops/log-throttle.ts'
import type { ServiceMetrics } from '../ops/service-metrics.ts'
import type { OpenTracing } from '../ops/tracing.ts'
import type { Settings } from '../settings.ts'

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
  const throttle = createLogThrottle(REPORT_INTERVAL_MS, () => systemClock.now())
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
