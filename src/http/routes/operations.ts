// Routes for operators: liveness, readiness and metrics.
import { z } from 'zod'
import { err, ok } from '../../kernel/result.ts'
import { type Auth, errorStatuses, type Route, type Tag } from '../route.ts'

const tag: Tag = { name: 'Operations', description: 'Health checks and metrics.' }

const health = z.object({ status: z.string(), worker: z.int().min(1).optional() }).meta({ id: 'Health' })

/** Sources of the state that the routes report. */
export interface OperationsDeps {
  /** The number of this process among the workers that share the port; null: it is the only one. */
  readonly worker: number | null
  /** The reason why the process is not ready; null: it is ready. */
  notReadyReason(): string | null
  /** Null: metrics are not served. */
  readonly metrics: { readonly auth: Auth; readonly mediaType: string; text(): Promise<string> } | null
}

/** Builds the routes. */
export function operationRoutes({ worker, notReadyReason, metrics }: OperationsDeps): Route[] {
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
      request: null,
      responses: { 200: health, ...errorStatuses(503) },
      handle() {
        const missing = notReadyReason()
        return missing === null
          ? ok({ status: 200, text: '{"status":"ready"}' })
          : err({ kind: 'unavailable', message: missing })
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
    summary: 'Read the metrics in the Prometheus format',
    auth: metrics.auth,
    audit: 'none',
    request: null,
    mediaType: 'text/plain',
    responses: { 200: z.string() },
    async handle() {
      return ok({ status: 200, text: await metrics.text(), headers: { 'content-type': metrics.mediaType } })
    },
  }
}
