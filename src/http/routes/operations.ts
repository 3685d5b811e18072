// Routes for operators: liveness, readiness and metrics.
import { z } from 'zod'
import { err, ok } from '../../kernel/result.ts'
import { type MetricsFormat, metricsContentTypes } from '../../kernel/text/metrics-format.ts'
import { type Auth, errorStatuses, type Route, type Tag } from '../route.ts'

const tag: Tag = { name: 'Operations', description: 'Health checks and metrics.' }

const health = z
  .object({ status: z.string(), worker: z.int().min(1).optional(), degraded: z.array(z.string()).optional() })
  .meta({ id: 'Health' })

/** Sources of the state that the routes report. */
export interface OperationsDeps {
  /** The number of this process among the workers that share the port; null: it is the only one. */
  readonly worker: number | null
  /** The reason why the process is not ready; null: it is ready. */
  notReadyReason(): string | null
  /** Kinds of processes that have hung or exited, and whose replacement does not work yet. Decisions do not need them. */
  degraded(): readonly string[]
  /** Null: metrics are not served. */
  readonly metrics: { readonly auth: Auth; text(format: MetricsFormat): Promise<string> } | null
}

/** Builds the routes. */
export function operationRoutes({ worker, notReadyReason, degraded, metrics }: OperationsDeps): Route[] {
  const alive = JSON.stringify({ status: 'ok', ...(worker !== null && { worker }) })
  return [
    ...(metrics === null ? [] : [metricsRoute(metrics)]),
    {
      method: 'GET',
      path: '/health',
      operationId: 'health',
      tag,
      summary: 'Check that the process is alive',
      auth: { kind: 'public' },
      isTraced: false,
      request: null,
      responses: { 200: health },
      handle: () => ok({ status: 200, text: alive }),
    },
    {
      method: 'GET',
      path: '/ready',
      operationId: 'ready',
      tag,
      summary: 'Check that the process is ready: it listens, is not stopping, and its store is open',
      auth: { kind: 'public' },
      isTraced: false,
      request: null,
      description:
        '`degraded` names background processes that have hung or exited and are started again. Decisions do not need them, so the process is ready.',
      responses: { 200: health, ...errorStatuses(503) },
      handle() {
        const missing = notReadyReason()
        if (missing !== null) return err({ kind: 'unavailable', message: missing })
        const replaced = degraded()
        return ok({
          status: 200,
          text: JSON.stringify({ status: 'ready', ...(replaced.length > 0 && { degraded: replaced }) }),
        })
      },
    },
  ]
}

function metricsRoute(metrics: NonNullable<OperationsDeps['metrics']>): Route {
  return {
    method: 'GET',
    path: '/metrics',
    operationId: 'metrics',
    tag,
    summary: 'Read the metrics in the Prometheus format or as OpenMetrics',
    auth: metrics.auth,
    audit: 'none',
    isTraced: false,
    request: null,
    description:
      'A client whose `Accept` header prefers `application/openmetrics-text` gets OpenMetrics 1.0, with exemplars while requests are traced.',
    mediaType: 'text/plain',
    openMetrics: true,
    responses: { 200: z.string() },
    responseHeaders: { Vary: 'Accept' },
    async handle(context) {
      const format = preferredFormat(context.header('accept'))
      const headers = { 'content-type': metricsContentTypes[format], vary: 'Accept' }
      return ok({ status: 200, text: await metrics.text(format), headers })
    },
  }
}

const OPEN_METRICS = 'application/openmetrics-text'
/** The versions of OpenMetrics of which the text is valid. A client without a version accepts any. */
const openVersions = ['1.0.0', '0.0.1']

/** Prometheus names the formats in its `Accept` header by decreasing quality. Every other client gets the older format. */
function preferredFormat(accept: string | null): MetricsFormat {
  let open = 0
  let plain = 0
  for (const range of (accept ?? '').split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const parameter = (name: string): string | undefined =>
      parameters.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1)
    const quality = Number(parameter('q') ?? 1)
    const version = parameter('version') ?? '1.0.0'
    if (type === OPEN_METRICS && openVersions.includes(version)) open = Math.max(open, quality)
    else if (type === 'text/plain' || type === 'text/*' || type === '*/*') plain = Math.max(plain, quality)
  }
  return open > 0 && open >= plain ? 'openmetrics' : 'prometheus'
}
