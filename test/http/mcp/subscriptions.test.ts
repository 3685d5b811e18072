// Subscribed clients are notified of changes of the knowledge queries, in both revisions, over real HTTP: only those of
// the same project, only as long as they are authorized, and within limits.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ConfigRepository } from '../../../src/config/repository.ts'
import { noOrigin } from '../../../src/kernel/request/request-origin.ts'
import { NotificationStream } from '../../../src/mcp/notification-stream.ts'
import { McpServers } from '../../../src/mcp/servers.ts'
import { Subscriptions } from '../../../src/mcp/subscriptions.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/configuration-fixture.ts'
import { type Events, eventsOf } from '../../support/event-stream.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'
import { openStore } from '../../support/open-collections.ts'

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
/** Of one person: a quarter of the project's limit. */
const STREAMS_MAX = 4

let setup: McpService
let clock: ManualClock
let token: string
let policyId: string
let made = 0
const open: Events[] = []

beforeAll(async () => {
  clock = new ManualClock(Date.now())
  setup = await startMcpService({
    settings: { mcpStreamsMax: 16 * STREAMS_MAX, mcpSessionTimeS: 60 },
    overrides: { clock },
  })
  token = await setup.tokenOf('ann', { expires: '3 hours' })
  policyId = (
    await setup.service.configure('GET', `authorization-policies/own-cars?project_id=${setup.service.projectId}`)
  ).body.id as string
})
afterEach(async () => {
  for (const events of open.splice(0)) await events.leave()
})
afterAll(() => setup.stop())
afterAll(removeTemporaryFolders)

const query = JSON.stringify({ nodes: ['car.external_id'] })
const newName = () => `made-${++made}`
const addQuery = (name = newName(), status = 'ACTIVE') =>
  setup.create('knowledge-queries', { name, status, policy_id: policyId, query })
const change = async (kind: string, id: string, members: object) => {
  expect((await setup.service.configure('PUT', `${kind}/${id}`, members)).status).toBe(200)
}

async function listen(notifications: unknown, { id = 7 as string | number, as = token, path = setup.path } = {}) {
  const headers = {
    authorization: `Bearer ${as}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'subscriptions/listen',
  }
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params: { notifications, _meta } })
  return follow(await fetch(`${setup.service.url}${path}`, { method: 'POST', headers, body }))
}

const get = (session: string, headers: Record<string, string> = {}, as = token) =>
  fetch(setup.url, {
    headers: { authorization: `Bearer ${as}`, accept: 'text/event-stream', 'mcp-session-id': session, ...headers },
  })

function follow(response: Response): Events {
  const events = eventsOf(response)
  open.push(events)
  return events
}

const acknowledged = (notifications: object, id: string | number = 7) => ({
  jsonrpc: '2.0',
  method: 'notifications/subscriptions/acknowledged',
  params: { notifications, _meta: { [SUBSCRIPTION]: id } },
})
const listChanged = {
  jsonrpc: '2.0',
  method: 'notifications/resources/list_changed',
  params: { _meta: { [SUBSCRIPTION]: 7 } },
}
const updated = (uri: string) => ({
  jsonrpc: '2.0',
  method: 'notifications/resources/updated',
  params: { uri, _meta: { [SUBSCRIPTION]: 7 } },
})
const ended = {
  jsonrpc: '2.0',
  id: 7,
  result: { resultType: 'complete', _meta: expect.objectContaining({ [SUBSCRIPTION]: 7 }) },
}

describe('the official clients', () => {
  /**
   * Options of a transport. A client opens its stream concurrently with its other requests: `streamIsOpen` resolves when the server has
   * answered with a stream, and so has subscribed the client. The other answers are JSON.
   */
  function connection() {
    const opened = Promise.withResolvers<void>()
    const observed = async (input: string | URL, init?: RequestInit): Promise<Response> => {
      const response = await fetch(input, init)
      if (response.ok && response.headers.get('content-type') === 'text/event-stream') opened.resolve()
      return response
    }
    const options = { requestInit: { headers: { authorization: `Bearer ${token}` } }, fetch: observed }
    return { options, streamIsOpen: opened.promise }
  }
  const who = { name: 'listener', version: '1' }
  const names = (items: unknown) => (items as { name: string }[]).map(({ name }) => name)

  function heard() {
    const waiting: ((names: string[]) => void)[] = []
    const listChangedHandlers = {
      resources: {
        debounceMs: 0,
        onChanged(error: Error | null, items: unknown) {
          waiting.shift()?.(error === null ? names(items) : [String(error)])
        },
      },
    }
    return { listChangedHandlers, next: () => new Promise<string[]>((resolve) => waiting.push(resolve)) }
  }

  it('of the first line are notified in a session of a new query, and read the new list', async () => {
    const { listChangedHandlers, next } = heard()
    const client = new OldClient(who, { listChanged: listChangedHandlers } as never)
    const { options, streamIsOpen } = connection()
    const transport = new OldTransport(new URL(setup.url), options)
    await client.connect(transport as never)
    expect(client.getServerCapabilities()?.resources).toEqual({ listChanged: true })
    const told = next()
    const name = newName()
    await streamIsOpen
    await addQuery(name)
    expect(await told).toContain(name)
    await transport.terminateSession()
    await client.close()
  })

  const modes = [
    ['by default, in a session', undefined],
    ['pinned to the stateless revision, by a subscription', { mode: { pin: '2026-07-28' } }],
  ] as const
  it.each(modes)('of the second line are notified %s', async (_, versionNegotiation) => {
    const { listChangedHandlers, next } = heard()
    const client = new Client(who, {
      listChanged: listChangedHandlers,
      ...(versionNegotiation !== undefined && { versionNegotiation }),
    } as never)
    const { options, streamIsOpen } = connection()
    await client.connect(new StreamableHTTPClientTransport(new URL(setup.url), options))
    const told = next()
    const name = newName()
    await streamIsOpen
    const id = await addQuery(name)
    expect(await told).toContain(name)
    const toldAgain = next()
    await change('knowledge-queries', id, { status: 'INACTIVE', policy_id: policyId, query })
    expect(await toldAgain).not.toContain(name)
    await client.close()
  })
})

describe('a subscription', () => {
  it('is acknowledged first, with its accepted parts, and every message has its id', async () => {
    const uri = 'svc://knowledge-queries/later'
    const events = await listen(
      { toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [uri, 'https://elsewhere.example'] },
      { id: 7 },
    )
    expect(events.type).toBe('text/event-stream')
    expect(await events.next()).toEqual(acknowledged({ resourcesListChanged: true, resourceSubscriptions: [uri] }))
    const id = await addQuery('later')
    expect([await events.next(), await events.next()]).toEqual([listChanged, updated(uri)])
    await addQuery()
    expect(await events.next()).toEqual(listChanged)
    const members = { status: 'ACTIVE', policy_id: policyId, query }
    await change('knowledge-queries', id, { ...members, description: 'Says what it is for.' })
    expect([await events.next(), await events.next()]).toEqual([listChanged, updated(uri)])
    expect((await setup.service.configure('DELETE', `knowledge-queries/${id}`)).status).toBe(200)
    expect([await events.next(), await events.next()]).toEqual([listChanged, updated(uri)])
  })

  it('hears of the queries of the application only while the server offers them', async () => {
    const policy_id = await setup.create('authorization-policies', {
      name: 'application',
      status: 'ACTIVE',
      policy: JSON.stringify({
        meta: { policy_version: '1.0-ciq' },
        subject: { type: '_Application' },
        condition: { cypher: 'MATCH (subject:_Application), (car:Car)' },
        allowed_reads: { nodes: ['car.external_id'] },
      }),
    })
    const uri = 'svc://knowledge-queries/of-application'
    const events = await listen({ resourcesListChanged: true, resourceSubscriptions: [uri] })
    await events.next()
    await setup.create('knowledge-queries', { name: 'of-application', status: 'ACTIVE', policy_id, query })
    await addQuery()
    expect(await events.next()).toEqual(listChanged)
    for (const application_queries of [true, false]) {
      await change('mcp-servers', setup.serverId, { application_queries })
      expect([await events.next(), await events.next()]).toEqual([listChanged, updated(uri)])
    }
  })

  it('receives only what it requested', async () => {
    const collection = 'svc://knowledge-queries/'
    const events = await listen({ resourceSubscriptions: [collection, `${collection}my-car`] })
    await events.next()
    await addQuery(newName(), 'DRAFT')
    await addQuery()
    expect(await events.next()).toEqual(updated(collection))
    const { body } = await setup.service.configure('GET', `authorization-policies/${policyId}`)
    await change('authorization-policies', policyId, { policy: body.policy, status: 'ACTIVE', description: 'Changed.' })
    expect([await events.next(), await events.next()]).toEqual([updated(collection), updated(`${collection}my-car`)])
  })

  it('to something that never changes is acknowledged, and ends', async () => {
    const events = await listen({ toolsListChanged: true, promptsListChanged: true })
    expect([await events.next(), await events.next(), await events.next()]).toEqual([acknowledged({}), ended, null])
  })

  it('without a valid filter is an error', async () => {
    for (const wrong of [undefined, [], { resourcesListChanged: 1 }, { resourceSubscriptions: [1] }]) {
      const events = await listen(wrong)
      expect((await events.json()).error).toMatchObject({ code: -32602 })
    }
    const long = await listen({ resourcesListChanged: true }, { id: 'x'.repeat(300) })
    expect((await long.json()).error).toMatchObject({ code: -32602 })
    const many = Array.from({ length: 101 }, (_, i) => `svc://knowledge-queries/${i}`)
    expect((await (await listen({ resourceSubscriptions: many })).json()).error).toMatchObject({ code: -32602 })
  })

  it('receives only changes of its own project', async () => {
    const { service } = setup
    const other = await setup.addProject('other')
    const here = await listen({ resourcesListChanged: true })
    const there = await listen({ resourcesListChanged: true }, { path: other.path })
    await Promise.all([here.next(), there.next()])
    const of = { project_id: other.projectId, policy_id: other.policyId }
    const add = (name: string) => setup.create('knowledge-queries', { ...of, name, status: 'ACTIVE', query })
    await add('one')
    expect(await there.next()).toEqual(listChanged)
    // The first message to the others is about their own change.
    const uri = 'svc://knowledge-queries/mine'
    const mine = await listen({ resourceSubscriptions: [uri, 'svc://knowledge-queries/two'] })
    await mine.next()
    await add('two')
    expect(await there.next()).toEqual(listChanged)
    await addQuery('mine')
    expect(await mine.next()).toEqual(updated(uri))
    expect(await here.next()).toEqual(listChanged)
    expect((await service.configure('DELETE', `projects/${other.projectId}`)).status).toBe(200)
    expect([await there.next(), await there.next()]).toEqual([ended, null])
  })

  it('is notified that the agent of the server may no longer run queries, and that it may again', async () => {
    const events = await listen({ resourcesListChanged: true })
    await events.next()
    for (const api_permissions of [['Authorization'], ['Authorization', 'CIQ']]) {
      await change('application-agents', setup.agentId, { api_permissions })
      expect(await events.next()).toEqual(listChanged)
    }
  })
})

describe('the stream of a session', () => {
  it('notifies one stream of the session that the list has changed: a new stream replaces it', async () => {
    const session = await setup.open(token)
    const first = follow(await get(session))
    expect([first.status, first.type]).toEqual([200, 'text/event-stream'])
    const second = follow(await get(session))
    expect(await first.next()).toBe(null)
    await addQuery()
    expect(await second.next()).toEqual({ jsonrpc: '2.0', method: 'notifications/resources/list_changed' })
  })

  it('is ended by no other method than DELETE, and HEAD has the response of GET', async () => {
    const session = await setup.open(token)
    const events = follow(await get(session))
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream', 'mcp-session-id': session }
    const send = async (method: string, more: Record<string, string> = {}, body?: string) => {
      const answered = await fetch(setup.url, {
        method,
        headers: { ...headers, ...more },
        ...(body === undefined ? {} : { body }),
      })
      const text = await answered.text()
      return method === 'HEAD' ? [answered.status, answered.headers.get('content-type'), text] : answered.status
    }
    expect(await send('HEAD')).toEqual([200, 'text/event-stream', ''])
    expect(await send('HEAD', { accept: 'application/json' })).toEqual([405, 'application/json', ''])
    expect(await send('HEAD', { 'mcp-session-id': 'none' })).toEqual([404, 'application/json', ''])
    expect(await send('OPTIONS')).toBe(204)
    for (const method of ['PUT', 'PATCH']) expect(await send(method)).toBe(405)
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    expect(await send('POST', { 'content-type': 'application/json' }, ping)).toBe(200)
    await addQuery()
    expect(await events.next()).toEqual({ jsonrpc: '2.0', method: 'notifications/resources/list_changed' })
  })

  it('is opened only for its holder, and for clients that accept events', async () => {
    const session = await setup.open(token)
    const bob = await setup.tokenOf('bob', { expires: '3 hours' })
    expect((await get(session, {}, bob)).status).toBe(404)
    expect((await get('none')).status).toBe(404)
    expect((await get(session, { accept: 'application/json' })).status).toBe(405)
    expect((await get(session, { 'mcp-protocol-version': '2026-07-28' })).status).toBe(405)
    expect((await get(session, { 'mcp-protocol-version': '2020-01-01' })).status).toBe(400)
    expect((await fetch(setup.url, { headers: { accept: 'text/event-stream' } })).status).toBe(401)
  })

  it('ends with the session', async () => {
    const session = await setup.open(token)
    const events = follow(await get(session))
    const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': session }
    expect((await setup.service.send(setup.path, { method: 'DELETE', headers })).status).toBe(204)
    expect(await events.next()).toBe(null)
    const expiring = follow(await get(await setup.open(token)))
    clock.advance(60_000)
    expect(await expiring.next()).toBe(null)
  })
})

describe('a stream', () => {
  it('ends cleanly with its token', async () => {
    const shortly = await setup.tokenOf('ann', { expires: new Date(clock.now() + 60_000) })
    const events = await listen({ resourcesListChanged: true }, { as: shortly })
    await events.next()
    clock.advance(60_000)
    expect([await events.next(), await events.next()]).toEqual([ended, null])
  })

  it('ends when the server is disabled, and when it uses another token configuration', async () => {
    const first = await listen({ resourcesListChanged: true })
    await first.next()
    await change('mcp-servers', setup.serverId, { enabled: false })
    expect([await first.next(), await first.next()]).toEqual([ended, null])
    await change('mcp-servers', setup.serverId, { enabled: true })
    const second = await listen({ resourcesListChanged: true })
    await second.next()
    const { body } = await setup.service.configure('GET', `token-introspects/${setup.introspectId}`)
    const { jwt_matcher, offline_validation } = body as { jwt_matcher: object; offline_validation: object }
    const strange = { ...jwt_matcher, audience: 'elsewhere' }
    await change('token-introspects', setup.introspectId, { jwt_matcher: strange, offline_validation })
    expect([await second.next(), await second.next()]).toEqual([ended, null])
    await change('token-introspects', setup.introspectId, { jwt_matcher, offline_validation })
  })

  it('counts towards the limit per person: more are refused until one ends', async () => {
    // The service may not have noticed yet that streams of the tests before have ended.
    const all = await until(
      async () => {
        const some = await Promise.all(
          Array.from({ length: STREAMS_MAX }, () => listen({ resourcesListChanged: true })),
        )
        if (some.some(({ status }) => status !== 200)) for (const events of some) await events.leave()
        return some
      },
      (some) => some.every(({ status }) => status === 200),
    )
    for (const events of all) await events.next()
    const refused = await listen({ resourcesListChanged: true })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30'])
    const bob = await setup.tokenOf('bob', { expires: '3 hours' })
    expect((await listen({ resourcesListChanged: true }, { as: bob })).status).toBe(200)
    // The response to this is not read: it opens no stream.
    const session = await setup.open(token)
    await all[0]?.leave()
    const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': session }
    for (let i = 0; i < 3; i++) {
      const answered = await until(
        () => fetch(setup.url, { method: 'HEAD', headers }),
        ({ status }) => status === 200,
      )
      expect(await answered.text()).toBe('')
    }
    const again = await listen({ resourcesListChanged: true })
    expect(again.status).toBe(200)
  })

  it('buffers no more for a slow reader than the requested messages', async () => {
    const stream = new NotificationStream(['first '], () => undefined)
    for (let i = 0; i < 10_000; i++) for (const event of ['list ', 'one ', 'list ']) stream.push(event)
    expect(await stream.next()).toEqual({ value: 'first list one ', done: false })
    stream.push('list ')
    stream.end(['last'])
    stream.push('late')
    expect(await stream.next()).toEqual({ value: 'list last', done: false })
    expect(await stream.next()).toEqual({ value: undefined, done: true })
  })

  it('that is not read is closed in favour of another', async () => {
    const store = openStore(temporaryFolder())
    const documents = new ConfigRepository(store)
    const limits = { streamsMax: 2, projectStreamsMax: 2, keepAliveMs: 1 }
    const servers = new McpServers(documents)
    const onFailure = (error: unknown) => expect(error).toBe(null)
    const listeners = new Subscriptions({
      documents,
      servers,
      clock,
      limits,
      resourceVersions: () => new Map(),
      onInternalError: onFailure,
    })
    const server = {
      projectId: 'p',
      tokenIntrospectId: 't',
      issuer: '',
      scopes: [],
      hasApplicationQueries: false,
      agent: null,
    }
    const user = { nodeType: '', subjectId: 'ann', claims: {}, delegation: null }
    const listen = (subjectId: string) => {
      const caller = {
        server,
        origin: noOrigin,
        user: { ...user, subjectId },
        agent: null,
        isStillAuthenticated: async () => true,
      }
      return listeners.subscribe({
        caller,
        replacementKey: null,
        firstEvents: [],
        lastEvents: [],
        eventsFor: () => [],
        isValid: () => true,
      }).ok
    }
    expect(['ann', 'ann', 'bob', 'cleo'].map(listen)).toEqual([true, false, true, false])
    await until(
      async () => listen('cleo'),
      (ok) => ok,
    )
    listeners.close()
    await store.close()
  })

  it('ends when the issuer no longer accepts its token, and when that cannot be verified, without any other event', async () => {
    const store = openStore(temporaryFolder())
    const documents = new ConfigRepository(store)
    const limits = { streamsMax: 3, projectStreamsMax: 12, keepAliveMs: 1 }
    const servers = new McpServers(documents)
    const onFailure = (error: unknown) => expect(error).toBe(null)
    const listeners = new Subscriptions({
      documents,
      servers,
      clock,
      limits,
      resourceVersions: () => new Map(),
      onInternalError: onFailure,
    })
    const server = {
      projectId: 'p',
      tokenIntrospectId: 't',
      issuer: '',
      scopes: [],
      hasApplicationQueries: false,
      agent: null,
    }
    const user = { nodeType: '', subjectId: 'ann', claims: {}, delegation: null }
    const listen = (isStillAuthenticated: () => Promise<boolean>) => {
      const caller = { server, origin: noOrigin, user, agent: null, isStillAuthenticated }
      const rest = {
        replacementKey: null,
        firstEvents: [],
        lastEvents: ['over'],
        eventsFor: () => [],
        isValid: () => true,
      }
      const listened = listeners.subscribe({ caller, ...rest })
      if (!listened.ok) throw new Error('there is room')
      return listened.value
    }
    const all = [async () => true, async () => false, () => Promise.reject(new Error('no answer'))].map(listen)
    const heard = async (stream: AsyncIterator<string, void>) => (await stream.next()).value
    const stillHere = ': still here\n\n'
    expect(await Promise.all(all.map(heard))).toEqual([stillHere, stillHere, stillHere])
    expect(await Promise.all(all.map(heard))).toEqual([stillHere, 'over', 'over'])
    listeners.close()
    await store.close()
  })

  it('ends cleanly when the service stops, and does not delay it', async () => {
    const events = await listen({ resourcesListChanged: true })
    const held = follow(await get(await setup.open(token)))
    await events.next()
    await setup.stop()
    expect([await events.next(), await events.next(), await held.next()]).toEqual([ended, null, null])
  })
})

async function until<T>(ask: () => Promise<T>, isIt: (given: T) => boolean): Promise<T> {
  for (;;) {
    const given = await ask()
    if (isIt(given)) return given
    await Bun.sleep(10)
  }
}
