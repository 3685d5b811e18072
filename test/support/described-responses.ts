// Checks a response against the interface description: its status and headers must be described, and its body must
// match the schema.
import { Ajv2020 as Ajv, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { type OpenApiDocument, type OperationObject, resolveResponse } from '../../src/http/openapi/objects.ts'

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

export class DescribedResponses {
  private readonly description: OpenApiDocument
  private readonly ajv: Ajv
  private readonly endpoints: { readonly template: RegExp; readonly path: string }[]
  private readonly compiled = new Map<string, ValidateFunction>()

  constructor(description: OpenApiDocument) {
    this.description = description
    this.ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true })
    ;(formats as unknown as (ajv: Ajv) => void)(this.ajv)
    // A member that only requests may contain fails in every response.
    this.ajv.removeKeyword('writeOnly')
    this.ajv.addKeyword({
      keyword: 'writeOnly',
      schemaType: 'boolean',
      validate: (isWriteOnly: boolean) => !isWriteOnly,
    })

    this.ajv.addSchema({ $id: 'described', components: { schemas: description.components.schemas } })
    this.endpoints = Object.keys(description.paths)
      .sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')))
      .map((path) => ({ path, template: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}/?$`) }))
  }

  /** Null if the description has no such path, or the path no such method. */
  operation(method: string, url: string): { readonly path: string; readonly operation: OperationObject | null } | null {
    const asked = url.replace(/[?#].*$/, '')
    const endpoint = this.endpoints.find(({ template }) => template.test(asked))
    if (endpoint === undefined) return null
    const operations = this.description.paths[endpoint.path] ?? {}
    const name = method === 'HEAD' ? 'get' : method.toLowerCase()
    return { path: endpoint.path, operation: operations[name] ?? null }
  }

  /** Empty if the response is as described. */
  faults(method: string, url: string, { status, headers, text }: ObservedResponse): string[] {
    const found = this.operation(method, url)
    if (found?.operation == null) return this.faultsOffTheMap(method, found !== null, { status, headers, text })
    const { path, operation } = found
    const answered = resolveResponse(this.description, operation, status)
    if (answered === undefined) return [`the status ${status} is not described`]
    const told = new Set(Object.keys(answered.headers).map((name) => name.toLowerCase()))
    const faults = this.faultsOfHeaders(headers, told)
    if (method === 'HEAD') return text === '' ? faults : [...faults, 'an answer to HEAD has a body']
    const contents = answered.content ?? {}
    const described = Object.keys(contents)
    if (described.length === 0) return text === '' ? faults : [...faults, 'a body that is not described']
    const given = headers.get('content-type') ?? ''
    const [mediaType = ''] = given.split(';')
    const content = contents[mediaType]
    if (content === undefined) {
      return [...faults, `the content type \`${given}\` instead of ${described.join(' or ')}`]
    }
    if (mediaType !== 'application/json') return faults
    return [
      ...faults,
      ...this.faultsOfBody(`${method === 'HEAD' ? 'GET' : method} ${path} ${status}`, content.schema, text),
    ]
  }

  private faultsOffTheMap(method: string, pathIsKnown: boolean, { status, headers, text }: ObservedResponse): string[] {
    if (method === 'OPTIONS' && status === 204) return text === '' ? [] : ['an answer to OPTIONS has a body']
    const expected = pathIsKnown ? 405 : 404
    if (status !== expected) return [`the status ${status} instead of ${expected}`]
    const faults = this.faultsOfHeaders(headers, new Set(pathIsKnown ? ['allow'] : []))
    if (pathIsKnown && !headers.has('allow')) faults.push('405 without Allow')
    if (method === 'HEAD') return faults
    return [...faults, ...this.faultsOfBody('problem', { $ref: '#/components/schemas/Problem' }, text)]
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

  private faultsOfBody(key: string, schema: object, text: string): string[] {
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      return [`a body that is not JSON: ${text.slice(0, 80)}`]
    }
    let validate = this.compiled.get(key)
    if (validate === undefined) {
      const absolute = JSON.stringify(schema).replaceAll('"#/components/', '"described#/components/')
      validate = this.ajv.compile(JSON.parse(absolute))
      this.compiled.set(key, validate)
    }
    if (validate(body)) return []
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `body${instancePath}: ${message} ${JSON.stringify(params)}`,
    )
  }
}
