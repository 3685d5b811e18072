// The service describes itself: OpenAPI documents for programs; the documentation and the interface reference for people.
import { z } from 'zod'
import { jsonObject } from '../../config/json-schema.ts'
import { err, ok } from '../../kernel/result.ts'
import { type ApiPage, renderApiPage } from '../docs/api-page.ts'
import { readDocumentation } from '../docs/files.ts'
import { prefersHtml, renderFrontPage } from '../docs/front-page.ts'
import { contentSecurityPolicy, type PageFrame, renderDocument } from '../docs/layout.ts'
import { type Html, html } from '../docs/markup.ts'
import { Documentation } from '../docs/pages.ts'
import { DocumentationSearch, type SearchHit } from '../docs/search.ts'
import { buildOpenApiDocument } from '../openapi/document.ts'
import type { OpenApiDocument, OpenApiVersion } from '../openapi/objects.ts'
import { type Auth, errorStatuses, type RequestContext, type Route, type RouteResponse, type Tag } from '../route.ts'

const tag: Tag = { name: 'Documentation', description: 'OpenAPI documents for programs, and pages for people.' }

const linksSchema = z
  .object({
    documentation: z.string(),
    getting_started: z.string(),
    api: z.string(),
    openapi: z.string(),
    authzen: z.string(),
    health: z.string(),
    ready: z.string(),
    metrics: z.string().optional().describe('Absent if metrics are not served.'),
  })
  .meta({ id: 'ServiceLinks', description: 'The path of each place.' })
const frontPageSchema = z
  .object({ name: z.string(), description: z.string(), version: z.string(), links: linksSchema })
  .meta({ id: 'ServiceInformation' })

/** Longer queries are refused (422). */
const QUERY_CHARACTERS_MAX = 200

/**
 * Returns the routes of the documentation. `all` returns every route of the service, these included; it is called with the
 * first request. Documents and pages are rendered once and kept, because neither changes while the process runs.
 */
export function documentationRoutes(auth: Auth, version: string, all: () => readonly Route[]): Route[] {
  const describe = once((openapi: OpenApiVersion): OpenApiDocument => buildOpenApiDocument(all(), openapi, version))
  const site = once((_: 'site') => new Site(version, describe('3.2.0')))
  const documentText = once((openapi: OpenApiVersion) => JSON.stringify(describe(openapi)))
  const document = (path: string, operationId: string, summary: string, openapi: OpenApiVersion): Route => ({
    ...common(path, operationId, summary, auth),
    query: pathsQuery,
    responses: { 200: jsonObject, ...errorStatuses(422) },
    handle({ query }) {
      const prefixes = query.get('paths')?.split(',')
      if (prefixes === undefined) return ok({ status: 200, text: documentText(openapi) })
      const unknown = prefixes.filter((prefix) => !all().some((route) => isBelow(route.path, prefix)))
      if (unknown.length > 0) {
        return err({ kind: 'invalid', issues: unknown.map((prefix) => `paths: no operation below \`${prefix}\``) })
      }
      const part = all().filter((route) => prefixes.some((prefix) => isBelow(route.path, prefix)))
      return ok({ status: 200, body: buildOpenApiDocument(part, openapi, version) })
    },
  })
  const page = (
    path: string,
    operationId: string,
    summary: string,
    render: (context: RequestContext) => string | null,
  ): Route => ({
    ...common(path, operationId, summary, auth),
    mediaType: 'text/html',
    responses: path.includes('{') ? { 200: z.string(), ...errorStatuses(404) } : { 200: z.string() },
    responseHeaders: pageHeaderDescriptions,
    handle: (context) => foundText(render(context), pageHeaders),
  })
  const front = once((_: 'front') => renderFrontPage(version, new Set(all().map(({ path }) => path))))
  return [
    {
      // Rendered from constants: it needs no lane, unlike the pages of the documentation.
      method: 'GET',
      path: '/',
      operationId: 'readFrontPage',
      tag,
      summary: 'Read what this service is and where to find things',
      auth,
      audit: 'none',
      request: null,
      description: 'A browser (`Accept: text/html`) gets a page, every other client JSON.',
      responses: { 200: frontPageSchema },
      htmlForBrowsers: true,
      responseHeaders: { ...pageHeaderDescriptions, Vary: 'Accept' },
      handle: (context) => {
        const { html: page, json } = front('front')
        return ok(
          prefersHtml(context.header('accept'))
            ? { status: 200, text: page, headers: { ...pageHeaders, vary: 'Accept' } }
            : { status: 200, text: json, headers: { vary: 'Accept' } },
        )
      },
    },
    document('/openapi.json', 'readOpenApi', 'Read the API description as OpenAPI 3.1', '3.1.1'),
    document('/openapi-3.2.json', 'readOpenApi32', 'Read the API description as OpenAPI 3.2', '3.2.0'),
    page('/docs', 'readDocumentation', 'Read the first page of the documentation', () => site('site').page('')),
    page('/docs/api', 'readApiReference', 'Read the reference of all operations, with curl commands', () =>
      site('site').api(),
    ),
    {
      ...page('/docs/search', 'searchDocumentation', 'Search the documentation', ({ query }) =>
        site('site').search(query.get('q') ?? ''),
      ),
      query: z.strictObject({
        q: z.string().max(QUERY_CHARACTERS_MAX).optional().describe('Words to search for.'),
      }),
    },
    {
      ...common('/docs/images/{file}', 'readDocumentationImage', 'Read a picture of the documentation', auth),
      pathParameters: { file: 'The name of the file.' },
      mediaType: 'image/svg+xml',
      responses: { 200: z.string(), ...errorStatuses(404) },
      responseHeaders: pageHeaderDescriptions,
      handle: ({ pathParameters }) => foundText(site('site').image(pathParameters.file ?? ''), imageHeaders),
    },
    {
      ...page('/docs/{page}', 'readDocumentationPage', 'Read a page of the documentation', ({ pathParameters }) =>
        site('site').page(pathParameters.page ?? ''),
      ),
      pathParameters: { page: 'The name of the page: `glossary`.' },
    },
    {
      ...page(
        '/docs/{section}/{page}',
        'readDocumentationSectionPage',
        'Read a page in a section of the documentation',
        ({ pathParameters: { section, page: name } }) => site('site').page(`${section}/${name}`),
      ),
      pathParameters: {
        section: '`tutorials`, `how-to`, `runbooks`, `reference`, `explanation` or `decisions`.',
        page: 'The name of the page.',
      },
    },
  ]
}

/** Longer lists of paths are refused (422). */
const PATHS_CHARACTERS_MAX = 500

const pathsQuery = z.strictObject({
  paths: z
    .string()
    .max(PATHS_CHARACTERS_MAX)
    .optional()
    .describe('Only the operations below these paths, with the components that they use: `/access,/capture`.'),
})

/** True if a path is the prefix, or below it. A prefix ends at a segment. */
function isBelow(path: string, prefix: string): boolean {
  const base = prefix.replace(/\/+$/, '')
  return base !== '' && (path === base || path.startsWith(`${base}/`))
}

function common(path: string, operationId: string, summary: string, auth: Auth) {
  // Rendering the first page takes some 100 ms, so all of them run in a lane.
  const lane = { always: true, limit: 'query' } as const
  return { method: 'GET', path, operationId, tag, summary, auth, audit: 'none', request: null, lane } as const
}

const securityHeaders = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}
const pageHeaders = { 'content-type': 'text/html; charset=utf-8', ...securityHeaders }
const imageHeaders = { 'content-type': 'image/svg+xml; charset=utf-8', ...securityHeaders }

const pageHeaderDescriptions = {
  'Content-Security-Policy': 'allows the style sheet of the page and pictures of this server, and nothing else',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
}

function foundText(text: string | null, headers: Readonly<Record<string, string>>) {
  if (text === null) return err({ kind: 'not-found', message: 'no such page' } as const)
  const response: RouteResponse = { status: 200, text, headers }
  return ok(response)
}

/** Calls `make` once for each argument. */
function once<K extends string, T>(make: (key: K) => T): (key: K) => T {
  const made = new Map<K, T>()
  return (key) => {
    let value = made.get(key)
    if (value === undefined) {
      value = make(key)
      made.set(key, value)
    }
    return value
  }
}

/** Renders the pages of the documentation. */
class Site {
  private readonly version: string
  private readonly documentation = new Documentation(readDocumentation())
  private readonly searching: DocumentationSearch
  private readonly reference: ApiPage

  constructor(version: string, description: OpenApiDocument) {
    this.version = version
    this.searching = new DocumentationSearch(this.documentation, description)
    this.reference = renderApiPage(description)
  }

  /** Returns the page at an address below `/docs/`, or null if none exists. */
  page(path: string): string | null {
    const page = this.documentation.pages.get(path)
    return page === undefined ? null : this.document({ title: page.title, current: path }, page.body)
  }

  image(file: string): string | null {
    return this.documentation.images.get(file) ?? null
  }

  api(): string {
    const { content, navigation } = this.reference
    return this.document({ title: 'HTTP API', current: 'api', extraNavigation: navigation }, content)
  }

  search(query: string): string {
    const hits = this.searching.find(query)
    return this.document({ title: 'Search', current: null, query }, searchResults(query, hits))
  }

  private document(frame: Partial<PageFrame> & Pick<PageFrame, 'title' | 'current'>, content: Html): string {
    const { navigation } = this.documentation
    return renderDocument({ version: this.version, navigation, query: '', ...frame }, content)
  }
}

function searchResults(query: string, hits: readonly SearchHit[]): Html {
  if (query.trim() === '') return html`<h1>Search</h1><p>Type a word into the box above.</p>`
  if (hits.length === 0) return html`<h1>Search</h1><p>Nothing found for “${query}”. Try fewer or other words.</p>`
  return html`<h1>Search</h1><p>${hits.length} ${hits.length === 1 ? 'result' : 'results'} for “${query}”</p>
<ul class="hits">${hits.map(
    ({ address, title, page, excerpt }) =>
      html`<li><a href="${address}">${title}</a>${page === title ? null : html` <small>${page}</small>`}<small>${excerpt}</small></li>`,
  )}</ul>`
}
