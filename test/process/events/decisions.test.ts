import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { LaneRequiredError } from '../../../src/kernel/request/lane-required.ts'
import { noOrigin } from '../../../src/kernel/request/request-origin.ts'
import { listWhatAuthorized } from '../../../src/pdp/list-authorized.ts'
import { type ContextService, startContextService } from '../../support/context-service.ts'
import { addSink, eventsLike, eventsOf } from '../../support/events.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'
import { startService, type TestService } from '../../support/service.ts'

let stop: (() => Promise<void>) | null = null

afterEach(async () => {
  await stop?.()
  stop = null
})

async function start(...parameters: Parameters<typeof startService>): Promise<TestService> {
  const service = await startService(...parameters)
  stop = () => service.stop()
  return service
}

const owner = 'MATCH (subject)-[:OWNS]->(resource) WHERE $colour = resource.colour'

async function furnish(service: TestService): Promise<string> {
  await service.ask('/capture/v1/nodes', {
    nodes: [
      { type: 'Person', external_id: 'ann' },
      { type: 'Car', external_id: 'c1', properties: [{ type: 'colour', value: 'red' }] },
    ],
  })
  await service.ask('/capture/v1/relationships', {
    relationships: [
      { source: { type: 'Person', external_id: 'ann' }, target: { type: 'Car', external_id: 'c1' }, type: 'OWNS' },
    ],
  })
  return service.addPolicy({ name: 'owners', cypher: owner, tags: ['fleet'] })
}

const asked = (id: string, colour = 'red'): object => ({
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id },
  context: { input_params: { colour }, policy_tags: ['fleet'] },
})

describe('decisions', () => {
  test('have events with request, answer and policies; values of parameters are masked', async () => {
    const service = await start()
    const policy = await furnish(service)
    await addSink(service, [{ type: 'svc.audit.authorization.*' }])
    await service.ask('/access/v1/evaluation', asked('c1'))
    await service.ask('/access/v1/evaluation', asked('c1', 'blue'))
    const missing = await service.ask('/access/v1/evaluation', {
      ...asked('c1'),
      context: { input_params: { other: 'hidden' } },
    })
    expect(missing.status).toBe(422)
    const { subject, action, context } = asked('c1') as Record<string, object>
    await service.ask('/access/v1/search/resource', { subject, action, resource: { type: 'Car' }, context })
    await service.ask('/access/v1/search/subject', {
      subject: { type: 'Person' },
      action,
      resource: { type: 'Car', id: 'c1' },
      context,
    })
    await service.ask('/access/v1/search/action', { subject, resource: { type: 'Car', id: 'c1' }, context })
    await service.ask('/access/v1/evaluations', {
      ...asked('c1'),
      evaluations: [{}, { resource: { type: 'Car', id: 'c2' } }, { resource: 7 }],
    })
    const seen = await eventsOf(service)
    const policiesFound = [{ id: policy, name: 'owners' }]
    const request = {
      subject: { type: 'Person', externalId: 'ann' },
      resources: [{ type: 'Car', externalId: 'c1', actions: ['drive'] }],
      inputParams: { colour: '***' },
      policyTags: ['fleet'],
    }
    const answer = (allow: boolean, id = 'c1'): object => ({ decisions: { Car: { [id]: { drive: { allow } } } } })
    expect(seen.map(({ type, data }) => [type.replace('svc.audit.authorization.', ''), data])).toMatchObject([
      ['evaluation', { request, response: answer(true), policiesFound, actor: { id: service.agentId } }],
      ['evaluation', { request, response: answer(false), policiesFound }],
      ['evaluation', { error: { kind: 'invalid' } }],
      ['searchresource', { response: { results: 1 }, request: { resources: [{ type: 'Car', actions: ['drive'] }] } }],
      ['searchsubject', { response: { results: 1 }, request: { subject: { type: 'Person' } } }],
      ['searchaction', { response: { results: 1 } }],
      ['evaluations', { item: 0, response: answer(true) }],
      ['evaluations', { item: 1, response: answer(false, 'c2') }],
      ['evaluations', { item: 2, error: { kind: 'malformed' } }],
    ])
    expect(JSON.stringify(seen)).not.toContain('hidden')
    expect(seen.every(({ source }) => source === 'activity')).toBe(true)
    expect(seen[0]?.subject).toBe('subjects/Person/ann')
  })

  test('show parameters that the setting does not mask', async () => {
    const service = await start({ parameterMask: 'secret' })
    await furnish(service)
    await addSink(service, [{ type: 'svc.audit.authorization.evaluation' }])
    const context = { input_params: { colour: 'red', secret: 'hidden', ratio: 1.5 } }
    await service.ask('/access/v1/evaluation', { ...asked('c1'), context })
    const [seen] = await eventsOf(service)
    expect(seen?.data).toMatchObject({ request: { inputParams: { colour: 'red', secret: '***', ratio: 1.5 } } })
  })

  test('are routed by decision, action and types', async () => {
    const service = await start()
    await furnish(service)
    await addSink(service, [
      { type: 'svc.audit.authorization.*', context: { decision: 'false' }, provider: 'denials' },
      {
        type: 'svc.audit.authorization.*',
        context: { action: 'drive', subjectType: 'Person', resourceType: 'Car' },
        provider: 'drives',
      },
    ])
    await service.ask('/access/v1/evaluation', asked('c1'))
    await service.ask('/access/v1/evaluation', asked('c2'))
    const sell = { ...asked('c1'), action: { name: 'sell' } }
    await service.ask('/access/v1/evaluation', sell)
    expect((await eventsOf(service)).map(({ providers }) => providers)).toEqual([
      ['drives'],
      ['denials', 'drives'],
      ['denials'],
    ])
  })

  test('of what-authorized and who-authorized have types of their own', async () => {
    const service = await start()
    await furnish(service)
    await addSink(service, [{ type: 'svc.audit.authorization.*' }])
    const { subject, action, context } = asked('c1') as Record<string, object>
    const what = { subject, evaluations: [{ action, resource: { type: 'Car' } }], context }
    expect((await service.ask('/access/v1/what-authorized', what)).status).toBe(200)
    const who = { evaluations: [{ action, resource: { type: 'Car', id: 'c1' } }], context }
    expect((await service.ask('/access/v1/who-authorized', who)).status).toBe(200)
    expect((await eventsOf(service)).map(({ type, data }) => [type, data.response])).toMatchObject([
      ['svc.audit.authorization.whatauthorized', { results: 1 }],
      ['svc.audit.authorization.whoauthorized', { results: 1 }],
    ])
  })

  test('of what-authorized are reported once if a lane runs the request again', async () => {
    const service = await start()
    await furnish(service)
    await service.addPolicy({ name: 'faulty', cypher: `${owner} AND date($colour) IS NOT NULL` })
    const { decisions } = service.app
    const caller = {
      kind: 'agent',
      agentId: service.agentId,
      applicationId: service.applicationId,
      projectId: service.projectId,
      permissions: new Set(['Authorization'] as const),
      user: null,
    } as const
    const reported: string[] = []
    let searches = 0
    let isInLane = false
    const deps: typeof decisions = {
      ...decisions,
      policies: {
        ...decisions.policies,
        find(...parameters) {
          searches += 1
          if (!isInLane && searches === 2) throw new LaneRequiredError('time')
          return decisions.policies.find(...parameters)
        },
      },
      onPolicyError: ({ requestKind }) => void reported.push(`error in a ${requestKind}`),
      onDecided: ({ request, partOf }) => void reported.push(`${partOf} ${request?.action.name}`),
    }
    const evaluations = ['drive', 'sell'].map((name) => ({ action: { name }, resource: { type: 'Car' } }))
    const asking = { subject: { type: 'Person', id: 'ann' }, evaluations, context: { input_params: { colour: 'red' } } }
    expect(() => listWhatAuthorized(deps, caller, noOrigin, asking)).toThrow(LaneRequiredError)
    expect(reported).toEqual([])
    isInLane = true
    expect(listWhatAuthorized(deps, caller, noOrigin, asking).ok).toBe(true)
    expect(reported).toEqual(['error in a resource search', 'what-authorized drive', 'what-authorized sell'])
  })

  test('are on disk before the answer if the setting is strict, and shortly after it otherwise', async () => {
    for (const eventActivityStrict of ['on', 'off'] as const) {
      const service = await start({ eventActivityStrict })
      await addSink(service, [{ type: 'svc.audit.authorization.*' }])
      const stored = (): Promise<number> =>
        service.app.eventStreams.withStreams(service.projectId, async (streams) =>
          streams.reduce((sum, { outbox, name }) => sum + (outbox.status(name)?.next ?? 1) - 1, 0),
        )
      for (let count = 1; count <= 3; count++) {
        await service.ask('/access/v1/evaluation', asked('c1'))
        if (eventActivityStrict === 'on') expect(await stored()).toBe(count)
      }
      await expect.poll(stored).toBe(3)
      await service.stop()
      stop = null
    }
  })

  test('that cannot be stored refuse only their own answers if the setting is strict', async () => {
    const service = await start({ eventActivityStrict: 'on', audit: 'off' })
    const sink = await addSink(service, [{ type: 'svc.audit.authorization.*' }])
    // The folder of events cannot be created.
    writeFileSync(join(service.dataDir, 'events'), '')
    const refused = await service.ask('/access/v1/evaluation', asked('c1'))
    expect([refused.status, refused.text]).toEqual([
      503,
      expect.stringContaining('the event of the answer cannot be stored now'),
    ])
    expect((await fetch(`${service.url}/health`)).status).toBe(200)
    const captured = await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Car', external_id: 'c2' }] })
    expect(captured.status, captured.text).toBe(200)
    // Answered at the same time as others, each of which has an event.
    const [read, ...decided] = await Promise.all([
      service.configure('GET', `event-sinks/${sink}`),
      ...Array.from({ length: 20 }, () => service.ask('/access/v1/evaluation', asked('c1'))),
    ])
    expect([read.status, new Set(decided.map(({ status }) => status))]).toEqual([200, new Set([503])])
    rmSync(join(service.dataDir, 'events'))
    expect((await service.ask('/access/v1/evaluation', asked('c1'))).status).toBe(200)
  })
})

const policy = {
  subject: { type: 'Person' },
  condition: {
    cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)',
    filter: [{ operator: 'AND', operands: [{ attribute: 'subject.external_id', operator: '=', value: '$token.sub' }] }],
  },
  allowed_reads: { nodes: ['car.*'], relationships: [] },
  allowed_upserts: { nodes: { existing_nodes: ['car'] } },
}

describe('knowledge queries', () => {
  let context: ContextService

  test('have events; that of a query that writes is in the transaction of its writes', async () => {
    context = await startContextService()
    const { service } = context
    stop = () => context.stop()
    await furnish(service)
    const token = await context.tokenOf('ann')
    await context.addQuery('read-cars', policy, { nodes: ['car.external_id'] })
    await context.addQuery('paint', policy, {
      nodes: ['car.external_id'],
      upsert_nodes: [{ name: 'car', properties: [{ type: 'colour', value: '$colour' }] }],
    })
    await addSink(service, [{ type: 'svc.audit.ciq.*' }, { type: 'svc.audit.credentials.*' }])
    const read = await context.execute('read-cars', {}, token)
    expect(read.status, read.text).toBe(200)
    const written = await context.execute('paint', { input_params: { colour: 'green' } }, token)
    expect(written.status, written.text).toBe(200)
    expect((await context.execute('paint', {}, token)).status).toBe(422)
    expect((await context.execute('unknown', {}, token)).status).toBe(404)
    const seen = await eventsLike(service, 'svc.audit.ciq.')
    const identity = { type: 'Person', externalId: 'ann' }
    expect(seen.map(({ source, data }) => [source, data])).toMatchObject([
      [
        'graph',
        {
          request: { id: 'paint', inputParams: { colour: '***' } },
          query: { name: 'paint' },
          policy: { name: 'paint-policy' },
          identity,
          response: { records: 1, isWrite: true },
        },
      ],
      ['activity', { request: { id: 'read-cars' }, response: { records: 1, isWrite: false }, identity }],
      ['activity', { request: { id: 'paint' }, error: { kind: 'invalid' } }],
      ['activity', { request: { id: 'unknown' }, error: { kind: 'not-found' } }],
    ])
    expect(JSON.stringify(seen)).not.toContain('green')
  })
})

describe('user tokens', () => {
  test('have an event when they are verified, accepted or not, without a part of the token', async () => {
    const context = await startContextService()
    const { service } = context
    stop = () => context.stop()
    await addSink(service, [{ type: 'svc.audit.credentials.token.*' }])
    const good = await context.tokenOf('ann')
    const early = await context.tokenOf('ann', { nbf: 4_102_444_800 })
    const whoami = async (token: string): Promise<number> => {
      const headers = { 'x-svc-clientkey': context.key, authorization: `Bearer ${token}` }
      return (await service.send('/contx-iq/v1/whoami', { headers })).status
    }
    expect([await whoami(good), await whoami(good), await whoami(early)]).toEqual([200, 200, 401])
    const seen = await eventsOf(service)
    expect(seen.map(({ data }) => [data.active, data.subject, data.reason !== undefined])).toEqual([
      [true, { type: 'Person', externalId: 'ann' }, false],
      [false, undefined, true],
    ])
    for (const token of [good, early]) expect(JSON.stringify(seen)).not.toContain(token.split('.')[2])
  })
})

describe('over MCP', () => {
  test('the tools have the same events as the endpoints', async () => {
    const mcp: McpService = await startMcpService()
    stop = () => mcp.stop()
    await addSink(mcp.service, [{ type: 'svc.audit.authorization.*' }, { type: 'svc.audit.ciq.*' }])
    const token = await mcp.tokenOf('ann')
    const flat = {
      subject_type: 'Person',
      subject_id: 'ann',
      action_name: 'read',
      resource_type: 'Document',
      resource_id: 'd1',
    }
    const { resource_id: _, ...resources } = flat
    const { subject_id: __, ...subjects } = flat
    const { action_name: ___, ...actions } = flat
    for (const [name, args] of [
      ['authzen_evaluate', flat],
      ['authzen_evaluations', { ...flat, evaluations: [{}, {}] }],
      ['authzen_search_resource', resources],
      ['authzen_search_subject', subjects],
      ['authzen_search_action', actions],
      ['ciq_execute', { id: 'unknown' }],
    ] as const) {
      const answered = await mcp.ask(token, 'tools/call', { name, arguments: args })
      expect(answered.status, `${name}: ${answered.text}`).toBe(200)
    }
    expect((await eventsOf(mcp.service)).map(({ type }) => type.replace('svc.audit.', ''))).toEqual([
      'authorization.evaluation',
      'authorization.evaluations',
      'authorization.evaluations',
      'authorization.searchresource',
      'authorization.searchsubject',
      'authorization.searchaction',
      'ciq.execute',
    ])
  })
})
