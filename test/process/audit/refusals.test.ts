// The records of refused credentials and refused requests.
import { afterEach, describe, expect, test } from 'vitest'
import { SINGLE_EVENTS_MAX } from '../../../src/events/repeated-events.ts'
import { addSink, auditedEvents, type SeenData } from '../../support/events.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

afterEach(() => service.stop())

const FAILED = 'svc.audit.credentials.authentication.failed'
const question = {
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c1' },
}

/** The payloads of a type in the log of the project, and in that of the organization. */
async function recorded(type: string): Promise<{ readonly project: SeenData[]; readonly organization: SeenData[] }> {
  const dataOf = async (owner: Parameters<typeof auditedEvents>[1]): Promise<SeenData[]> =>
    (await auditedEvents(service, owner)).filter((event) => event.type === type).map(({ data }) => data)
  return {
    project: await dataOf({ projectId: service.projectId }),
    organization: await dataOf({ organizationId: service.app.organizationId }),
  }
}

/** As `recorded`, when `total` events are recorded in both: counted ones are recorded later. */
async function recordedInTotal(type: string, total: number): Promise<Awaited<ReturnType<typeof recorded>>> {
  // The windows of counting grow with the time that the requests take. Only for a test that hangs.
  for (const endMs = performance.now() + 120_000; ; await Bun.sleep(100)) {
    const seen = await recorded(type)
    const counted = [...seen.project, ...seen.organization].map(({ count = 1 }) => count as number)
    if (counted.reduce((sum, count) => sum + count, 0) >= total || performance.now() > endMs) return seen
  }
}

const evaluate = (key: string, headers: Record<string, string> = {}, body: unknown = question) =>
  service.send('/access/v1/evaluation', { headers: { 'x-svc-clientkey': key, ...headers }, body })

describe('refused credentials', () => {
  test('that are known are in the log of their project, with their id and the reason', async () => {
    const clock = new ManualClock(Date.now())
    service = await startService({}, { clock })
    const expire_time = new Date(clock.now() + 3_600_000).toISOString()
    const body = { application_agent_id: service.agentId, expire_time }
    const created = await service.configure('POST', 'application-agent-credentials', body)
    const key = created.body.api_key as string
    const wrong = `${key.slice(0, -1)}${key.endsWith('A') ? 'E' : 'A'}`
    expect((await evaluate(wrong)).status).toBe(401)
    clock.advance(3_600_001)
    expect((await evaluate(key)).status).toBe(401)
    const { project, organization } = await recorded(FAILED)
    const common = { kind: 'agent-key', keyId: created.body.id, operation: 'evaluate', address: '127.0.0.1' }
    expect(project).toMatchObject([
      { ...common, reason: 'the secret of the key is wrong' },
      { ...common, reason: 'expired' },
    ])
    expect(organization).toEqual([])
    expect(JSON.stringify(project)).not.toContain(key.slice(0, 20))
    expect(project.every(({ actor }) => actor === undefined)).toBe(true)
  })

  test('that are unknown are in the log of the organization', async () => {
    service = await startService()
    await evaluate('vgk_nonsense')
    await service.send('/access/v1/evaluation', { body: question })
    await service.send('/configs/v1/organizations/current', { headers: { authorization: 'Bearer nonsense' } })
    const { project, organization } = await recorded(FAILED)
    expect(project).toEqual([])
    expect(organization.map(({ kind, operation, keyId }) => [kind, operation, keyId])).toEqual([
      ['agent-token', 'evaluate', undefined],
      ['none', 'evaluate', undefined],
      ['service-account-token', 'readOrganization', undefined],
    ])
    expect(JSON.stringify(organization)).not.toContain('nonsense')
  })

  test('of a user name the agent that sent them; over MCP only the project is known', async () => {
    const mcp: McpService = await startMcpService()
    service = mcp.service
    const token = await mcp.tokenOf('ann', { expires: new Date(Date.now() - 60_000) })
    expect((await evaluate(service.key, { authorization: `Bearer ${token}` })).status).toBe(401)
    expect((await mcp.ask(token, 'tools/list')).status).toBe(401)
    const { project } = await recorded(FAILED)
    expect(project).toMatchObject([
      { kind: 'user-token', operation: 'evaluate', actor: { type: 'agent', id: service.agentId } },
      { kind: 'user-token', operation: 'callMcp' },
    ])
    expect(project[1]?.actor).toBeUndefined()
    expect(JSON.stringify(project)).not.toContain(token.slice(-20))
  })

  test('in great number are recorded in small number, and all are counted', async () => {
    service = await startService()
    const attempts = 400
    for (let i = 0; i < attempts; i += 50) await Promise.all(Array.from({ length: 50 }, () => evaluate(`guess-${i}`)))
    const { organization } = await recordedInTotal(FAILED, attempts)
    const counts = organization.map(({ count = 1 }) => count as number)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(attempts)
    // A busy machine needs several seconds for the attempts.
    expect(Math.max(...counts)).toBeGreaterThan(SINGLE_EVENTS_MAX)
    expect(counts.length).toBeLessThan(attempts)
  })

  test('from one client are counted apart from those of another one', async () => {
    service = await startService({ clientAddressHeader: 'x-client' })
    const from = (address: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => evaluate('guess', { 'x-client': address })))
    await from('192.0.2.1', SINGLE_EVENTS_MAX)
    await Promise.all([from('192.0.2.1', 100), from('192.0.2.2', 7)])
    const { organization } = await recordedInTotal(FAILED, SINGLE_EVENTS_MAX + 107)
    const seen = new Map<unknown, number>()
    for (const { address, count = 1 } of organization) seen.set(address, (seen.get(address) ?? 0) + (count as number))
    expect(Object.fromEntries(seen)).toEqual({ '192.0.2.1': SINGLE_EVENTS_MAX + 100, '192.0.2.2': 7 })
  })
})

describe('refused requests', () => {
  const malformed = { subject: question.subject }
  const typesOfProject = async (): Promise<string[]> =>
    (await auditedEvents(service, { projectId: service.projectId }))
      .map(({ type }) => type.replace('svc.audit.', ''))
      .filter((type) => type.startsWith('request.') || type.startsWith('authorization.'))

  test('that are decisions are recorded only if `audit_decisions` selects denials', async () => {
    const seen: Record<string, readonly string[]> = {}
    for (const auditDecisions of ['none', 'denials', 'all'] as const) {
      service = await startService({ auditDecisions })
      expect((await evaluate(service.key)).status).toBe(200)
      expect((await evaluate(service.key, {}, malformed)).status).toBe(400)
      seen[auditDecisions] = await typesOfProject()
      await service.stop()
    }
    expect(seen).toEqual({
      none: [],
      denials: ['authorization.evaluation', 'request.refused'],
      all: ['authorization.evaluation', 'request.refused'],
    })
  })

  test('by a limit of requests are counted, not recorded one by one', async () => {
    service = await startService({ agentRequestsPerS: 1, auditDecisions: 'all' })
    const attempts = 300
    const statuses = await Promise.all(
      Array.from({ length: attempts }, async () => (await evaluate(service.key)).status),
    )
    const refused = statuses.filter((status) => status === 429).length
    const { project } = await recordedInTotal('svc.audit.request.refused', refused)
    expect(refused).toBeGreaterThan(SINGLE_EVENTS_MAX)
    expect(project.reduce((sum, { count = 1 }) => sum + (count as number), 0)).toBe(refused)
    expect(project.length).toBeLessThan(refused)
    expect(project[0]).toMatchObject({ status: 429, error: 'too-many', operation: 'evaluate' })
  })

  test('in great number are counted for each caller and operation, and do not hide those of another project', async () => {
    service = await startService({ auditDecisions: 'denials' })
    const { app, projectId, configure } = service
    const other = await configure('POST', 'projects', {
      organization_id: app.organizationId,
      name: 'other',
      region: 'eu-west',
    })
    expect(other.status, other.text).toBe(201)
    const agent = await service.addAgent('second', ['Authorization'])
    const attempts = 300
    const asked = async (key: string, count: number): Promise<void> => {
      const statuses = await Promise.all(
        Array.from({ length: count }, async () => (await evaluate(key, {}, malformed)).status),
      )
      expect(new Set(statuses)).toEqual(new Set([400]))
    }
    await asked(service.key, attempts)
    // The other caller, another operation, and another project, within the same window.
    await Promise.all([asked(agent.key, 7), asked(service.key, attempts)])
    const wrong = { organization_id: app.organizationId, nonsense: 1 }
    for (let i = 0; i < 3; i++) expect((await configure('PUT', `projects/${other.body.id}`, wrong)).status).toBe(422)
    const { project } = await recordedInTotal('svc.audit.request.refused', 2 * attempts + 7)
    const sums = new Map<unknown, number>()
    for (const { actor, count = 1 } of project) {
      const { id } = actor as { id: string }
      sums.set(id, (sums.get(id) ?? 0) + (count as number))
    }
    expect(Object.fromEntries(sums)).toEqual({ [service.agentId]: 2 * attempts, [agent.agentId]: 7 })
    expect(project.length).toBeLessThan(attempts)
    // A record that stands for several requests has no id of one of them.
    for (const { count, requestId } of project) expect(requestId === undefined).toBe(count !== undefined)
    for (const each of project) expect(each).toMatchObject({ operation: 'evaluate', status: 400, error: 'malformed' })
    const single = (await auditedEvents(service, { projectId: other.body.id as string })).filter(
      ({ type }) => type === 'svc.audit.request.refused',
    )
    expect(single.map(({ data }) => [data.operation, data.count])).toEqual(
      Array.from({ length: 3 }, () => ['updateProject', undefined]),
    )
    expect(projectId).not.toBe(other.body.id)
  })

  test('are recorded in the log of the project whose document they name', async () => {
    service = await startService()
    const path = `applications/${service.applicationId}`
    expect((await service.configure('PUT', path, { project_id: 'x' })).status).toBe(422)
    expect((await service.configure('GET', 'applications/gid:00000000000000000000000000')).status).toBe(404)
    const { project, organization } = await recorded('svc.audit.request.refused')
    expect([...project, ...organization]).toMatchObject([
      { operation: 'updateApplication', path: `/configs/v1/${path}`, status: 422, error: 'invalid' },
      { operation: 'readApplication', status: 404, error: 'not-found' },
    ])
    expect(project).toHaveLength(1)
    expect(project[0]).toMatchObject({ actor: { type: 'service-account', keyId: expect.any(String) } })
  })

  test('have no values of the request', async () => {
    service = await startService()
    const secret = 'a-secret-value'
    await service.configure('POST', 'applications', { project_id: service.projectId, name: 'x', nonsense: secret })
    await service.configure('GET', `applications?nonsense=${secret}`)
    const { project, organization } = await recorded('svc.audit.request.refused')
    expect(project.length + organization.length).toBe(2)
    expect(JSON.stringify([project, organization])).not.toContain(secret)
  })
})

describe('requests about events', () => {
  test('are in the audit log, and are not events of the sink that they read', async () => {
    service = await startService()
    const sink = await addSink(service, [{ type: 'svc.audit.*' }])
    const follow = async (body: object): Promise<SeenData> => {
      const { status, body: followed, text } = await service.configure('POST', `event-sinks/${sink}/follow`, body)
      expect(status, text).toBe(200)
      return followed
    }
    const { position } = await follow({})
    await service.app.settleEvents()
    expect((await follow({ position })).events).toEqual([])
    const { project } = await recorded('svc.audit.request.answered')
    expect(project.map(({ operation }) => operation)).toEqual(['followEvents', 'followEvents'])
  })
})
