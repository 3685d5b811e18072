// The wire format of both revisions: status codes, error codes and data, as third-party clients see them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'
import type { TestResponse } from '../../support/service.ts'

let setup: McpService
let ann: string

beforeAll(async () => {
  setup = await startMcpService()
  ann = await setup.tokenOf('ann')
})
afterAll(() => setup.stop())

interface WireMessage {
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}
const told = ({ body }: TestResponse): WireMessage => body as WireMessage

describe('the stateless revision', () => {
  it('discovers both revisions, the server info, and the lifetime of the response', async () => {
    const answered = await setup.ask(ann, 'server/discover', {}, { headers: { 'mcp-session-id': 'stale' } })
    expect(answered.status).toBe(200)
    expect(answered.headers.get('mcp-session-id')).toBeNull()
    expect(told(answered).result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28', '2025-11-25'],
      capabilities: { tools: {}, resources: {}, completions: {} },
      ttlMs: 3_600_000,
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'verdigraph' } },
    })
  })

  it('returns cache hints with lists and reads, and none with calls', async () => {
    for (const method of ['tools/list', 'resources/list', 'resources/templates/list']) {
      expect(told(await setup.ask(ann, method)).result).toMatchObject({ ttlMs: expect.any(Number) })
    }
    const read = await setup.ask(ann, 'resources/read', { uri: 'svc://knowledge-queries/' })
    expect(told(read).result).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
    const called = await setup.ask(ann, 'tools/call', { name: 'ciq_execute', arguments: { id: 'my-cars' } })
    expect(told(called).result).not.toHaveProperty('ttlMs')
  })

  const v = 'io.modelcontextprotocol/protocolVersion'
  const capabilities = 'io.modelcontextprotocol/clientCapabilities'
  type Row = [what: string, more: Parameters<McpService['ask']>[3], status: number, code: number]
  const rows: Row[] = [
    ['without the header of the revision', { headers: { 'mcp-protocol-version': null } }, 400, -32020],
    ['with another revision in the header', { headers: { 'mcp-protocol-version': '2025-11-25' } }, 400, -32020],
    ['without the header of the method', { headers: { 'mcp-method': null } }, 400, -32020],
    ['with another case of the method', { headers: { 'mcp-method': 'Tools/Call' } }, 400, -32020],
    ['without the header of the name', { headers: { 'mcp-name': null } }, 400, -32020],
    ['with another name in the header', { headers: { 'mcp-name': 'ciq_execute' } }, 400, -32020],
    ['with a name that is badly encoded', { headers: { 'mcp-name': '=?base64?Y2l?=' } }, 400, -32020],
    ['with a revision in `_meta` that is no string', { meta: { [v]: 7 } }, 400, -32602],
    ['without capabilities', { meta: { [capabilities]: null } }, 400, -32602],
    ['without `_meta` that names a revision', { meta: { [v]: undefined } }, 400, -32602],
  ]
  it.each(rows)('refuses a request %s', async (_, more, status, code) => {
    const answered = await setup.ask(ann, 'tools/call', { name: 'authzen_evaluate' }, more)
    expect({ status: answered.status, code: told(answered).error?.code }).toEqual({ status, code })
  })

  it('treats a wrongly encoded name as no name, also if the body has none', async () => {
    const answered = await setup.ask(ann, 'tools/call', { name: null }, { headers: { 'mcp-name': '=?base64?Y?=' } })
    expect([answered.status, told(answered).error?.code]).toEqual([400, -32020])
  })

  it('accepts a name with surrounding blanks, and one in base64', async () => {
    for (const name of [' ciq_execute ', `=?base64?${btoa('ciq_execute')}?=`]) {
      const call = { name: 'ciq_execute', arguments: { id: 'my-cars' } }
      const answered = await setup.ask(ann, 'tools/call', call, { headers: { 'mcp-name': name } })
      expect(told(answered).result).toMatchObject({ structuredContent: { data: expect.any(Array) } })
    }
  })

  it('names its revisions to a request for another', async () => {
    for (const revision of ['2099-01-01', '1999-01-01']) {
      const more = { headers: { 'mcp-protocol-version': revision }, meta: { [v]: revision } }
      const answered = await setup.ask(ann, 'tools/list', {}, more)
      expect(answered.status).toBe(400)
      expect(told(answered).error).toEqual({
        code: -32022,
        message: 'Unsupported protocol version',
        data: { supported: ['2026-07-28', '2025-11-25'], requested: revision },
      })
    }
  })

  it.each(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'prompts/list', 'toString'])(
    'has no method %s',
    async (method) => {
      const answered = await setup.ask(ann, method)
      expect({ status: answered.status, code: told(answered).error?.code }).toEqual({ status: 404, code: -32601 })
    },
  )

  it('reports a missing resource, an unknown tool and a bad cursor with 200', async () => {
    const missing = await setup.ask(ann, 'resources/read', { uri: 'svc://knowledge-queries/none' })
    expect(missing.status).toBe(200)
    expect(told(missing).error).toMatchObject({ code: -32602, data: { uri: 'svc://knowledge-queries/none' } })
    const unknown = await setup.ask(ann, 'tools/call', { name: 'none' })
    expect([unknown.status, told(unknown).error?.code]).toEqual([200, -32602])
    for (const cursor of ['x', '', 7, btoa('resources '), btoa('tools x')]) {
      const answered = await setup.ask(ann, 'resources/list', { cursor })
      expect([answered.status, told(answered).error?.code]).toEqual([200, -32602])
    }
  })
})

describe('the session style', () => {
  const initialize = (protocolVersion: string) => ({
    id: 'one',
    method: 'initialize',
    params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  })

  it('echoes the supported revisions, and replies with its newest to any other', async () => {
    const asked = {
      '2025-11-25': '2025-11-25',
      '2025-06-18': '2025-06-18',
      '2025-03-26': '2025-03-26',
      '1.0': '2025-11-25',
    }
    for (const [revision, negotiated] of Object.entries(asked)) {
      const answered = await setup.tell(ann, null, initialize(revision))
      expect(answered.headers.get('mcp-session-id')).toMatch(/^[\x21-\x7e]{60,}$/)
      expect(told(answered).result).toMatchObject({ protocolVersion: negotiated, serverInfo: { name: 'verdigraph' } })
      expect(told(answered).result).not.toHaveProperty('resultType')
    }
  })

  it('requires a session: 400 without one, 404 with an invalid one', async () => {
    const without = await setup.tell(ann, null, { id: 1, method: 'tools/list' })
    expect([without.status, told(without).error?.code]).toEqual([400, -32600])
    const unknown = await setup.tell(ann, 'a.b.c', { id: 1, method: 'tools/list' })
    expect([unknown.status, told(unknown).error?.code]).toEqual([404, -32001])
  })

  it('responds to ping, accepts notifications, and refuses unknown methods', async () => {
    const session = await setup.open(ann)
    expect(told(await setup.tell(ann, session, { id: 7, method: 'ping' }))).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: {},
    })
    const notified = await setup.tell(ann, session, { method: 'notifications/initialized' })
    expect([notified.status, notified.text]).toEqual([202, ''])
    const unknown = await setup.tell(ann, session, { id: 1, method: 'server/discover' })
    expect([unknown.status, told(unknown).error?.code]).toEqual([200, -32601])
    const params = { uri: 'svc://other/' }
    const missing = await setup.tell(ann, session, { id: 1, method: 'resources/read', params })
    expect([missing.status, told(missing).error?.code]).toEqual([200, -32002])
  })

  it('accepts any of its revisions with a later request, and names both to another', async () => {
    const session = await setup.open(ann)
    const ping = { id: 1, method: 'ping' }
    for (const revision of ['2025-11-25', '2025-06-18']) {
      expect((await setup.tell(ann, session, ping, { 'mcp-protocol-version': revision })).status).toBe(200)
    }
    const other = await setup.tell(ann, session, ping, { 'mcp-protocol-version': '2024-11-05' })
    expect([other.status, told(other).error?.code]).toEqual([400, -32022])
    const later = await setup.tell(ann, session, ping, { 'mcp-protocol-version': '2026-07-28' })
    expect([later.status, told(later).error?.code]).toEqual([400, -32602])
    for (const ofNoSession of ['2026-07-28', '2099-01-01']) {
      const header = { 'mcp-protocol-version': ofNoSession }
      const opened = await setup.tell(ann, null, initialize('2025-11-25'), header)
      expect([opened.status, told(opened).error?.code]).toEqual([400, -32020])
      const params = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2025-11-25' } }
      const differing = await setup.tell(ann, session, { ...ping, params }, header)
      expect([differing.status, told(differing).error?.code]).toEqual([400, -32020])
    }
  })

  it('responds with an event stream to clients that accept only events, and to all others with JSON', async () => {
    const session = await setup.open(ann)
    const ask = (accept: string) => setup.tell(ann, session, { id: 1, method: 'ping' }, { accept })
    for (const accept of [
      'text/event-stream',
      'Text/Event-Stream; q=0.9',
      'text/event-stream, text/event-stream;q=1',
    ]) {
      const events = await ask(accept)
      expect(events.headers.get('content-type')).toBe('text/event-stream')
      expect(events.text).toBe('event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n')
    }
    for (const accept of ['*/*', 'application/json', 'text/html', 'text/event-stream, application/json;q=0.1']) {
      expect((await ask(accept)).headers.get('content-type')).toBe('application/json')
    }
  })

  it('ends with DELETE once', async () => {
    const session = await setup.open(ann)
    const headers = { authorization: `Bearer ${ann}`, 'mcp-session-id': session }
    const end = (more = {}) => setup.service.send(setup.path, { method: 'DELETE', headers: { ...headers, ...more } })
    expect((await end({ 'mcp-protocol-version': '2026-07-28' })).status).toBe(405)
    expect((await end()).status).toBe(204)
    expect((await end()).status).toBe(404)
    expect((await setup.tell(ann, session, { id: 1, method: 'ping' })).status).toBe(404)
  })
})

describe('an invalid message', () => {
  const bodies: [string, number][] = [
    ['{', -32700],
    ['', -32700],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700],
    ['[]', -32600],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['null', -32600],
    ['{"id":1,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":7}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600],
  ]
  it.each(bodies)('%s is refused', async (raw, code) => {
    const headers = { authorization: `Bearer ${ann}`, 'content-type': 'application/json' }
    const answered = await setup.service.send(setup.path, { method: 'POST', headers, raw })
    expect([answered.status, told(answered).error?.code]).toEqual([400, code])
  })
})

describe('tools', () => {
  const call = async (name: string, given: unknown, token = ann): Promise<Record<string, unknown>> => {
    const answered = await setup.ask(token, 'tools/call', { name, arguments: given })
    expect(answered.status).toBe(200)
    return told(answered).result ?? {}
  }
  const textOf = (result: Record<string, unknown>) => (result.content as { text: string }[])[0]?.text

  it('have titles, honest annotations and schemas of both sides', async () => {
    const { tools } = told(await setup.ask(ann, 'tools/list')).result as { tools: Record<string, unknown>[] }
    for (const { name, title, description, annotations, inputSchema, outputSchema } of tools) {
      const reads = name !== 'ciq_execute'
      expect({ title, description }).toEqual({ title: expect.any(String), description: expect.any(String) })
      expect(annotations).toEqual({
        title,
        readOnlyHint: reads,
        destructiveHint: !reads,
        idempotentHint: reads,
        openWorldHint: !reads,
      })
      expect([inputSchema, outputSchema]).toEqual([
        expect.objectContaining({ type: 'object' }),
        expect.objectContaining({ type: 'object' }),
      ])
    }
  })

  it('return what HTTP returns, with the same schemas', async () => {
    const { tools } = told(await setup.ask(ann, 'tools/list')).result as {
      tools: { name: string; inputSchema: unknown; outputSchema: unknown }[]
    }
    const { paths, components } = (await setup.service.send('/openapi.json')).body as {
      paths: Record<string, { post: ToolDescription }>
      components: { schemas: Record<string, object> }
    }
    // The tools have no references.
    const inlined = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(inlined)
      if (typeof value !== 'object' || value === null) return value
      const { $ref, ...own } = value as { $ref?: string }
      const referenced = $ref === undefined ? {} : components.schemas[$ref.split('/').at(-1) ?? '']
      return Object.fromEntries(
        Object.entries({ ...referenced, ...own }).map(([key, member]) => [key, inlined(member)]),
      )
    }
    const ofHttp = (path: string) => inlined(paths[path]?.post.responses['200']?.content['application/json']?.schema)

    const inMcp = (name: string) => tools.find((tool) => tool.name === name)
    for (const [name, path] of [
      ['authzen_evaluate', '/access/v1/evaluation'],
      ['authzen_search_resource', '/access/v1/search/resource'],
      ['authzen_search_action', '/access/v1/search/action'],
      ['authzen_search_subject', '/access/v1/search/subject'],
      ['ciq_execute', '/contx-iq/v1/execute'],
    ] as const) {
      expect([name, opened(inMcp(name)?.outputSchema)]).toEqual([name, opened(ofHttp(path))])
    }
    const { anyOf } = ofHttp('/access/v1/evaluations') as { anyOf: unknown[] }
    expect(opened(inMcp('authzen_evaluations')?.outputSchema)).toEqual(opened(anyOf[0]))
    const taken = inlined(paths['/contx-iq/v1/execute']?.post.requestBody.content['application/json']?.schema)
    expect(inMcp('ciq_execute')?.inputSchema).toEqual(taken)
  })

  it('run under the token: each person sees their own data, and a write is one', async () => {
    const cars = async (token: string) =>
      ((await call('ciq_execute', { id: 'my-cars' }, token)).structuredContent as { data: unknown[] }).data.length
    expect(await cars(ann)).toBe(2)
    expect(await cars(await setup.tokenOf('bob'))).toBe(1)
    await call('ciq_execute', { id: 'price-car', input_params: { car: 'c1', price: 4321 } })
    const seen = await call('ciq_execute', { id: 'my-car', input_params: { car: 'c1' } })
    expect(seen.structuredContent).toEqual({
      data: [{ nodes: { 'car.external_id': 'c1', 'car.property.price': 4321 } }],
    })
  })

  it('count pages by `page`, and by `page_token` where the project counts pages', async () => {
    const { service } = setup
    const cars = async (members: object): Promise<unknown> => {
      const { structuredContent } = await call('ciq_execute', { id: 'my-cars', ...members })
      return (structuredContent as { data: unknown }).data
    }
    const all = (await cars({ page_size: 0 })) as unknown[]
    expect(all).toHaveLength(2)
    expect(await cars({ page: 2, page_size: 1 })).toEqual(all.slice(1))
    const both = await call('ciq_execute', { id: 'my-cars', page: 1, page_token: 0 })
    expect([both.isError, textOf(both)]).toEqual([
      true,
      'page: `page_token` is given too; give `page`, which counts pages, or `page_token`',
    ])
    const project = `projects/${service.projectId}`
    expect(await cars({ page_token: 1, page_size: 1 })).toEqual(all.slice(1))
    await service.configure('PUT', project, { page_token_counts: 'pages' })
    expect(await cars({ page_token: 1, page_size: 1 })).toEqual(all.slice(0, 1))
    expect(await cars({ page_token: 2, page_size: 1 })).toEqual(all.slice(1))
    const full = await call('ciq_execute', { id: 'my-cars', page_size: 1, page_token: 1 })
    expect(full.content).toContainEqual({ type: 'text', text: expect.stringContaining('with page_token 2.') })
    await service.configure('PUT', project, { page_token_counts: 'rows' })
  })

  it('report that a page is full', async () => {
    const result = await call('ciq_execute', { id: 'my-cars', page_size: 1 })
    expect(result.content).toEqual([
      { type: 'text', text: expect.any(String) },
      { type: 'text', text: 'This page is full. There may be more records: call again with page_token 1.' },
    ])
    const counted = await call('ciq_execute', { id: 'my-cars', page_size: 2, page_token: 1 })
    expect(counted.content).toContainEqual({ type: 'text', text: expect.stringContaining('with page_token 2.') })
    const second = await call('ciq_execute', { id: 'my-cars', page_size: 1, page: 2 })
    expect(second.content).toContainEqual({ type: 'text', text: expect.stringContaining('call again with page 3.') })
    const written = await call('ciq_execute', {
      id: 'price-car',
      page_size: 1,
      input_params: { car: 'c2', price: 2000 },
    })
    expect(written.content).toEqual([{ type: 'text', text: expect.any(String) }])
  })

  it('and resources show the ACTIVE queries of the own project; others look like missing ones', async () => {
    const policy = await setup.service.configure(
      'GET',
      `authorization-policies/own-cars?project_id=${setup.service.projectId}`,
    )
    const other = await setup.addProject('hidden')
    const query = JSON.stringify({ nodes: ['car.external_id'] })
    const here = { policy_id: policy.body.id, query }
    const hidden = [
      ['hidden-draft', { ...here, status: 'DRAFT' }],
      ['hidden-inactive', { ...here, status: 'INACTIVE' }],
      ['hidden-elsewhere', { project_id: other.projectId, policy_id: other.policyId, query, status: 'ACTIVE' }],
    ] as const
    const notFound = (name: string) =>
      `no active knowledge query \`${name}\`; the project has my-cars, my-car, price-car`
    for (const [name, body] of hidden) {
      const id = await setup.create('knowledge-queries', { name, ...body })
      for (const key of [id, name]) {
        expect(textOf(await call('ciq_execute', { id: key }))).toBe(notFound(key))
        const uri = `svc://knowledge-queries/${key}`
        expect(told(await setup.ask(ann, 'resources/read', { uri })).error).toMatchObject({ data: { uri } })
      }
    }
    const ref = { type: 'ref/resource', uri: 'svc://knowledge-queries/{name}' }
    const completed = await setup.ask(ann, 'completion/complete', { ref, argument: { name: 'name', value: 'hidden' } })
    expect(told(completed).result).toMatchObject({ completion: { values: [], total: 0, hasMore: false } })
    const listed = await setup.ask(ann, 'resources/list')
    const collection = await setup.ask(ann, 'resources/read', { uri: 'svc://knowledge-queries/' })
    expect(`${listed.text} ${collection.text}`).not.toContain('hidden')
  })

  it('run for the subject of the token only: a query for the application is not listed', async () => {
    const policy_id = await setup.create('authorization-policies', {
      name: 'own-application',
      status: 'ACTIVE',
      policy: JSON.stringify({
        meta: { policy_version: '1.0-ciq' },
        subject: { type: '_Application' },
        condition: { cypher: 'MATCH (subject:_Application {external_id: $_appId}), (car:Car)' },
        allowed_reads: { nodes: ['car.external_id'] },
      }),
    })
    const query = JSON.stringify({ nodes: ['car.external_id'] })
    const id = await setup.create('knowledge-queries', { name: 'all-cars', status: 'ACTIVE', policy_id, query })
    const { key } = await setup.service.addAgent('backend', ['CIQ'])
    const asked = { headers: { 'x-svc-clientkey': key }, body: { id } }
    const overHttp = await setup.service.send('/contx-iq/v1/execute', asked)
    expect([overHttp.status, (overHttp.body as { data: unknown[] }).data.length]).toEqual([200, 3])
    for (const named of [id, 'all-cars']) {
      const result = await call('ciq_execute', { id: named })
      expect([result.isError, textOf(result)]).toEqual([
        true,
        expect.stringContaining("exists only for the application's own key"),
      ])
      expect(
        told(await setup.ask(ann, 'resources/read', { uri: `svc://knowledge-queries/${named}` })).error,
      ).toMatchObject({ message: 'Resource not found' })
    }
    for (const method of ['resources/list', 'ciq_execute']) {
      const answered = method === 'resources/list' ? await setup.ask(ann, method) : await call(method, { id: 'none' })
      expect(JSON.stringify(answered)).not.toContain('all-cars')
    }
  })

  const failures: [string, string, object, string][] = [
    ['an unknown query, with the existing ones', 'ciq_execute', { id: 'x' }, 'the project has '],
    ['a parameter that is missing', 'ciq_execute', { id: 'my-car' }, "missing or wrong input params, 'car'"],
    ['an unknown argument', 'ciq_execute', { id: 'my-car', params: {} }, 'unknown argument `params`'],
    ['an argument of another type', 'ciq_execute', { id: 7 }, 'id: expected string, found number'],
    [
      'both forms at once',
      'authzen_evaluate',
      { subject: {}, subject_id: 'x' },
      'subject_id: given together with subject',
    ],
    ['a batch without items', 'authzen_evaluations', { evaluations: [] }, 'at least one evaluation'],
  ]
  it.each(failures)('report %s', async (_, name, given, expected) => {
    const result = await call(name, given)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain(expected)
  })

  it('read integers as HTTP does, and report other numbers', async () => {
    const session = await setup.open(ann)
    const headers = { authorization: `Bearer ${ann}`, 'mcp-session-id': session }
    for (const [size, answer] of [
      ['1.5', 'page_size: expected integer, found number'],
      ['9007199254740993', 'page_size: expected integer of at most 53 bits, found `9007199254740993`'],
      ['1.0', '{"data":['],
    ] as const) {
      const params = `{"name":"ciq_execute","arguments":{"id":"my-cars","page_size":${size}}}`
      const raw = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
      const answered = await setup.service.send(setup.path, {
        headers: { ...headers, 'content-type': 'application/json' },
        raw,
      })
      const { result = {} } = told(answered)
      expect(textOf(result)?.slice(0, answer.length), size).toBe(answer)
    }
  })

  it('refuse a decision for another subject than that of the token', async () => {
    const flat = {
      subject_type: 'Person',
      subject_id: 'bob',
      action_name: 'drive',
      resource_type: 'Car',
      resource_id: 'c3',
    }
    const result = await call('authzen_evaluate', flat)
    expect([result.isError, textOf(result)]).toEqual([true, 'bearer token subject differs from requested subject'])
  })
})

describe('the metadata of the resource', () => {
  it('names the endpoint, the issuer and the scopes, for pages of every origin', async () => {
    const { projectId, url } = setup.service
    const answered = await setup.service.send(`/.well-known/oauth-protected-resource/mcp/v1/${projectId}`)
    expect(answered.headers.get('access-control-allow-origin')).toBe('*')
    expect(answered.body).toEqual({
      resource: `${url}/mcp/v1/${projectId}`,
      authorization_servers: ['https://people.example.org'],
      scopes_supported: ['graph:read', 'graph:write'],
      bearer_methods_supported: ['header'],
      resource_name: 'Verdigraph',
    })
    expect((await setup.service.send('/.well-known/oauth-protected-resource/mcp/v1/none')).status).toBe(404)
  })

  it('names, for opaque tokens, the issuer whose endpoint accepts them; without one there is no server', async () => {
    const path = `/.well-known/oauth-protected-resource/mcp/v1/${setup.service.projectId}`
    const token_introspect_id = await setup.create('token-introspects', {
      name: 'opaque',
      opaque_matcher: { hint: 'people' },
      online_validation: { userinfo_endpoint: 'https://idp.example.org/realms/club/userinfo' },
      ikg_node_type: 'Person',
    })
    const { service, serverId } = setup
    expect((await service.configure('PUT', `mcp-servers/${serverId}`, { token_introspect_id })).status).toBe(200)
    expect((await service.send(path)).body.authorization_servers).toEqual(['https://idp.example.org'])
    expect((await service.configure('DELETE', `token-introspects/${token_introspect_id}`)).status).toBe(200)
    expect((await service.send(path)).status).toBe(404)
    expect((await setup.ask(ann, 'server/discover')).status).toBe(404)
    const back = { token_introspect_id: setup.introspectId }
    expect((await service.configure('PUT', `mcp-servers/${serverId}`, back)).status).toBe(200)
  })
})

type ToolContent = Record<string, { readonly schema: unknown }>
interface ToolDescription {
  readonly requestBody: { readonly content: ToolContent }
  readonly responses: Record<string, { readonly content: ToolContent }>
}

/** The HTTP description excludes additional members; a tool's schema does so only where a reader may rely on it. */
function opened(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(opened)
  if (typeof schema !== 'object' || schema === null) return schema
  const { additionalProperties, ...rest } = schema as Record<string, unknown>
  const kept = additionalProperties === false || additionalProperties === undefined ? {} : { additionalProperties }
  return { ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, opened(value)])), ...kept }
}
