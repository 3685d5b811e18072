// `verdigraph/hono`: middleware for Hono 4.
import type { VerdigraphClient } from './client.ts'
import { type PermissionOf, refusalOf } from './guard.ts'

/** The member of a context of Hono that the middleware uses. */
export interface HonoContext {
  body(data: string, status: 401 | 403 | 503, headers: Record<string, string>): Response
}

/**
 * Passes a request on only if the service permits it; otherwise 401, 403 or 503. Other errors go to `app.onError`.
 *
 * @example
 * app.get('/cars/:id', requirePermission(client, (c) => ({
 *   subject: { Person: c.get('user').id },
 *   action: 'drive',
 *   resource: { Car: c.req.param('id') },
 * })), showCar)
 */
export function requirePermission<C extends HonoContext>(
  client: VerdigraphClient,
  permissionOf: PermissionOf<C>,
): (context: C, next: () => Promise<void>) => Promise<Response | undefined> {
  return async (context, next) => {
    const refusal = await refusalOf(client, await permissionOf(context))
    if (refusal === null) {
      await next()
      return undefined
    }
    const headers = { ...refusal.headers, 'content-type': 'application/json' }
    return context.body(JSON.stringify(refusal.body), refusal.status, headers)
  }
}
