// `verdigraph/fastify`: a hook for Fastify 4 and 5.
import type { FastifyRequest } from 'fastify'
import type { VerdigraphClient } from './client.ts'
import { type PermissionOf, refusalOf } from './guard.ts'

/** The members of a reply of Fastify that the hook uses. */
export interface FastifyReply {
  code(status: number): this
  headers(headers: Readonly<Record<string, string>>): this
  send(body: object): this
}

/**
 * A `preHandler` hook: a request is handled only if the service permits it; otherwise 401, 403 or 503. Other errors are those of the
 * request, status 500. `R`: the request of the route.
 *
 * @example
 * app.get<{ Params: { id: string } }>('/cars/:id', {
 *   preHandler: requirePermission(client, (request) => ({
 *     subject: { Person: request.user.id },
 *     action: 'drive',
 *     resource: { Car: request.params.id },
 *   })),
 * }, showCar)
 */
export function requirePermission<R = FastifyRequest>(
  client: VerdigraphClient,
  permissionOf: PermissionOf<R>,
): (request: R, reply: FastifyReply) => Promise<unknown> {
  return async (request, reply) => {
    const refusal = await refusalOf(client, await permissionOf(request))
    if (refusal === null) return undefined
    reply.code(refusal.status).headers(refusal.headers).send(refusal.body)
    // Fastify waits for the end of a returned reply. Otherwise it would run the handler while a hook `onSend` is still working.
    return reply
  }
}
