// The official clients of both lines use all methods over real HTTP, with tokens of a real OpenID provider.
import { Client, StreamableHTTPClientTransport, type VersionNegotiationOptions } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inOrderOfCapture } from '../../support/graph-servers.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'
import { type OpenIdProvider, startProvider } from '../../support/oidc-provider.ts'

const AUDIENCE = 'https://api.example'

let provider: OpenIdProvider
let setup: McpService
let token: string

beforeAll(async () => {
  provider = await startProvider()
  setup = await startMcpService({
    settings: { upstreamAllow: '127.0.0.1', mcpPageMax: 2 },
    provider: { issuer: provider.issuer, audience: AUDIENCE },
  })
  token = await provider.accessTokenFor('ann', AUDIENCE)
})
afterAll(async () => {
  await setup.stop()
  await provider.stop()
})

const transportOptions = () => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } })
const who = { name: 'tour', version: '1' }

/** The common interface of both lines of clients. */
interface Tourist {
  listTools(params?: { cursor?: string }): Promise<{ tools: { name: string }[]; nextCursor?: string | undefined }>
  listResources(params?: {
    cursor?: string
  }): Promise<{ resources: { uri: string }[]; nextCursor?: string | undefined }>
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>
  readResource(params: { uri: string }): Promise<{ contents: unknown[] }>
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>
  complete(params: {
    ref: { type: 'ref/resource'; uri: string }
    argument: { name: string; value: string }
  }): Promise<{ completion: { values: string[] } }>
}

interface ToolCallResult {
  readonly isError?: boolean
  readonly structuredContent?: unknown
  readonly content: readonly { readonly text: string }[]
}

const drive = (resource: string) => ({
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: resource },
})

async function tour(client: Tourist): Promise<void> {
  const call = (name: string, given: Record<string, unknown>) =>
    client.callTool({ name, arguments: given }) as Promise<ToolCallResult>

  const tools = await everyPage(async (params) => {
    const { tools: entries, nextCursor } = await client.listTools(params)
    return { entries: entries.map(({ name }) => name), nextCursor }
  })
  expect(tools).toEqual([
    'authzen_evaluate',
    'authzen_evaluations',
    'authzen_explain',
    'authzen_search_action',
    'authzen_search_resource',
    'authzen_search_subject',
    'ciq_execute',
  ])
  const resources = await everyPage(async (params) => {
    const { resources: entries, nextCursor } = await client.listResources(params)
    return { entries: entries.map(({ uri }) => uri), nextCursor }
  })
  expect(resources).toEqual([
    'svc://knowledge-queries/',
    'svc://knowledge-queries/my-car',
    'svc://knowledge-queries/my-cars',
    'svc://knowledge-queries/price-car',
  ])
  const { resourceTemplates } = await client.listResourceTemplates()
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['svc://knowledge-queries/{name}'])

  const read = await client.readResource({ uri: 'svc://knowledge-queries/' })
  const [content] = read.contents as { text: string }[]
  const { queries } = JSON.parse(content?.text ?? '{}') as { queries: { name: string; parameters: object[] }[] }
  expect(queries.map(({ name }) => name)).toEqual(['my-car', 'my-cars', 'price-car'])
  expect(queries[0]?.parameters).toEqual([
    { name: 'car', required: true, type: 'string', description: 'compared with (=) car.external_id' },
  ])
  await expect(client.readResource({ uri: 'svc://knowledge-queries/none' })).rejects.toMatchObject({
    message: expect.stringContaining('Resource not found'),
  })
  const ref = { type: 'ref/resource', uri: 'svc://knowledge-queries/{name}' } as const
  const completed = await client.complete({ ref, argument: { name: 'name', value: 'my-' } })
  expect(completed.completion.values).toEqual(['my-car', 'my-cars'])

  const permit = await call('authzen_evaluate', drive('c1'))
  expect(permit.structuredContent).toEqual({ decision: true })
  expect(JSON.parse(permit.content[0]?.text ?? '')).toEqual({ decision: true })
  const flat = { subject_type: 'Person', subject_id: 'ann', action_name: 'drive' }
  const denial = await call('authzen_evaluate', { ...flat, resource_type: 'Car', resource_id: 'c3' })
  expect(denial).toMatchObject({ structuredContent: { decision: false } })
  expect(denial.isError ?? false).toBe(false)
  const misspelt = await call('authzen_evaluate', { ...drive('c1'), action: { name: 'drvie' } })
  expect(misspelt.structuredContent).toEqual({
    decision: false,
    context: { reason: expect.stringMatching(/^no_policy: /) },
  })
  const explained = await call('authzen_explain', { ...flat, resource_type: 'Car', resource_id: 'c3' })
  expect(explained.structuredContent).toMatchObject({
    decision: false,
    policies: [{ outcome: 'denied', nearest_miss: { stopped: { says: expect.stringContaining('OWNS') } } }],
  })
  expect(JSON.stringify(explained.structuredContent)).not.toContain('"plan"')
  const evaluations = [{ resource: { type: 'Car', id: 'c2' } }, { resource_type: 'Car', resource_id: 'c3' }]
  expect(await call('authzen_evaluations', { ...flat, evaluations })).toMatchObject({
    structuredContent: { evaluations: [{ decision: true }, { decision: false }] },
  })
  const found = await call('authzen_search_resource', { ...flat, resource_type: 'Car' })
  const { results } = found.structuredContent as { results: { type: string; id: string }[] }
  expect(inOrderOfCapture(results, ({ id }) => id)).toEqual([
    { type: 'Car', id: 'c1' },
    { type: 'Car', id: 'c2' },
  ])
  const { action: _, ...pair } = drive('c1')
  expect(await call('authzen_search_action', pair)).toMatchObject({
    structuredContent: { results: [{ name: 'drive' }] },
  })
  const sought = { subject_type: 'Person', action_name: 'drive', resource_type: 'Car', resource_id: 'c3' }
  expect(await call('authzen_search_subject', sought)).toMatchObject({
    structuredContent: { results: [{ type: 'Person', id: 'bob' }] },
  })
  const executed = await call('ciq_execute', { id: 'my-car', input_params: { car: 'c2' } })
  expect(executed.structuredContent).toEqual({
    data: [{ nodes: { 'car.external_id': 'c2', 'car.property.price': 2000 } }],
  })

  const wrong = await call('authzen_evaluate', { subject: { type: 'Person' } })
  expect(wrong.isError).toBe(true)
  expect(wrong.content[0]?.text).toContain('subject.id: expected string')
  await expect(client.callTool({ name: 'no_such_tool' })).rejects.toMatchObject({ code: -32602 })
}

/** Follows cursors; a client that follows all pages itself returns none. */
async function everyPage<T>(
  ask: (params?: { cursor: string }) => Promise<{ entries: T[]; nextCursor?: string | undefined }>,
): Promise<T[]> {
  const all: T[] = []
  for (let page = await ask(); ; page = await ask({ cursor: page.nextCursor })) {
    all.push(...page.entries)
    if (page.nextCursor === undefined) return all
  }
}

describe('the official clients', () => {
  it('of the first line use all methods in a session, and end it', async () => {
    const client = new OldClient(who)
    const transport = new OldTransport(new URL(setup.url), transportOptions())
    await client.connect(transport as never)
    const session = transport.sessionId as string
    expect(client.getInstructions()).toContain('svc://knowledge-queries/')
    expect(await client.ping()).toEqual({})
    await tour(client as unknown as Tourist)
    await transport.terminateSession()
    await client.close()
    const late = await setup.tell(token, session, { id: 1, method: 'ping' })
    expect(late.status).toBe(404)
  })

  const modes: readonly [string, VersionNegotiationOptions | undefined, string][] = [
    ['by default', undefined, '2025-11-25'],
    ['in auto mode', { mode: 'auto' }, '2026-07-28'],
    ['pinned to the stateless revision', { mode: { pin: '2026-07-28' } }, '2026-07-28'],
  ]
  it.each(modes)('of the second line use all methods %s', async (_, versionNegotiation, revision) => {
    const client = new Client(who, versionNegotiation === undefined ? {} : { versionNegotiation })
    const transport = new StreamableHTTPClientTransport(new URL(setup.url), transportOptions())
    await client.connect(transport)
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    expect(transport.sessionId === undefined).toBe(revision === '2026-07-28')
    await tour(client as unknown as Tourist)
    await client.close()
  })
})
