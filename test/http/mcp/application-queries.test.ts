// Knowledge queries whose subject is the application, over MCP: off unless the server is configured for them.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type McpService, startMcpService, type TokenMembers } from '../../support/mcp-service.ts'
import type { TestResponse } from '../../support/service.ts'

let setup: McpService
let ann: string
/** Of the application that the bound agent belongs to. */
let backendKey: string

const RESOURCES = 'svc://knowledge-queries/'

beforeAll(async () => {
  setup = await startMcpService()
  ann = await setup.tokenOf('ann')
  backendKey = (await setup.service.addAgent('backend', ['CIQ'])).key
  const cars = 'MATCH (subject:_Application {external_id: $_appId})'
  const reads = { nodes: ['subject.external_id', 'car.external_id', 'car.property.price'] }
  await addQuery('app-cars', { cypher: `${cars}, (car:Car)` }, reads, {
    nodes: ['subject.external_id', 'car.external_id'],
  })
  await addQuery('app-claim', { cypher: `${cars}, (car:Car {external_id: $token.car})` }, reads, {
    nodes: ['car.external_id'],
  })
  const token_filter = {
    operator: 'CONTAINS',
    attribute: '$token.scope',
    value: 'audit',
    advice: { error: 'insufficient_user_authentication', error_description: 'sign in as an auditor' },
  }
  await addQuery('app-audit', { cypher: `${cars}, (car:Car)`, token_filter }, reads, { nodes: ['car.external_id'] })
  await addQuery(
    'app-write',
    {
      cypher: `${cars}, (car:Car)`,
      filter: [{ operator: '=', attribute: 'car.external_id', value: '$car' }],
    },
    reads,
    {
      nodes: ['car.property.price'],
      upsert_nodes: [{ name: 'car', properties: [{ type: 'price', value: '$price' }] }],
    },
    { nodes: { existing_nodes: ['car'] } },
  )
})
afterEach(() => configure({ application_queries: false, enabled: true, app_agent_id: setup.agentId }))
afterAll(() => setup?.stop())

async function addQuery(
  name: string,
  condition: object,
  reads: object,
  query: object,
  upserts?: object,
): Promise<void> {
  const policy_id = await setup.create('authorization-policies', {
    name,
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: '1.0-ciq' },
      subject: { type: '_Application' },
      condition,
      allowed_reads: reads,
      ...(upserts !== undefined && { allowed_upserts: upserts }),
    }),
  })
  await setup.create('knowledge-queries', { name, status: 'ACTIVE', policy_id, query: JSON.stringify(query) })
}

async function configure(members: object): Promise<void> {
  const changed = await setup.service.configure('PUT', `mcp-servers/${setup.serverId}`, members)
  expect([changed.status, changed.body.errors]).toEqual([200, undefined])
}

interface QueryToolResult {
  readonly isError?: boolean
  readonly content: readonly { readonly text: string }[]
  readonly structuredContent?: { readonly data: readonly unknown[] }
}

async function execute(id: string, more: object = {}, token = ann): Promise<QueryToolResult> {
  const { body } = await setup.ask(token, 'tools/call', { name: 'ciq_execute', arguments: { id, ...more } })
  return body.result as QueryToolResult
}

const dataOf = ({ structuredContent, content }: QueryToolResult) => structuredContent?.data ?? content[0]?.text

async function listedNames(): Promise<readonly string[]> {
  const { body } = await setup.ask(ann, 'resources/list')
  return (body.result as { resources: { name: string }[] }).resources.map(({ name }) => name)
}

const overHttp = (id: string, members?: TokenMembers): Promise<TestResponse> =>
  tokenFor(members).then((token) =>
    setup.service.send('/contx-iq/v1/execute', {
      headers: { 'x-svc-clientkey': backendKey, ...(token !== null && { authorization: `Bearer ${token}` }) },
      body: { id },
    }),
  )
const tokenFor = async (members?: TokenMembers) => (members === undefined ? null : setup.tokenOf('ann', members))

describe('without application_queries', () => {
  it('the tool says for whom the query exists, and the resources do not list it', async () => {
    const result = await execute('app-cars')
    expect([result.isError, result.content[0]?.text]).toEqual([
      true,
      "the knowledge query `app-cars` exists only for the application's own key; an administrator can offer it here with `application_queries` of the MCP server",
    ])
    // Not the same as a query that does not exist, whose message names those of the user alone.
    const unknown = (await execute('app-none')).content[0]?.text
    expect(unknown).toBe('no active knowledge query `app-none`; the project has my-cars, my-car, price-car')
    expect((await listedNames()).filter((name) => name.startsWith('app-'))).toEqual([])
    const read = await setup.ask(ann, 'resources/read', { uri: `${RESOURCES}app-cars` })
    expect(read.body.error).toMatchObject({ message: 'Resource not found' })
  })

  it('a query that writes writes nothing', async () => {
    expect((await execute('app-write', { input_params: { car: 'c1', price: 7 } })).isError).toBe(true)
    expect(JSON.stringify(dataOf(await execute('my-car', { input_params: { car: 'c1' } })))).toContain('1000')
  })

  it('a query of another project is unknown', async () => {
    await configure({ application_queries: true })
    const other = await setup.addProject('elsewhere')
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'ciq_execute', arguments: { id: 'app-cars' } },
    }
    const headers = { authorization: `Bearer ${ann}`, accept: 'application/json' }
    const initialize = { ...body, method: 'initialize', params: { protocolVersion: '2025-11-25' } }
    const session = (await setup.service.send(other.path, { headers, body: initialize })).headers.get('mcp-session-id')
    const called = await setup.service.send(other.path, {
      headers: { ...headers, 'mcp-session-id': session ?? '' },
      body,
    })
    expect((called.body.result as QueryToolResult).content[0]?.text).toContain('no active knowledge query `app-cars`')
  })
})

describe('with application_queries', () => {
  it('resources and completions offer them, with their subject, and a call returns what HTTP returns', async () => {
    expect((await setup.service.configure('GET', `mcp-servers/${setup.serverId}`)).body.application_queries).toBe(false)
    await configure({ application_queries: true })
    expect(await listedNames()).toEqual(expect.arrayContaining(['app-cars', 'app-write', 'my-cars']))
    const read = await setup.ask(ann, 'resources/read', { uri: `${RESOURCES}app-cars` })
    const [content] = (read.body.result as { contents: { text: string }[] }).contents
    expect(JSON.parse(content?.text ?? '')).toMatchObject({
      name: 'app-cars',
      subject: 'the application of this server, the same for every user',
      parameters: [],
    })
    const ref = { type: 'ref/resource', uri: 'svc://knowledge-queries/{name}' }
    const completed = await setup.ask(ann, 'completion/complete', { ref, argument: { name: 'name', value: 'app-c' } })
    expect(completed.body.result).toMatchObject({ completion: { values: ['app-cars', 'app-claim'] } })

    const result = await execute('app-cars')
    expect(result.structuredContent).toEqual((await overHttp('app-cars')).body)
    expect(dataOf(result)).toHaveLength(3)
    const session = await setup.open(ann)
    const call = { id: 2, method: 'tools/call', params: { name: 'ciq_execute', arguments: { id: 'app-cars' } } }
    const inSession = await setup.tell(ann, session, call, { accept: 'application/json' })
    expect(inSession.body.result).toMatchObject({ structuredContent: result.structuredContent })
    // Queries of people run as before, each for its own user.
    expect(dataOf(await execute('my-cars'))).toHaveLength(2)
    expect(dataOf(await execute('my-cars', {}, await setup.tokenOf('bob')))).toHaveLength(1)
  })

  it('a valid user token is still required', async () => {
    await configure({ application_queries: true })
    const call = { name: 'ciq_execute', arguments: { id: 'app-cars' } }
    for (const token of ['nonsense', backendKey, await setup.tokenOf('ann', { audience: 'other' })]) {
      expect((await setup.ask(token, 'tools/call', call)).status).toBe(401)
    }
    expect((await setup.ask('', 'tools/call', call, { headers: { authorization: null } })).status).toBe(401)
  })

  it('`$_appId` is the application of the bound agent, and cannot be sent', async () => {
    await configure({ application_queries: true })
    const applications = (result: QueryToolResult) =>
      new Set((dataOf(result) as { nodes: Record<string, string> }[]).map(({ nodes }) => nodes['subject.external_id']))
    expect(applications(await execute('app-cars'))).toEqual(new Set([setup.service.applicationId]))
    const application_id = await setup.create('applications', { name: 'second' })
    const agent = { project_id: undefined, application_id, name: 'second', api_permissions: ['CIQ'] }
    await configure({ app_agent_id: await setup.create('application-agents', agent) })
    expect(applications(await execute('app-cars'))).toEqual(new Set([application_id]))
    const forged = await execute('app-cars', { input_params: { _appId: setup.service.applicationId } })
    expect([forged.isError, forged.content[0]?.text]).toEqual([true, expect.stringContaining('_appId')])
    const claimed = await execute('app-claim', { input_params: { token: { car: 'c1' } } })
    expect(claimed.isError).toBe(true)
  })

  it('`$token` are the claims of the user, and a token filter holds, as over HTTP', async () => {
    await configure({ application_queries: true })
    expect(dataOf(await execute('app-claim'))).toEqual([])
    const claims = { car: 'c2' }
    const result = await execute('app-claim', {}, await setup.tokenOf('ann', { claims }))
    expect(dataOf(result)).toEqual([{ nodes: { 'car.external_id': 'c2' } }])
    expect(result.structuredContent).toEqual((await overHttp('app-claim', { claims })).body)

    const denied = await execute('app-audit')
    expect([denied.isError, denied.content[0]?.text]).toEqual([true, expect.stringContaining('sign in as an auditor')])
    const auditor = await setup.tokenOf('ann', { claims: { scope: 'read audit' } })
    expect(dataOf(await execute('app-audit', {}, auditor))).toHaveLength(3)
  })

  it('the agent needs the permission CIQ', async () => {
    const { agentId } = await setup.service.addAgent('decider', ['Authorization'])
    await configure({ application_queries: true, app_agent_id: agentId })
    const result = await execute('app-cars')
    expect([result.isError, result.content[0]?.text]).toEqual([
      true,
      'the application agent of this MCP server lacks the permission CIQ',
    ])
    expect(await listedNames()).toEqual(['knowledge-queries'])
  })

  it('a query writes with the rights of the application; switching the member off ends it at once', async () => {
    await configure({ application_queries: true })
    // A car of bob, which ann could not change with her own rights.
    const change = { input_params: { car: 'c3', price: 42 } }
    expect(dataOf(await execute('app-write', change))).toEqual([{ nodes: { 'car.property.price': 42 } }])
    await configure({ application_queries: false })
    expect((await execute('app-write', { input_params: { car: 'c3', price: 43 } })).isError).toBe(true)
    const bob = await setup.tokenOf('bob')
    expect(JSON.stringify(dataOf(await execute('my-car', { input_params: { car: 'c3' } }, bob)))).toContain('42')
    expect((await listedNames()).filter((name) => name.startsWith('app-'))).toEqual([])
  })
})
