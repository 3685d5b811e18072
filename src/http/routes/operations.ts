// What an operator's machinery asks: is the process alive, and should it get requests?
import { z } from 'zod'
import { err, ok } from '../../kernel/result.ts'
import { problemStatuses, type Route, type Tag } from '../route.ts'

const tag: Tag = { name: 'Operations', description: 'For the machinery that keeps the process running.' }
const state = z.object({ status: z.string() })
const health = z.object({ status: z.string(), worker: z.int().min(1).optional() })

/** `worker`: the number of this process among those that share the port; null where it has it alone. */
export function operationRoutes(isReady: () => boolean, worker: number | null): Route[] {
  const alive = JSON.stringify({ status: 'ok', ...(worker !== null && { worker }) })
  return [
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
      summary: 'The process answers requests: started, and not stopping',
      auth: { kind: 'public' },
      request: null,
      responses: { 200: state, ...problemStatuses(503) },
      handle: () =>
        isReady()
          ? ok({ status: 200, text: '{"status":"ready"}' })
          : err({ kind: 'unavailable', message: 'not ready' }),
    },
  ]
}
