import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateTypeScript, typeScriptFile } from '../../../../clients/generate.ts'
import { examples } from '../../../../src/http/openapi/examples.ts'
import type { OpenApiDocument } from '../../../../src/http/openapi/objects.ts'
import { DescribedResponses } from '../../../support/described-responses.ts'
import { startService, type TestService } from '../../../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({ captureItemsMax: 77 })
})

afterAll(() => service?.stop())

async function documentAt(path: string): Promise<OpenApiDocument> {
  return (await service.send(path)).body as unknown as OpenApiDocument
}

const operations = (document: OpenApiDocument) =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

describe('the interface description', () => {
  it.each([
    ['/openapi.json', '3.1', '3.1.1'],
    ['/openapi-3.2.json', '3.2', '3.2.0'],
  ])('%s is valid by the official schema of OpenAPI %s', async (path, version, full) => {
    const document = await documentAt(path)
    const validator = new Validator()
    expect(await validator.validate(structuredClone(document) as unknown as Record<string, unknown>)).toEqual({
      valid: true,
    })
    expect(validator.version).toBe(version)
    expect(document.openapi).toBe(full)
  })

  it('contains every route, each with a unique name', async () => {
    const document = await documentAt('/openapi.json')
    const described = operations(document).map(({ path, method }) => `${method.toUpperCase()} ${path}`)
    const served = service.app.routes.filter(({ aliasOf }) => aliasOf === undefined)
    expect(new Set(described)).toEqual(new Set(served.map(({ method, path }) => `${method} ${path}`)))
    const names = operations(document).map(({ operation }) => operation.operationId)
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[a-z][A-Za-z0-9]*$/)
  })

  it('documents for every operation that stores something that the disk may be full', async () => {
    const document = await documentAt('/openapi.json')
    const may = operations(document).flatMap(({ path, method, operation }) =>
      '507' in operation.responses ? [`${method} ${path}`] : [],
    )
    const storing = ['post /capture/v1/nodes', 'delete /configs/v1/projects/{id}', 'post /contx-iq/v1/execute']
    // The node of a user's token is created at its first use, by any request.
    const asking = ['get /contx-iq/v1/whoami', 'post /access/v1/evaluation', 'post /mcp/v1/{project}']
    expect(may).toEqual(expect.arrayContaining([...storing, ...asking]))
    for (const reading of ['get /data-schema/v1', 'get /configs/v1/projects', 'get /health']) {
      expect(may).not.toContain(reading)
    }
  })

  it('describes a part of the interface with `paths`, and only the components that it uses', async () => {
    const part = await documentAt('/openapi.json?paths=/access,/capture/v1/nodes')
    const whole = await documentAt('/openapi.json')
    const below = Object.keys(whole.paths).filter((path) => /^\/access\/|^\/capture\/v1\/nodes(\/|$)/.test(path))
    expect(Object.keys(part.paths)).toEqual(below)
    expect(part.tags.map(({ name }) => name)).toEqual(['Decisions', 'Capture'])
    const { schemas, securitySchemes } = part.components as unknown as Record<string, object>
    expect(Object.keys(schemas ?? {})).toEqual(expect.arrayContaining(['Decision', 'NodesRequest', 'Problem']))
    expect(Object.keys(schemas ?? {})).not.toContain('Project')
    expect(Object.keys(securitySchemes ?? {})).toEqual([
      'agentKey',
      'agentKeyAsBearer',
      'serviceAccount',
      'projectId',
      'userToken',
    ])
    expect(await new Validator().validate(structuredClone(part) as unknown as Record<string, unknown>)).toEqual({
      valid: true,
    })
  })

  it('refuses paths without an operation, with their names', async () => {
    for (const [path, wrong] of [
      ['/openapi.json?paths=/access,/acce', '/acce'],
      ['/openapi-3.2.json?paths=', ''],
      ['/openapi.json?paths=/', '/'],
    ]) {
      const { status, body } = await service.send(path as string)
      expect([status, body.errors]).toEqual([422, [`paths: no operation below \`${wrong}\``]])
    }
  })

  it('has a description of each success, and of each body that is not JSON', async () => {
    const found = operations(await documentAt('/openapi.json')).flatMap(({ operation }) =>
      Object.entries(operation.responses).flatMap(([status, response]) => {
        if (Number(status) >= 300 || '$ref' in response) return []
        const { description, content = {} } = response
        return [`${Object.keys(content).join(' or ')}: ${description}`]
      }),
    )
    expect([...new Set(found)].sort()).toEqual([
      ': The message has been accepted; the response has no body',
      ': The request has been executed; the response has no body',
      'application/json or text/event-stream: The response to the message, as JSON or as a stream of server-sent events',
      'application/json or text/html or application/x-ndjson: JSON, a page for a browser, or lines, each a JSON object',
      'application/json or text/html: JSON, or a page for a browser',
      'application/json: The document has been created',
      'application/json: The request has been accepted and will be executed',
      'application/json: The result',
      'application/octet-stream: Bytes',
      'application/x-ndjson: Lines, each a JSON object',
      'image/svg+xml: A text of the type `image/svg+xml`',
      'text/event-stream: A stream of server-sent events, until either side ends it',
      'text/html: A text of the type `text/html`',
      'text/javascript: A text of the type `text/javascript`',
      'text/plain or application/openmetrics-text: A text of the type `text/plain`',
      'text/plain: A text of the type `text/plain`',
    ])
  })

  it('describes every path parameter', async () => {
    const bare = operations(await documentAt('/openapi.json')).flatMap(({ path, operation }) =>
      operation.parameters
        .filter((one) => one.in === 'path' && one.description === undefined)
        .map(({ name }) => `${path} ${name}`),
    )
    expect(bare).toEqual([])
  })

  it('contains the limits of this process', async () => {
    const { components } = await documentAt('/openapi.json')
    expect(components.schemas.NodesRequest).toMatchObject({ properties: { nodes: { maxItems: 77 } } })
  })

  it('contains examples that conform to their schemas', async () => {
    const document = await documentAt('/openapi.json')
    const ajv = new Ajv({ strict: false, allErrors: true })
    ;(formats as unknown as (ajv: Ajv) => void)(ajv)
    ajv.addSchema({ $id: 'document', components: { schemas: document.components.schemas } })
    const contents = operations(document).flatMap(({ operation }) => {
      const json = operation.requestBody?.content['application/json']
      return json?.example === undefined ? [] : [{ name: operation.operationId, ...json }]
    })
    expect(contents.length).toBeGreaterThan(20)
    for (const { name, schema, example } of contents) {
      const validate = ajv.compile(
        JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')),
      )
      expect([name, validate(example), validate.errors]).toEqual([name, true, null])
    }
  })

  it('contains examples that their own routes accept', () => {
    const known = new Set(service.app.routes.map(({ operationId }) => operationId))
    expect(Object.keys(examples).filter((id) => !known.has(id))).toEqual([])
    for (const { operationId, example: own, request, parse } of service.app.routes) {
      const example = own ?? examples[operationId]
      if (example === undefined) continue
      const fault = parse?.(example)
      expect([operationId, fault?.ok ?? true]).toEqual([operationId, true])
      expect([operationId, request?.safeParse(example).error?.issues]).toEqual([operationId, undefined])
    }
  })

  it('describes the credentials of each caller', async () => {
    const { paths } = await documentAt('/openapi.json')
    expect(paths['/health']?.get?.security).toEqual([])
    expect(paths['/configs/v1/projects']?.get?.security).toEqual([{ serviceAccount: [] }])
    expect(paths['/capture/v1/nodes']?.post?.security).toEqual([
      { agentKey: [] },
      { agentKeyAsBearer: [] },
      { serviceAccount: [], projectId: [] },
    ])
  })

  it('is checked against every response of these tests', () => {
    const described = new DescribedResponses(service.app.routes)
    const answer = (status: number, text: string, more = {}) => ({
      status,
      text,
      headers: new Headers({ 'content-type': 'application/json', 'x-request-id': 'x', ...more }),
    })
    const faults = (status: number, text: string, more = {}) =>
      described.faults('POST', '/access/v1/evaluation?x=1', answer(status, text, more))
    expect(faults(200, '{"decision":true}')).toEqual([])
    expect(faults(418, '{"decision":true}')).toEqual(['the status 418 is not described'])
    expect(faults(200, '{"decision":"yes"}')).toHaveLength(1)
    expect(faults(400, '{"message":"x","more":1}')).toHaveLength(1)
    expect(faults(200, 'true!')).toEqual(['a body that is not JSON: true!'])
    expect(faults(200, '{"decision":true}', { 'x-powered-by': 'y' })).toEqual([
      'the header x-powered-by is not described',
    ])
    expect(described.faults('POST', '/nowhere', answer(200, '{"message":"x"}'))).toEqual([
      'the status 200 instead of 404',
    ])
  })
})

describe('the committed copy', () => {
  it('is the response of a server with default settings (`npm run golden` rewrites it)', async () => {
    const plain = await startService()
    const document = JSON.stringify((await plain.send('/openapi.json')).body, null, 1)
    await plain.stop()
    const path = join(import.meta.dirname, '..', '..', '..', '..', 'data', 'openapi.json')
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(path, `${document}\n`)
    expect(readFileSync(path, 'utf8')).toBe(`${document}\n`)
  })

  it('has its TypeScript types in the authorizer, the client and the console (`npm run golden` rewrites them)', async () => {
    const path = join(import.meta.dirname, '..', '..', '..', '..', typeScriptFile)
    const types = await generateTypeScript()
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(path, types)
    expect(readFileSync(path, 'utf8')).toBe(types)
  })
})
