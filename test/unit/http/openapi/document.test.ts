import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildOpenApiDocument } from '../../../../src/http/openapi/document.ts'
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
    expect(paths['/capture/v1/nodes']?.post?.security).toEqual([{ agentKey: [] }, { agentKeyAsBearer: [] }])
  })

  it('is checked against every response of these tests', () => {
    const described = new DescribedResponses(buildOpenApiDocument(service.app.routes, '3.1.1', 'test'))
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
})
