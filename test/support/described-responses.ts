// Checks a response against the interface description: its status and headers must be described, and its body must
// match the schema.
import { Ajv2020 as Ajv, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { buildOpenApiDocument } from '../../src/http/openapi/document.ts'
import { type OpenApiDocument, type OperationObject, resolveResponse } from '../../src/http/openapi/objects.ts'
import type { Route } from '../../src/http/route.ts'

export interface ObservedResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Headers of every response: described once in the introduction, or set by the runtime. */
const everywhere = new Set([
  'x-request-id',
  'cache-control',
  'content-type',
  'content-length',
  'transfer-encoding',
  'date',
  'vary',
  'connection',
])

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true })
;(formats as unknown as (ajv: Ajv) => void)(ajv)
// A member that only requests may contain fails in every response.
ajv.removeKeyword('writeOnly')
ajv.addKeyword({ keyword: 'writeOnly', schemaType: 'boolean', validate: (isWriteOnly: boolean) => !isWriteOnly })

/** By the text of the schema with all that it refers to: most schemas are the same in every service. */
const compiled = new Map<string, ValidateFunction>()

/** Of responses of no route. */
const withoutRoutes = buildOpenApiDocument([], '3.1.1', 'test')
const problem = { $ref: '#/components/schemas/Problem' }

/** An operation, and the description of its route alone. */
interface DescribedOperation {
  readonly description: OpenApiDocument
  readonly operation: OperationObject
}

/** Describes a route when it is first called: a test calls few of them. */
export class DescribedResponses {
  private readonly endpoints: { readonly template: RegExp; readonly path: string }[]
  private readonly routes = new Map<string, Route>()
  private readonly operations = new Map<Route, DescribedOperation>()
  private readonly validators = new Map<object, ValidateFunction>()

  /** The description omits aliases; their responses are those of the route that they repeat. */
  constructor(routes: readonly Route[]) {
    for (const { aliasOf: _, ...route } of routes) this.routes.set(`${route.method} ${route.path}`, route)
    this.endpoints = [...new Set(routes.map(({ path }) => path))]
      .sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')))
      .map((path) => ({ path, template: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}/?$`) }))
  }

  /** Null if the description has no such path; `described` is null if the path has no such method. */
  operation(method: string, url: string): { readonly described: DescribedOperation | null } | null {
    const asked = url.replace(/[?#].*$/, '')
    const endpoint = this.endpoints.find(({ template }) => template.test(asked))
    if (endpoint === undefined) return null
    const route = this.routes.get(`${method === 'HEAD' ? 'GET' : method.toUpperCase()} ${endpoint.path}`)
    return { described: route === undefined ? null : this.describe(route) }
  }

  private describe(route: Route): DescribedOperation {
    let described = this.operations.get(route)
    if (described === undefined) {
      const description = buildOpenApiDocument([route], '3.1.1', 'test')
      const operation = description.paths[route.path]?.[route.method.toLowerCase()] as OperationObject
      described = { description, operation }
      this.operations.set(route, described)
    }
    return described
  }

  /** Empty if the response is as described. */
  faults(method: string, url: string, { status, headers, text }: ObservedResponse): string[] {
    const found = this.operation(method, url)
    if (found?.described == null) return this.faultsOffTheMap(method, found !== null, { status, headers, text })
    const { description, operation } = found.described
    const answered = resolveResponse(description, operation, status)
    if (answered === undefined) return [`the status ${status} is not described`]
    const told = new Set(Object.keys(answered.headers).map((name) => name.toLowerCase()))
    const faults = this.faultsOfHeaders(headers, told)
    if (method === 'HEAD') return text === '' ? faults : [...faults, 'an answer to HEAD has a body']
    const contents = answered.content ?? {}
    if (Object.keys(contents).length === 0) return text === '' ? faults : [...faults, 'a body that is not described']
    const given = headers.get('content-type') ?? ''
    const [mediaType = ''] = given.split(';')
    const content = contents[mediaType]
    if (content === undefined) {
      return [...faults, `the content type \`${given}\` instead of ${Object.keys(contents).join(' or ')}`]
    }
    if (mediaType !== 'application/json') return faults
    return [...faults, ...this.faultsOfBody(description, content.schema, text)]
  }

  private faultsOffTheMap(method: string, pathIsKnown: boolean, { status, headers, text }: ObservedResponse): string[] {
    if (method === 'OPTIONS' && status === 204) return text === '' ? [] : ['an answer to OPTIONS has a body']
    const expected = pathIsKnown ? 405 : 404
    if (status !== expected) return [`the status ${status} instead of ${expected}`]
    const faults = this.faultsOfHeaders(headers, new Set(pathIsKnown ? ['allow'] : []))
    if (pathIsKnown && !headers.has('allow')) faults.push('405 without Allow')
    if (method === 'HEAD') return faults
    return [...faults, ...this.faultsOfBody(withoutRoutes, problem, text)]
  }

  private faultsOfHeaders(headers: Headers, told: ReadonlySet<string>): string[] {
    const faults: string[] = []
    if (!headers.has('x-request-id')) faults.push('no X-Request-ID')
    for (const name of headers.keys()) {
      if (everywhere.has(name) || told.has(name) || name.startsWith('access-control-')) continue
      faults.push(`the header ${name} is not described`)
    }
    return faults
  }

  private faultsOfBody(description: OpenApiDocument, schema: object, text: string): string[] {
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      return [`a body that is not JSON: ${text.slice(0, 80)}`]
    }
    let validate = this.validators.get(schema)
    if (validate === undefined) {
      validate = validatorOf(schema, description.components.schemas)
      this.validators.set(schema, validate)
    }
    if (validate(body)) return []
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `body${instancePath}: ${message} ${JSON.stringify(params)}`,
    )
  }
}

function validatorOf(schema: object, components: Readonly<Record<string, object>>): ValidateFunction {
  const $defs: Record<string, object> = {}
  const collect = (from: object): void => {
    for (const [, name = ''] of JSON.stringify(from).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if ($defs[name] !== undefined) continue
      $defs[name] = components[name] as object
      collect($defs[name])
    }
  }
  collect(schema)
  const text = JSON.stringify({ ...schema, $defs }).replaceAll('"#/components/schemas/', '"#/$defs/')
  let validate = compiled.get(text)
  if (validate === undefined) {
    validate = ajv.compile(JSON.parse(text))
    compiled.set(text, validate)
  }
  return validate
}
