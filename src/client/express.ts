// `verdigraph/express`: middleware for Express 4 and 5, and for servers with the same `next`.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request } from 'express'
import type { VerdigraphClient } from './client.ts'
import { type PermissionOf, refusalOf } from './guard.ts'

/** The members of a response of Express that the middleware uses. */
interface ExpressResponse extends ServerResponse {
  status(status: number): this
  set(headers: Readonly<Record<string, string>>): this
  json(body: object): unknown
}

/**
 * Passes a request on only if the service permits it; otherwise 401, 403 or 503. Other errors go to the error handler of the application.
 * `P`: the parameters of the path. The types of the other handlers of the route stay those of Express.
 *
 * @example
 * app.get('/cars/:id', requirePermission<{ id: string }>(client, (request) => ({
 *   subject: request.user ? { Person: request.user.id } : null,
 *   action: 'drive',
 *   resource: { Car: request.params.id },
 * })), showCar)
 */
export function requirePermission<P = Record<string, string>>(
  client: VerdigraphClient,
  permissionOf: PermissionOf<Request<P>>,
): (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => Promise<void> {
  // With a request and a response of Express here, its `get` would take the types of all handlers of a route from this one.
  return async (request, response, next) => {
    try {
      const refusal = await refusalOf(client, await permissionOf(request as Request<P>))
      if (refusal !== null) (response as ExpressResponse).status(refusal.status).set(refusal.headers).json(refusal.body)
      else next()
    } catch (error) {
      // Express passes the request on for a value such as '' or undefined, and skips handlers for 'route'.
      next(error instanceof Error ? error : new Error('the permission of the request is unknown', { cause: error }))
    }
  }
}
