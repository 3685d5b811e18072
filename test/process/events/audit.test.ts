// Records for the audit log: with and without an event sink, for projects and for the organization, and by setting.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createApp } from '../../../src/app.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { type ContextService, startContextService } from '../../support/context-service.ts'
import { addSink, auditedEvents, eventsOf, type SeenEvent, sinkBody } from '../../support/events.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let service: TestService
let context: ContextService | null = null

afterEach(async () => {
  await (context ?? service).stop()
  context = null
})

const short = ({ source, type, subject }: SeenEvent): string =>
  `${source} ${type.replace('svc.audit.', '')} ${subject.replace(/gid:\w+/g, '*')}`
const shown = ({ type, subject, data }: SeenEvent): object => ({ type, subject, data })
const owner = (): { organizationId: string } => ({ organizationId: service.app.organizationId })
const car = (external_id: string, more: object = {}): object => ({ type: 'Car', external_id, ...more })
const asked = (id: string): object => ({
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id },
})

async function capture(path: string, body: object): Promise<void> {
  const { status, text } = await service.ask(`/capture/v1/${path}`, body)
  expect(status, text).toBe(200)
}

async function configure(method: string, path: string, body?: object): Promise<string> {
  const { status, text, body: answer } = await service.configure(method, path, body)
  expect([200, 201], text).toContain(status)
  return answer.id as string
}

/** Ann owns `c1`, and drives what she owns. */
async function furnish(): Promise<void> {
  await capture('nodes', { nodes: [{ type: 'Person', external_id: 'ann' }, car('c1')] })
  const target = { type: 'Car', external_id: 'c1' }
  const source = { type: 'Person', external_id: 'ann' }
  await capture('relationships', { relationships: [{ source, target, type: 'OWNS' }] })
  await service.addPolicy({ name: 'owners', cypher: 'MATCH (subject)-[:OWNS]->(resource)' })
}

/** One change of each kind, and reads. */
async function work(name: string): Promise<void> {
  await capture('nodes', { nodes: [car(`${name}-1`), car(`${name}-2`)] })
  await capture('nodes/delete', { nodes: [car(`${name}-1`), car(`${name}-3`)] })
  const application = await configure('POST', 'applications', { project_id: service.projectId, name })
  const agent = { application_id: application, name, api_permissions: ['Capture'] }
  const agentId = await configure('POST', 'application-agents', agent)
  await configure('PUT', `application-agents/${agentId}`, { api_permissions: ['Authorization'] })
  await configure('GET', `application-agents/${agentId}`)
  await configure('GET', `application-agents?application_id=${application}`)
  await configure('DELETE', `applications/${application}`)
}

const workEvents = (name: string): string[] => [
  `audit/graph capture.upsert.node nodes/Car/${name}-1`,
  `audit/graph capture.upsert.node nodes/Car/${name}-2`,
  `audit/graph capture.delete.node nodes/Car/${name}-1`,
  'audit/configuration config.create applications/*',
  'audit/configuration config.create application-agents/*',
  'audit/configuration config.permission.assign application-agents/*',
  'audit/configuration config.update application-agents/*',
  'audit/configuration config.permission.revoke application-agents/*',
  'audit/configuration config.permission.assign application-agents/*',
  'audit/configuration config.permission.revoke application-agents/*',
  'audit/configuration config.delete application-agents/*',
  'audit/configuration config.delete applications/*',
  'audit/activity config.read application-agents/*',
  'audit/activity config.read application-agents',
]

/** Records from now on. */
async function during(run: () => Promise<unknown>): Promise<SeenEvent[]> {
  const before = new Set(
    (await auditedEvents(service)).map(({ attributes }) => attributes.source + (attributes.id ?? '')),
  )
  await run()
  const after = await auditedEvents(service)
  return after.filter(({ attributes }) => !before.has(attributes.source + (attributes.id ?? '')))
}

describe('every change and read of a project', () => {
  test('is recorded exactly once without a sink, and nothing for delivery', async () => {
    service = await startService()
    const seen = await during(() => work('app-a'))
    expect(seen.map(short).sort()).toEqual(workEvents('app-a').sort())
    expect(seen.every(({ providers }) => providers.length === 0)).toBe(true)
    expect(await eventsOf(service)).toEqual([])
  })

  test('is recorded once for a sink and once for the audit log, with the same payload', async () => {
    service = await startService()
    await addSink(service, [{ type: 'svc.audit.*' }])
    const before = (await eventsOf(service)).length
    const seen = await during(() => work('app-b'))
    expect(seen.map(short).sort()).toEqual(workEvents('app-b').sort())
    const delivered = (await eventsOf(service)).slice(0)
    expect(delivered.length).toBe(before + seen.length)
    for (const event of seen.map(shown)) expect(delivered.map(shown)).toContainEqual(event)
    expect(
      delivered.every(({ sequence, source }) => sequence <= before + seen.length && !source.includes('audit')),
    ).toBe(true)
  })

  test('is in the audit log if the routes of the sink match other events only', async () => {
    service = await startService()
    await addSink(service, [{ type: 'svc.audit.capture.upsert.node', context: { captureLabel: 'Bus' }, stop: true }])
    const seen = await during(() => work('app-c'))
    expect(seen.map(short).sort()).toEqual(workEvents('app-c').sort())
    expect(await eventsOf(service)).toEqual([])
  })

  test('stays until it is sealed when the sink or the project is deleted', async () => {
    service = await startService()
    const sink = await addSink(service, [{ type: 'svc.audit.*' }])
    await work('app-d')
    const before = (await auditedEvents(service)).map(shown)
    await configure('DELETE', `event-sinks/${sink}`)
    expect(await eventsOf(service)).toEqual([])
    const after = (await auditedEvents(service)).map(shown)
    for (const event of before) expect(after).toContainEqual(event)
    expect(after.length).toBe(before.length + 1)

    const stored = after.filter(({ type }: { type?: string }) => type?.includes('.config.'))
    await configure('DELETE', `projects/${service.projectId}`)
    const left = (await auditedEvents(service)).map(shown)
    for (const event of stored) expect(left).toContainEqual(event)
    expect(await service.app.eventStreams.auditOwners()).toContain(service.projectId)
  })

  test('leaves no other trace in a sink: no backlog, no status, no event to follow', async () => {
    service = await startService()
    const sink = await addSink(service, [{ type: 'svc.audit.ciq.*' }])
    await work('app-e')
    await service.app.settleEvents()
    const { body } = await service.configure('GET', `event-sinks/${sink}`)
    expect(body.providers).toMatchObject({ main: { delivery: { backlog: { events: 0, bytes: 0 } } } })
    const followed = await service.configure('POST', `event-sinks/${sink}/follow`, { start: 'oldest' })
    expect(followed.body).toMatchObject({ events: [], has_more: false, missed: 0 })
    const tested = await service.configure('POST', `event-sinks/${sink}/test`, {
      event: { type: 'svc.audit.capture.upsert.node' },
    })
    expect(tested.body.providers).toEqual([])
  })
})

describe('the organization', () => {
  test('has what is in no project, and the creation and deletion of projects, once', async () => {
    service = await startService()
    const { organizationId } = service.app
    const start = (await auditedEvents(service, owner())).length
    const account = { organization_id: organizationId, name: 'ops', role: 'all_viewer' }
    const accountId = await configure('POST', 'service-accounts', account)
    await configure('GET', `service-accounts/${accountId}`)
    const project = await configure('POST', 'projects', {
      organization_id: organizationId,
      name: 'p2',
      region: 'local',
    })
    expect((await service.configure('GET', `applications?project_id=${project}`)).body).toEqual({ data: [] })
    await configure('PUT', `projects/${project}`, { display_name: 'second' })
    await configure('DELETE', `projects/${project}`)
    const seen = (await auditedEvents(service, owner())).slice(start)
    const all = await auditedEvents(service, owner())
    expect(seen.length).toBeGreaterThan(0)
    expect(all.map(short).sort()).toEqual(
      [
        // The project of the test service.
        'audit/configuration config.create projects/*',
        'audit/configuration config.create service-accounts/*',
        'audit/configuration config.create projects/*',
        'audit/configuration config.delete projects/*',
        'audit/activity config.read service-accounts/*',
        'audit/activity config.read applications',
      ].sort(),
    )
    expect((await auditedEvents(service, { projectId: project })).map(short)).toEqual([
      'audit/configuration config.update projects/*',
    ])
    const [created] = all
    expect(created?.attributes).toMatchObject({ organizationid: organizationId })
    expect(created?.attributes.projectid).toBeUndefined()
    expect(created?.attributes.source).toMatch(
      new RegExp(`^/organizations/${organizationId}/audit/configuration/\\w{10}$`),
    )
  })
})

describe('decisions and searches', () => {
  const evaluate = async (id: string): Promise<void> =>
    expect((await service.ask('/access/v1/evaluation', asked(id))).status).toBe(200)
  const search = async (): Promise<void> => {
    const body = { subject: { type: 'Person', id: 'ann' }, action: { name: 'drive' }, resource: { type: 'Car' } }
    expect((await service.ask('/access/v1/search/resource', body)).status).toBe(200)
  }
  const ask = async (): Promise<void> => {
    await evaluate('c1')
    await evaluate('c2')
    await service.ask('/access/v1/evaluations', {
      evaluations: [asked('c1'), asked('c3'), { action: { name: 'drive' } }],
    })
    await search()
  }
  const decided = async (): Promise<string[]> =>
    (await during(ask)).map(({ type, subject }) => `${type.replace('svc.audit.authorization.', '')} ${subject}`).sort()

  test('are recorded by the setting: all, denials and failures, or none', async () => {
    const asked = {
      none: [],
      denials: ['evaluation subjects/Person/ann', 'evaluations subjects', 'evaluations subjects/Person/ann'],
      all: [
        'evaluation subjects/Person/ann',
        'evaluation subjects/Person/ann',
        'evaluations subjects',
        'evaluations subjects/Person/ann',
        'evaluations subjects/Person/ann',
        'searchresource subjects/Person/ann',
      ],
    } as const
    for (const [auditDecisions, expected] of Object.entries(asked)) {
      service = await startService({ auditDecisions: auditDecisions as keyof typeof asked })
      await furnish()
      expect(await decided(), auditDecisions).toEqual(expected)
      // A sink has its own routes.
      await addSink(service, [{ type: 'svc.audit.authorization.*' }])
      await ask()
      expect((await eventsOf(service)).length).toBe(6)
      await service.stop()
    }
    service = await startService()
  })

  test('are sampled by the rate', async () => {
    service = await startService({ auditDecisions: 'sampled', auditDecisionsSampleRate: 1 })
    await furnish()
    expect((await decided()).length).toBe(6)
    await service.stop()
    service = await startService({ auditDecisions: 'sampled', auditDecisionsSampleRate: 4 })
    await furnish()
    const count = 400
    const seen = await during(async () => {
      for (let at = 0; at < count; at++) await evaluate('c1')
    })
    // 100 expected; beyond these limits less than once in 10^9 runs.
    expect(seen.length).toBeGreaterThan(45)
    expect(seen.length).toBeLessThan(160)
  })
})

describe('knowledge queries and verified tokens', () => {
  test('are always recorded', async () => {
    context = await startContextService()
    ;({ service } = context)
    await furnish()
    const token = await context.tokenOf('ann')
    const policy = {
      subject: { type: 'Person' },
      condition: {
        cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)',
        filter: [
          { operator: 'AND', operands: [{ attribute: 'subject.external_id', operator: '=', value: '$token.sub' }] },
        ],
      },
      allowed_reads: { nodes: ['car.*'], relationships: [] },
      allowed_upserts: { nodes: { existing_nodes: ['car'] } },
    }
    await context.addQuery('read-cars', policy, { nodes: ['car.external_id'] })
    await context.addQuery('paint', policy, {
      nodes: ['car.external_id'],
      upsert_nodes: [{ name: 'car', properties: [{ type: 'colour', value: '$colour' }] }],
    })
    const { execute } = context
    const seen = await during(async () => {
      expect((await execute('read-cars', {}, token)).status).toBe(200)
      expect((await execute('paint', { input_params: { colour: 'green' } }, token)).status).toBe(200)
      expect((await execute('unknown', {}, token)).status).toBe(404)
    })
    expect(seen.map(short)).toEqual([
      'audit/graph ciq.execute knowledge-queries/*',
      'audit/activity credentials.token.introspected token-introspects/*',
      'audit/activity ciq.execute knowledge-queries/*',
      'audit/activity ciq.execute knowledge-queries/unknown',
    ])
    expect(JSON.stringify(seen)).not.toContain('green')
  })
})

describe('settings', () => {
  test('off: nothing is recorded for the audit log', async () => {
    service = await startService({ audit: 'off', auditDecisions: 'all' })
    await furnish()
    await work('app-f')
    await service.ask('/access/v1/evaluation', asked('c1'))
    expect(await auditedEvents(service)).toEqual([])
    expect(await auditedEvents(service, owner())).toEqual([])
    expect(existsSync(join(service.dataDir, 'events'))).toBe(false)
  })

  test('an answer waits for its record if the activity is strict, and is refused without it', async () => {
    const dataDir = temporaryFolder()
    // The folder of events cannot be created. The service reads its project while it starts.
    service = await startService({ dataDir, audit: 'off' })
    const { projectId } = service
    await service.stop()
    writeFileSync(join(dataDir, 'events'), '')
    const app = await createApp(
      { ...defaultSettings, port: 0, dataDir, eventActivityStrict: 'on' },
      { log: () => undefined },
    )
    service = { ...service, app, stop: () => app.close() }
    const { url } = await app.listen()
    const headers = { authorization: `Bearer ${await app.issueAdminToken(3600)}` }
    const read = (): Promise<Response> => fetch(`${url}/configs/v1/projects/${projectId}`, { headers })
    const refused = await read()
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('cannot be stored now')])
    rmSync(join(dataDir, 'events'))
    expect((await read()).status).toBe(200)
    expect((await auditedEvents(service)).map(short).filter((event) => event.includes('read projects'))).toHaveLength(2)
  })
})

describe('the reserved provider', () => {
  test('is no provider of a sink; a sink still has up to 32 providers', async () => {
    service = await startService()
    const routes = [{ type: 'svc.audit.*', provider: '$audit' }]
    const refused = await service.configure('POST', 'event-sinks', sinkBody(service.projectId, routes))
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('$audit')])
    const ids = Array.from({ length: 32 }, (_, at) => `provider-${at}`)
    await addSink(
      service,
      ids.map((provider) => ({ type: 'svc.audit.capture.*', provider })),
    )
    const seen = await during(() => capture('nodes', { nodes: [car('one')] }))
    expect(seen.map(short)).toEqual(['audit/graph capture.upsert.node nodes/Car/one'])
    const delivered = (await eventsOf(service)).filter(({ subject }) => subject === 'nodes/Car/one')
    expect(delivered.map(({ providers }) => providers)).toEqual([ids])
  })
})
