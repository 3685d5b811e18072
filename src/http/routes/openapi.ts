// The service describes itself: as two documents of OpenAPI, and as a page made from the newer one.
import { z } from 'zod'
import { ok } from '../../kernel/result.ts'
import { buildOpenApiDocument } from '../openapi/document.ts'
import type { OpenApiDocument, OpenApiVersion } from '../openapi/objects.ts'
import { descriptionPage, pagePolicy } from '../openapi/page.ts'
import type { Auth, Route, RouteResponse, Tag } from '../route.ts'

const tag: Tag = { name: 'Description', description: 'This description: for programs, and to read.' }
const openApiSchema = z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) })

/** `all` gives every route of the service, these among them; it is asked with the first request. */
export function openApiRoutes(auth: Auth, version: string, all: () => readonly Route[]): Route[] {
  const describe = (openapi: OpenApiVersion): OpenApiDocument => buildOpenApiDocument(all(), openapi, version)
  return [
    {
      ...cachedRoute('/openapi.json', 'describe', 'The interface description in OpenAPI 3.1', () => ({
        status: 200,
        text: JSON.stringify(describe('3.1.1')),
      })),
      auth,
      responses: { 200: openApiSchema },
    },
    {
      ...cachedRoute('/openapi-3.2.json', 'describeIn32', 'The interface description in OpenAPI 3.2', () => ({
        status: 200,
        text: JSON.stringify(describe('3.2.0')),
      })),
      auth,
      responses: { 200: openApiSchema },
    },
    {
      ...cachedRoute('/docs', 'readDescription', 'The interface description as a page', () => ({
        status: 200,
        text: descriptionPage(describe('3.2.0')),
        headers: pageHeaders,
      })),
      auth,
      mediaType: 'text/html',
      responses: { 200: z.string() },
      responseHeaders: {
        'Content-Security-Policy': 'lets the page load nothing but its own style sheet',
        'X-Content-Type-Options': 'nosniff',
        'Referrer-Policy': 'no-referrer',
      },
    },
  ]
}

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': pagePolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** Made once: routes do not change while the process lives. */
function cachedRoute(path: string, operationId: string, summary: string, make: () => RouteResponse) {
  let made: RouteResponse | null = null
  return {
    method: 'GET',
    path,
    operationId,
    tag,
    summary,
    request: null,
    // The first one is made in some 100 ms.
    lane: { always: true, limit: 'query' },
    handle() {
      made ??= make()
      return ok(made)
    },
  } as const
}
