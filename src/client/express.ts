// `verdigraph/express`: middleware for Express 4 and 5, and for servers with the same `next`.
import type { VerdigraphClient } from './client.ts'
import { type PermissionOf, refusalOf } from './guard.ts'

/** The members of a response of Express that the middleware uses. */
export interface ExpressResponse {
  status(status: number): this
  set(headers: Readonly<Record<string, string>>): this
  json(body: object): unknown
}

/**
 * Passes a request on only if the service permits it; otherwise 401, 403 or 503. Other errors go to the error handler of the application.
 *
 * @example
 * app.get('/cars/:id', requirePermission(client, (request) => ({
 *   subject: request.user ? { Person: request.user.id } : null,
 *   action: 'drive',
 *   resource: { Car: request.params.id },
 * })), showCar)
 */
export function requirePermission<R>(
  client: VerdigraphClient,
  permissionOf: PermissionOf<R>,
): (request: R, response: ExpressResponse, next: (error?: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    try {
      const refusal = await refusalOf(client, await permissionOf(request))
      if (refusal !== null) response.status(refusal.status).set(refusal.headers).json(refusal.body)
      else next()
    } catch (error) {
      // Express passes the request on for a value such as '' or undefined, and skips handlers for 'route'.
      next(error instanceof Error ? error : new Error('the permission of the request is unknown', { cause: error }))
    }
  }
}
