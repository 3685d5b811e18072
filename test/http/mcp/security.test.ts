// Access control of MCP: tokens, foreign sessions, origins, bodies, and very many sessions.
import { connect } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isJsonObject } from '../../../src/kernel/json/json-kind.ts'
import { StoredEndedSessions } from '../../../src/mcp/session/ended-sessions.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { testSeed } from '../../generate/random.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'

let setup: McpService
let clock: ManualClock
let ann: string
let bob: string

beforeAll(async () => {
  clock = new ManualClock(Date.now())
  setup = await startMcpService({
    settings: { mcpSessionTimeS: 60, bodyBytesMax: 4096 },
    overrides: { clock },
  })
  ann = await setup.tokenOf('ann', { expires: '2 hours' })
  bob = await setup.tokenOf('bob', { expires: '2 hours' })
})
afterAll(() => setup.stop())

const ping = { id: 1, method: 'ping' }

describe('a token', () => {
  const challenge = () => {
    const { url, projectId } = setup.service
    return `resource_metadata="${url}/.well-known/oauth-protected-resource/mcp/v1/${projectId}", scope="graph:read graph:write"`
  }

  it('that is missing gets a challenge without an error code', async () => {
    const answered = await setup.service.send(setup.path, { body: { jsonrpc: '2.0', ...ping } })
    expect([answered.status, answered.headers.get('www-authenticate')]).toEqual([401, `Bearer ${challenge()}`])
  })

  it('of another audience or issuer, expired, or missing is refused on every method', async () => {
    const tokens = [
      await setup.tokenOf('ann', { audience: 'other' }),
      await setup.tokenOf('ann', { issuer: 'https://elsewhere.example.org' }),
      await setup.tokenOf('ann', { expires: '1 hour ago' }),
      'nonsense',
      setup.service.token,
      setup.service.key,
    ]
    for (const token of tokens) {
      const answered = await setup.ask(token, 'server/discover')
      expect(answered.status).toBe(401)
      expect(answered.headers.get('www-authenticate')).toContain(`error="invalid_token"`)
      expect(answered.headers.get('www-authenticate')).toContain(challenge())
    }
  })

  it('is verified only by the configuration of the server', async () => {
    const create = { name: 'others', ikg_node_type: 'Person', offline_validation: {} }
    const jwt_matcher = { issuer: 'https://people.example.org', audience: 'other' }
    const { body } = await setup.service.configure('GET', `token-introspects/${setup.introspectId}`)
    const { offline_validation } = body
    await setup.create('token-introspects', { ...create, jwt_matcher, offline_validation })
    const token = await setup.tokenOf('ann', { audience: 'other' })
    expect((await setup.ask(token, 'server/discover')).status).toBe(401)
    const { key } = await setup.service.addAgent('other', ['CIQ'])
    const headers = { 'x-svc-clientkey': key, authorization: `Bearer ${token}` }
    expect((await setup.service.send('/contx-iq/v1/whoami', { headers })).status).toBe(200)
  })

  it('of a delegation that does not match is a 400 without a challenge', async () => {
    const foreign = await setup.ask(ann, 'server/discover', {}, { headers: { 'x-svc-token': bob } })
    expect([foreign.status, foreign.headers.get('www-authenticate'), foreign.body]).toEqual([
      400,
      null,
      {
        error: 'invalid_request',
        error_description: 'token in X-SVC-Token header carries a different sub than the subject token',
      },
    ])
    const bad = await setup.ask(ann, 'server/discover', {}, { headers: { 'x-svc-token': 'nonsense' } })
    expect([bad.status, bad.body.error_description]).toEqual([400, 'Invalid token in X-SVC-Token header'])
    const own = await setup.tokenOf('ann', { claims: { act: { sub: 'robot' } } })
    expect((await setup.ask(ann, 'server/discover', {}, { headers: { 'x-svc-token': own } })).status).toBe(200)
    const nobody = await setup.ask('nonsense', 'server/discover', {}, { headers: { 'x-svc-token': own } })
    expect(nobody.status).toBe(401)
  })
})

describe('a session', () => {
  it('of another subject or project, or with a changed character, is invalid', async () => {
    const session = await setup.open(ann)
    expect((await setup.tell(ann, session, ping)).status).toBe(200)
    expect((await setup.tell(bob, session, ping)).status).toBe(404)
    for (const at of [0, 12, 30, session.length - 1]) {
      const changed = `${session.slice(0, at)}${session[at] === 'a' ? 'b' : 'a'}${session.slice(at + 1)}`
      expect((await setup.tell(ann, changed, ping)).status).toBe(404)
    }
    const other = await setup.addProject('other')
    const elsewhere = { authorization: `Bearer ${ann}`, 'mcp-session-id': session }
    const initialize = { method: 'initialize', params: { protocolVersion: '2025-11-25' } }
    const body = { jsonrpc: '2.0', ...ping }
    expect((await setup.service.send(other.path, { headers: elsewhere, body })).status).toBe(404)
    const opened = await setup.service.send(other.path, { headers: elsewhere, body: { ...body, ...initialize } })
    const theirs = opened.headers.get('mcp-session-id') as string
    const there = { ...elsewhere, 'mcp-session-id': theirs }
    expect((await setup.service.send(other.path, { headers: there, body })).status).toBe(200)
    expect((await setup.tell(ann, theirs, ping)).status).toBe(404)
    const headers = { authorization: `Bearer ${bob}`, 'mcp-session-id': session }
    expect((await setup.service.send(setup.path, { method: 'DELETE', headers })).status).toBe(404)
    expect((await setup.tell(ann, session, ping)).status).toBe(200)
  })

  it('expires', async () => {
    const session = await setup.open(ann)
    clock.advance(59_000)
    expect((await setup.tell(ann, session, ping)).status).toBe(200)
    clock.advance(1000)
    expect((await setup.tell(ann, session, ping)).status).toBe(404)
  })

  it('holds no state on the server: of 10,000 each is valid, and only an ended one has ended', async () => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'many', version: '1' } }
    const body = new TextEncoder().encode(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }))
    const given = new Map([
      ['authorization', `Bearer ${ann}`],
      ['content-type', 'application/json'],
      ['host', 'localhost'],
    ])
    const ids = new Set<string>()
    for (let i = 0; i < 10_000; i++) {
      const answered = await setup.service.app.handle({
        method: 'POST',
        path: setup.path,
        query: '',
        headers: () => given,
        header: (name) => given.get(name) ?? null,
        body: () => body,
      })
      ids.add(answered.headers['mcp-session-id'] as string)
    }
    expect(ids.size).toBe(10_000)
    const [first, second] = ids as unknown as Iterable<string>
    const headers = { authorization: `Bearer ${ann}`, 'mcp-session-id': first as string }
    expect((await setup.service.send(setup.path, { method: 'DELETE', headers })).status).toBe(204)
    expect((await setup.tell(ann, first as string, ping)).status).toBe(404)
    expect((await setup.tell(ann, second as string, ping)).status).toBe(200)
  })

  it('that was ended is remembered within a limit: beyond it the oldest end, with all of the same age', async () => {
    const collections = new Map<string, Map<string, unknown>>()
    const of = (name: string) => collections.get(name) ?? new Map<string, unknown>()
    const reading = {
      get: (name: string, key: string) => of(name).get(key) ?? null,
      all: (name: string) => [...of(name)].sort(),
    }
    const put = (name: string, key: string, value: unknown) => collections.set(name, of(name).set(key, value))
    const deleteKey = (name: string, key: string) => void of(name).delete(key)
    const moment = { load: () => 0, store: () => undefined }
    const store = {
      read: <T>(look: (from: typeof reading) => T) => look(reading),
      transact: async <T>(change: (to: typeof reading & { put: typeof put; delete: typeof deleteKey }) => T) =>
        change({ ...reading, put, delete: deleteKey }),
    }
    const ended = new StoredEndedSessions(store as never, moment, new ManualClock(500), 10)
    const session = (n: number) => ({ key: `k${n}`, openedMs: n, expiresMs: 1000 + n, protocolVersion: '2025-11-25' })
    for (let n = 1; n <= 200; n++) await ended.add('p', session(n))
    for (let n = 1; n <= 200; n++) expect(ended.has('p', session(n))).toBe(true)
    expect(ended.has('p', session(201))).toBe(false)
    expect(ended.has('q', session(1))).toBe(false)
    expect(of('mcp-ended-p').size).toBeLessThanOrEqual(10)
    await ended.add('q', session(1))
    await ended.sweep((projectId) => projectId === 'q')
    expect(ended.has('p', session(1))).toBe(false)
    expect([of('mcp-ended-p').size, of('mcp-ended').size, ended.has('q', session(1))]).toEqual([0, 1, true])
  })
})

describe('a deleted project', () => {
  it('leaves no stored data of its ended sessions', async () => {
    const other = await startMcpService()
    const { service } = other
    const token = await other.tokenOf('ann')
    const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': await other.open(token) }
    expect((await service.send(other.path, { method: 'DELETE', headers })).status).toBe(204)
    const stored = openCollections(join(service.dataDir, 'config'), { readOnly: true })
    const names = ['mcp-ended', `mcp-ended-${service.projectId}`]
    const left = () => names.map((name) => stored.all(name).length)
    expect(left()).toEqual([1, 1])
    expect((await service.configure('DELETE', `projects/${service.projectId}`)).status).toBe(200)
    while (left().some((count) => count > 0)) await Bun.sleep(5)
    await stored.close()
    await other.stop()
  })
})

describe('a web page', () => {
  it('of a foreign origin is refused, one of this machine is accepted', async () => {
    const ask = (origin: string, host?: string) =>
      setup.ask(ann, 'server/discover', {}, { headers: { origin, ...(host !== undefined && { host }) } })
    expect((await ask('https://evil.example')).status).toBe(403)
    expect((await ask('http://evil.example:8080', 'evil.example:8080')).status).toBe(403)
    expect((await ask('null')).status).toBe(403)
    expect((await ask('http://localhost.evil.example')).status).toBe(403)
    expect((await ask('http://localhost:3000')).status).toBe(200)
  })
})

describe('the server of a project', () => {
  const change = async (members: object) => {
    const changed = await setup.service.configure('PUT', `mcp-servers/${setup.serverId}`, members)
    expect(changed.status).toBe(200)
  }
  const evaluate = (name = 'authzen_evaluate') => setup.ask(ann, 'tools/call', { name, arguments: { id: 'my-cars' } })
  const failure = async (name?: string) => {
    const { result } = (await evaluate(name)).body as { result: { isError: boolean; content: { text: string }[] } }
    return result.isError ? result.content[0]?.text : null
  }
  const restore = () => change({ enabled: true, app_agent_id: setup.agentId })
  beforeEach(restore)
  afterAll(restore)

  it('that is not enabled does not exist, and neither does one of another project', async () => {
    await change({ enabled: false })
    const answered = await setup.ask(ann, 'server/discover')
    expect([answered.status, answered.body]).toEqual([404, { message: 'Not Found' }])
    const headers = { authorization: `Bearer ${ann}` }
    expect((await setup.service.send('/mcp/v1/none', { headers, body: {} })).status).toBe(404)
  })

  it('uses the current permissions of its agent', async () => {
    const { agentId } = await setup.service.addAgent('weak', ['Capture'])
    await change({ app_agent_id: agentId })
    expect(await failure()).toBe('the application agent of this MCP server lacks the permission Authorization')
    expect(await failure('ciq_execute')).toBe('the application agent of this MCP server lacks the permission CIQ')
    // An explanation shows policies, and makes a decision.
    for (const [name, has, lacks] of [
      ['decider', 'Authorization', 'ReadAuthZConfigs'],
      ['reader', 'ReadAuthZConfigs', 'Authorization'],
    ] as const) {
      await change({ app_agent_id: (await setup.service.addAgent(name, [has])).agentId })
      expect(await failure('authzen_explain')).toBe(
        `the application agent of this MCP server lacks the permission ${lacks}`,
      )
    }
    await change({ app_agent_id: agentId })
    const { body } = await setup.ask(ann, 'resources/list')
    expect(body.result).toMatchObject({ resources: [{ uri: 'svc://knowledge-queries/' }] })
    await setup.service.configure('PUT', `application-agents/${agentId}`, { api_permissions: ['CIQ'] })
    expect(await failure('ciq_execute')).toBeNull()
    await setup.service.configure('DELETE', `application-agents/${agentId}`)
    expect(await failure()).toContain('the application agent of this MCP server was deleted')
  })
})

describe('a token that is insufficient for a policy', () => {
  const query = async (name: string, error: string) => {
    const policy_id = await setup.create('authorization-policies', {
      name: `${name}-policy`,
      status: 'ACTIVE',
      policy: JSON.stringify({
        meta: { policy_version: '1.0-ciq' },
        subject: { type: 'Person' },
        condition: {
          cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)',
          token_filter: {
            operator: '=',
            attribute: '$token.scope',
            value: 'graph:write',
            advice: { error, error_description: 'more is asked' },
          },
        },
        allowed_reads: { nodes: ['car.external_id'] },
      }),
    })
    const document = JSON.stringify({ nodes: ['car.external_id'] })
    await setup.create('knowledge-queries', { name, status: 'ACTIVE', policy_id, query: document })
    return setup.ask(ann, 'tools/call', { name: 'ciq_execute', arguments: { id: name } })
  }

  it('gets 403 with the required scopes if it is the scope, else a text', async () => {
    const scope = await query('scoped', 'insufficient_scope')
    expect(scope.status).toBe(403)
    expect(scope.headers.get('www-authenticate')).toMatch(
      /^Bearer error="insufficient_scope", error_description="more is asked", resource_metadata="http.+", scope="graph:read graph:write"$/,
    )
    const other = await query('recent', 'insufficient_user_authentication')
    expect([other.status, other.text]).toEqual([200, expect.stringContaining('more is asked')])
    expect(other.body.result).toMatchObject({ isError: true })
  })
})

describe('a body', () => {
  it('that is too large is refused', async () => {
    const large = await setup.ask(ann, 'tools/call', { name: 'ciq_execute', arguments: { id: 'x'.repeat(5000) } })
    expect(large.status).toBe(413)
  })

  it('that does not arrive is aborted', async () => {
    // Only here: on a slow machine the bodies of the other tests could be too late.
    const impatient = await startMcpService({ settings: { bodyTimeMs: 500 } })
    try {
      const token = await impatient.tokenOf('ann')
      const { hostname, port } = new URL(impatient.url)
      const answered = await new Promise<string>((resolve, reject) => {
        const socket = connect(Number(port), hostname, () => {
          socket.write(
            `POST ${impatient.path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
          )
        })
        let text = ''
        socket.on('data', (bytes) => {
          text += bytes.toString()
        })
        socket.on('close', () => resolve(text))
        socket.on('error', reject)
      })
      expect(answered).toMatch(/^HTTP\/1\.1 408 /)
    } finally {
      await impatient.stop()
    }
  })

  it('of another media type is a 415', async () => {
    const headers = { authorization: `Bearer ${ann}`, 'content-type': 'text/plain' }
    expect((await setup.service.send(setup.path, { headers, raw: '{}' })).status).toBe(415)
  })

  it('that is compressed is a 415 too', async () => {
    const headers = {
      authorization: `Bearer ${ann}`,
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    }
    const raw = gzipSync(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }))
    const refused = await setup.service.send(setup.path, { headers, raw })
    expect([refused.status, refused.body.errors, refused.headers.get('accept-encoding')]).toEqual([
      415,
      ['content-encoding: expected none, found `gzip`'],
      'identity',
    ])
  })

  it('that causes an internal error gets a generic protocol error; the log has the details', async () => {
    const log: unknown[] = []
    const broken = await startMcpService({
      overrides: {
        log: (entry) => log.push(entry),
        onDecided() {
          throw new Error('the secret reason')
        },
      },
    })
    const asked = { subject_type: 'Person', subject_id: 'ann', action_name: 'drive' }
    const given = { name: 'authzen_search_resource', arguments: { ...asked, resource_type: 'Car' } }
    const token = await broken.tokenOf('ann')
    const stateless = await broken.ask(token, 'tools/call', given)
    const error = { code: -32603, message: 'Internal error' }
    expect([stateless.status, stateless.body]).toEqual([500, { jsonrpc: '2.0', id: 1, error }])
    const session = await broken.open(token)
    const inSession = await broken.tell(token, session, { id: 'two', method: 'tools/call', params: given })
    expect([inSession.status, inSession.body]).toEqual([500, { jsonrpc: '2.0', id: 'two', error }])
    const told = { level: 'error', message: 'a request failed', method: 'tools/call' }
    const stack = expect.stringContaining('the secret reason')
    expect(log).toContainEqual({ ...told, requestId: stateless.headers.get('x-request-id'), stack })
    await broken.stop()
  })

  it('of any JSON gets a described response, and never a 5xx', async () => {
    const session = await setup.open(ann)
    const method = fc.constantFrom(
      'tools/call',
      'tools/list',
      'resources/read',
      'completion/complete',
      'initialize',
      'x',
    )
    const name = fc.constantFrom('authzen_evaluate', 'authzen_evaluations', 'ciq_execute', 'authzen_search_action')
    const params = fc.oneof(
      fc.record({ name, arguments: fc.jsonValue() }),
      fc.record({
        name,
        arguments: fc.dictionary(fc.constantFrom('id', 'subject', 'evaluations', 'page'), fc.jsonValue()),
      }),
      fc.record({ ref: fc.jsonValue(), argument: fc.jsonValue(), uri: fc.jsonValue(), _meta: fc.jsonValue() }),
    )
    const message = fc.oneof(
      fc.record({ jsonrpc: fc.constant('2.0'), id: fc.nat(), method, params }),
      fc.record({ jsonrpc: fc.jsonValue(), id: fc.jsonValue(), method: fc.jsonValue(), params: fc.jsonValue() }),
      fc.jsonValue(),
    )
    let reached = 0
    await fc.assert(
      fc.asyncProperty(message, fc.boolean(), async (body, inSession) => {
        const style = inSession ? { headers: { 'mcp-session-id': session }, body } : fitting(body)
        const headers = { authorization: `Bearer ${ann}`, ...style.headers }
        const answered = await setup.service.send(setup.path, { headers, body: style.body })
        reached += answered.status === 200 && !inSession ? 1 : 0
        return answered.status < 500
      }),
      { numRuns: 150, seed: testSeed() },
    )
    // With the headers of the stateless revision some of them reach the methods.
    expect(reached).toBeGreaterThan(0)
  })
})

/** The headers that the stateless revision requires for a body, as far as the body contains their values. */
function fitting(body: unknown): { readonly headers: Record<string, string>; readonly body: unknown } {
  const version = { 'mcp-protocol-version': '2026-07-28' }
  if (!isJsonObject(body) || typeof body.method !== 'string' || !isJsonObject(body.params))
    return { headers: version, body }
  const { method, params } = body
  const target = method === 'tools/call' ? params.name : params.uri
  const _meta = params._meta ?? {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return {
    headers: {
      ...version,
      ...(/^[\x21-\x7e]+$/.test(method) && { 'mcp-method': method }),
      ...(typeof target === 'string' && { 'mcp-name': `=?base64?${Buffer.from(target).toString('base64')}?=` }),
    },
    body: { ...body, params: { ...params, _meta } },
  }
}
