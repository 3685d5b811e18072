// What an operator's machinery asks: is the process alive, and should it get requests?
import { z } from 'zod'
import { err, ok } from '../../kernel/result.ts'
import { problemStatuses, type Route } from '../route.ts'

const state = z.object({ status: z.string() })

export function operationRoutes(isReady: () => boolean): Route[] {
  return [
    {
      method: 'GET',
      path: '/health',
      summary: 'The process is alive',
      auth: { kind: 'public' },
      request: null,
      responses: { 200: state },
      handle: () => ok({ status: 200, text: '{"status":"ok"}' }),
    },
    {
      method: 'GET',
      path: '/ready',
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
