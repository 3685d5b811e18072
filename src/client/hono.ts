// `verdigraph/hono`: middleware for Hono 4.
import type { Context, Env } from 'hono'
import type { VerdigraphClient } from './client.ts'
import { type PermissionOf, refusalOf } from './guard.ts'

/** The member of a context of Hono that the middleware uses. */
export interface HonoContext {
  body(data: string, status: 401 | 403 | 503, headers: Record<string, string>): Response
}

/**
 * Passes a request on only if the service permits it; otherwise 401, 403 or 503. Other errors go to `app.onError`. `E`: the environment of
 * the application; `P`: the path.
 *
 * @example
 * app.get('/cars/:id', requirePermission<AppEnv, '/cars/:id'>(client, (c) => ({
 *   subject: { Person: c.get('user').id },
 *   action: 'drive',
 *   resource: { Car: c.req.param('id') },
 * })), showCar)
 */
export function requirePermission<E extends Env = Env, P extends string = string>(
  client: VerdigraphClient,
  permissionOf: PermissionOf<Context<E, P>>,
): (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined> {
  return async (context, next) => {
    const refusal = await refusalOf(client, await permissionOf(context as Context<E, P>))
    if (refusal === null) {
      await next()
      return undefined
    }
    const headers = { ...refusal.headers, 'content-type': 'application/json' }
    return context.body(JSON.stringify(refusal.body), refusal.status, headers)
  }
}
