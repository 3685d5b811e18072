// The configuration endpoints: one loop over the kinds, so that a new kind needs no route of its own (facts 1.7.1).
import { z } from 'zod'
import type { ConfigKind } from '../../config/kind.ts'
import type { ConfigAnswer, ConfigService } from '../../config/service.ts'
import { ok } from '../../kernel/result.ts'
import { type Answer, type Auth, problemStatuses, type Route, type Tag } from '../route.ts'
import { serviceAccountOf } from './callers.ts'

const auth: Auth = { kind: 'service-account' }

const document = z.record(z.string(), z.unknown())
const list = z.object({ data: z.array(document) })
const removed = z.object({ id: z.string() })

export function configRoutes(service: ConfigService): Route[] {
  return service.kinds.flatMap((kind) => routesOf(service, kind))
}

function routesOf(service: ConfigService, kind: ConfigKind): Route[] {
  const path = `/configs/v1/${kind.path}`
  const noun = operationNoun(kind.label)
  const tag: Tag = { name: capitalised(`${kind.label}s`), description: `Configuration of every ${kind.label}.` }
  const pathParameters = { id: kind.operations.byName ? 'the identifier or the name' : 'the identifier' }
  const routes: Route[] = [
    {
      method: 'GET',
      path,
      operationId: `list${noun}s`,
      tag,
      summary: `List every ${kind.label} of a scope`,
      auth,
      request: null,
      responses: { 200: list, ...problemStatuses(400, 401, 403, 404, 422) },
      handle(context) {
        const listed = service.list(serviceAccountOf(context), kind, context.query)
        return listed.ok ? ok({ status: 200, body: listed.value }) : listed
      },
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      operationId: `read${noun}`,
      tag,
      pathParameters,
      summary: `Read one ${kind.label}`,
      auth,
      request: null,
      responses: { 200: document, ...problemStatuses(400, 401, 403, 404, 422) },
      handle(context) {
        const key = context.pathParameters.id ?? ''
        const read = service.read(serviceAccountOf(context), kind, key, context.query)
        return read.ok ? ok(answer(200, read.value)) : read
      },
    },
  ]
  if (kind.operations.create) {
    routes.push({
      method: 'POST',
      path,
      operationId: `create${noun}`,
      tag,
      summary: `Create one ${kind.label}`,
      auth,
      request: kind.createSchema,
      // The service checks the body itself: it knows what only another document can say, and answers 422.
      read: ok,
      responses: { 201: document, ...problemStatuses(400, 401, 403, 404, 409, 413, 415, 422) },
      async handle(context, body) {
        const created = await service.create(serviceAccountOf(context), kind, body)
        return created.ok ? ok(answer(201, created.value)) : created
      },
    })
  }
  if (kind.operations.update) {
    routes.push({
      method: 'PUT',
      path: `${path}/{id}`,
      operationId: `update${noun}`,
      tag,
      pathParameters: identifier,
      summary: `Update one ${kind.label}`,
      auth,
      request: kind.updateSchema,
      read: ok,
      responses: { 200: document, ...problemStatuses(400, 401, 403, 404, 412, 413, 415, 422) },
      async handle(context, body) {
        const id = context.pathParameters.id ?? ''
        const ifMatch = context.header('if-match')
        const updated = await service.update(serviceAccountOf(context), kind, id, body, ifMatch)
        return updated.ok ? ok(answer(200, updated.value)) : updated
      },
    })
  }
  if (kind.operations.delete) {
    routes.push({
      method: 'DELETE',
      path: `${path}/{id}`,
      operationId: `delete${noun}`,
      tag,
      pathParameters: identifier,
      summary: `Delete one ${kind.label}`,
      auth,
      request: null,
      responses: { 200: removed, ...problemStatuses(401, 403, 404, 412) },
      async handle(context) {
        const id = context.pathParameters.id ?? ''
        const gone = await service.remove(
          serviceAccountOf(context),
          kind,
          id,
          context.header('if-match') ?? context.query.get('etag'),
        )
        return gone.ok ? ok({ status: 200, body: gone.value }) : gone
      },
    })
  }
  return routes
}

const identifier = { id: 'the identifier' }

/** `application agent` → `ApplicationAgent`, `MCP server` → `MCPServer`. */
function operationNoun(label: string): string {
  return label.split(/[ -]/).map(capitalised).join('')
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function answer(status: number, given: ConfigAnswer): Answer {
  return given.etag === null
    ? { status, body: given.body }
    : { status, body: given.body, headers: { etag: given.etag } }
}
