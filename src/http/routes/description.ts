// The service describes itself: as two documents of OpenAPI, and as a page made from the newer one.
import { z } from 'zod'
import { ok } from '../../kernel/result.ts'
import type { Description, OpenApiVersion } from '../openapi/description.ts'
import { describeRoutes } from '../openapi/document.ts'
import { descriptionPage, pagePolicy } from '../openapi/page.ts'
import type { Answer, Auth, Route, Tag } from '../route.ts'

const tag: Tag = { name: 'Description', description: 'This description: for programs, and to read.' }
const document = z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) })

/** `all` gives every route of the service, these among them; it is asked with the first request. */
export function descriptionRoutes(auth: Auth, version: string, all: () => readonly Route[]): Route[] {
  const describe = (openapi: OpenApiVersion): Description => describeRoutes(all(), openapi, version)
  return [
    {
      ...shown('/openapi.json', 'describe', 'The interface description in OpenAPI 3.1', () => ({
        status: 200,
        text: JSON.stringify(describe('3.1.1')),
      })),
      auth,
      responses: { 200: document },
    },
    {
      ...shown('/openapi-3.2.json', 'describeIn32', 'The interface description in OpenAPI 3.2', () => ({
        status: 200,
        text: JSON.stringify(describe('3.2.0')),
      })),
      auth,
      responses: { 200: document },
    },
    {
      ...shown('/docs', 'readDescription', 'The interface description as a page', () => ({
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
function shown(path: string, operationId: string, summary: string, make: () => Answer) {
  let made: Answer | null = null
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
