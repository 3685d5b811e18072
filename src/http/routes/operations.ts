// What an operator's machinery asks: is the process alive, and should it get requests?
import { z } from 'zod'
import { err, ok } from '../../kernel/result.ts'
import { type Auth, errorStatuses, type Route, type Tag } from '../route.ts'

const tag: Tag = { name: 'Operations', description: 'For the machinery that keeps the process running.' }
const state = z.object({ status: z.string() })
const health = z.object({ status: z.string(), worker: z.int().min(1).optional() })

export interface OperationsDeps {
  /** The number of this process among those that share the port; null where it has it alone. */
  readonly worker: number | null
  /** Null: ready. What is missing, otherwise. */
  notReadyReason(): string | null
  /** Null: not served. */
  readonly metrics: { readonly auth: Auth; readonly mediaType: string; text(): Promise<string> } | null
}

export function operationRoutes({ worker, notReadyReason, metrics }: OperationsDeps): Route[] {
  const alive = JSON.stringify({ status: 'ok', ...(worker !== null && { worker }) })
  return [
    ...(metrics === null ? [] : [metricsRoute(metrics)]),
    {
      method: 'GET',
      path: '/health',
      operationId: 'health',
      tag,
      summary: 'The process is alive',
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
      summary: 'The process should get requests: it listens, is not stopping, and its store is open',
      auth: { kind: 'public' },
      request: null,
      responses: { 200: state, ...errorStatuses(503) },
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
    summary: 'What was counted and measured, for Prometheus',
    auth: metrics.auth,
    request: null,
    mediaType: 'text/plain',
    responses: { 200: z.string() },
    async handle() {
      return ok({ status: 200, text: await metrics.text(), headers: { 'content-type': metrics.mediaType } })
    },
  }
}
