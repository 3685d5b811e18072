// Policies with the effect `forbid`, by the truth table of docs/explanation/forbid.md: in evaluations, batches and the three searches,
// explained, logged, and in the audit log.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditedEvents } from '../../support/events.ts'
import { startService, type TestService } from '../../support/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-forbid-'))
const path = join(folder, 'decisions.ndjson')
let service: TestService
let reader = ''
let isStopped = false
const ids: Record<string, string> = {}

const grant = 'MATCH (subject)-[:OWNS]->(resource)'
const FORBIDDEN = 'forbidden: a policy forbids what another policy grants'

/** Each action has the policy `grant`, and one that forbids. */
const forbids: Readonly<Record<string, Omit<Parameters<TestService['addPolicy']>[0], 'name'>>> = {
  known: { cypher: 'MATCH (subject), (resource) WHERE resource.stolen = true' },
  inline: { cypher: 'MATCH (subject), (resource {stolen: true})' },
  negated: { cypher: 'MATCH (subject), (resource) WHERE NOT resource.level < 3' },
  nested: { cypher: 'MATCH (subject), (resource) WHERE EXISTS { (resource)-[:IN]->(g:Garage) WHERE g.closed = true }' },
  excluded: {
    cypher: 'MATCH (subject), (resource) WHERE NOT EXISTS { (resource)-[:IN]->(g:Garage) WHERE g.closed = false }',
  },
  parameter: { cypher: 'MATCH (subject), (resource) WHERE $hour > 20' },
  member: { cypher: 'MATCH (subject), (resource) WHERE $request.region = "eu"' },
  claim: { cypher: 'MATCH (subject), (resource) WHERE $token.level < 2' },
  fault: { cypher: 'MATCH (subject), (resource) WHERE 1 / size($list) > 1' },
  filter: {
    cypher: 'MATCH (subject), (resource)',
    filter: { operator: '=', attribute: '$resource_properties.region', value: 'eu' },
  },
  tagged: { cypher: 'MATCH (subject), (resource)', tags: ['day'] },
  case: { cypher: 'MATCH (subject), (resource) WHERE CASE WHEN resource.level > 3 THEN true ELSE false END' },
  known_null: { cypher: 'MATCH (subject), (resource) WHERE coalesce(resource.level > 3, false)' },
}

beforeAll(async () => {
  service = await startService(
    { decisionLog: path, auditDecisions: 'all', searchPageMax: 50 },
    { sync: false, log: () => {} },
  )
  const node = (type: string, external_id: string, properties: Record<string, unknown> = {}) => ({
    ...{ type, external_id },
    properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
  })
  const cars = [
    node('Car', 'plain', { stolen: false, level: 1 }),
    node('Car', 'stolen', { stolen: true, level: 9 }),
    node('Car', 'blank'),
  ]
  const many = Array.from({ length: 30 }, (_, i) =>
    node('Car', `many-${i}`, i % 3 === 2 ? {} : { stolen: i % 3 === 1, level: 1 }),
  )
  const garages = [
    node('Garage', 'closed', { closed: true }),
    node('Garage', 'unknown'),
    node('Garage', 'open', { closed: false }),
  ]
  const nodes = [node('Person', 'ann'), node('Person', 'bob'), ...cars, ...many, ...garages]
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
  const link = (source: [string, string], type: string, target: [string, string]) => ({
    ...{ source: { type: source[0], external_id: source[1] }, type },
    target: { type: target[0], external_id: target[1] },
  })
  const relationships = [
    ...[...cars, ...many].map(({ external_id }) => link(['Person', 'ann'], 'OWNS', ['Car', external_id])),
    link(['Car', 'plain'], 'IN', ['Garage', 'open']),
    link(['Car', 'stolen'], 'IN', ['Garage', 'closed']),
    link(['Car', 'blank'], 'IN', ['Garage', 'unknown']),
  ]
  expect((await service.ask('/capture/v1/relationships', { relationships })).status).toBe(200)
  await service.addPolicy({ name: 'grant', actions: [...Object.keys(forbids), 'free'].slice(0, 5), cypher: grant })
  await service.addPolicy({ name: 'grant-2', actions: Object.keys(forbids).slice(5, 10), cypher: grant })
  await service.addPolicy({ name: 'grant-3', actions: [...Object.keys(forbids).slice(10), 'free'], cypher: grant })
  for (const [action, policy] of Object.entries(forbids)) {
    const name = `no-${action.replaceAll('_', '-')}`
    ids[action] = await service.addPolicy({ name, actions: [action], effect: 'forbid', ...policy })
  }
  await service.addPolicy({
    name: 'no-one',
    actions: ['lone'],
    effect: 'forbid',
    cypher: 'MATCH (subject), (resource)',
  })
  const draft = {
    meta: { policy_version: '3.0-kbac' },
    effect: 'forbid',
    ...{ subject: { type: 'Person' }, actions: ['free'], resource: { type: 'Car' } },
    condition: { cypher: 'MATCH (subject), (resource)' },
  }
  const stored = await service.configure('POST', 'authorization-policies', {
    ...{ project_id: service.projectId, name: 'no-draft', policy: JSON.stringify(draft), status: 'DRAFT' },
  })
  expect(stored.status).toBe(201)
  reader = (await service.addAgent('reader', ['Authorization', 'ReadAuthZConfigs'])).key
})
afterAll(async () => {
  if (!isStopped) await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const ann = { type: 'Person', id: 'ann' }
const car = (id: string) => ({ type: 'Car', id })

async function evaluate(action: string, id: string, context: object = {}, more: object = {}) {
  const answer = await service.ask('/access/v1/evaluation', {
    ...{ subject: ann, action: { name: action }, resource: { ...car(id), ...more }, context },
  })
  expect(answer.status, answer.text).toBe(200)
  return answer.body as { decision: boolean; context?: { reason?: string } }
}

/** The decisions about the plain car, the stolen one, and the one without properties. */
async function decisions(action: string, context: object = {}, more: object = {}) {
  const found = []
  for (const id of ['plain', 'stolen', 'blank']) found.push((await evaluate(action, id, context, more)).decision)
  return found
}

describe('a policy that forbids', () => {
  it.each([
    ['known', {}, [true, false, false]],
    ['inline', {}, [true, false, false]],
    ['negated', {}, [true, false, false]],
    ['nested', {}, [true, false, false]],
    ['excluded', {}, [true, false, false]],
    ['case', {}, [true, false, false]],
    ['known_null', {}, [true, false, true]],
    ['parameter', { input_params: { hour: 12 } }, [true, true, true]],
    ['parameter', { input_params: { hour: 22 } }, [false, false, false]],
    ['parameter', { input_params: { hour: null } }, [false, false, false]],
    ['parameter', {}, [false, false, false]],
    ['member', { input_params: { request: { region: 'us' } } }, [true, true, true]],
    ['member', { input_params: { request: {} } }, [false, false, false]],
    ['claim', {}, [false, false, false]],
    ['fault', { input_params: { list: [1, 2] } }, [true, true, true]],
    ['fault', { input_params: { list: [] } }, [false, false, false]],
    ['tagged', {}, [false, false, false]],
    ['tagged', { policy_tags: ['night'] }, [false, false, false]],
    ['free', {}, [true, true, true]],
    ['lone', {}, [false, false, false]],
  ])('%s with %j denies unless it is definitely false', async (action, context, expected) => {
    expect(await decisions(action, context)).toEqual(expected)
    const search = await service.ask('/access/v1/search/resource', {
      ...{ subject: ann, action: { name: action }, resource: { type: 'Car' }, context },
    })
    const found = new Set((search.body.results as { id: string }[]).map(({ id }) => id))
    expect(['plain', 'stolen', 'blank'].map((id) => found.has(id))).toEqual(expected)
    for (const [i, id] of ['plain', 'stolen', 'blank'].entries()) {
      const who = await service.ask('/access/v1/search/subject', {
        ...{ subject: { type: 'Person' }, action: { name: action }, resource: car(id), context },
      })
      expect(who.body.results, who.text).toEqual(expected[i] === true ? [ann] : [])
      const actions = await service.ask('/access/v1/search/action', { subject: ann, resource: car(id), context })
      const names = ((actions.body.results ?? []) as { name: string }[]).map(({ name }) => name)
      expect(names.includes(action), actions.text).toBe(expected[i])
    }
  })

  it('has a filter that must be definitely false', async () => {
    expect(await decisions('filter', {}, { properties: { region: 'us' } })).toEqual([true, true, true])
    expect(await decisions('filter', {}, { properties: { region: 'eu' } })).toEqual([false, false, false])
    expect(await decisions('filter')).toEqual([false, false, false])
  })

  it('gives the denial a reason, which names no policy', async () => {
    expect((await evaluate('known', 'stolen')).context?.reason).toBe(FORBIDDEN)
    expect((await evaluate('parameter', 'plain')).context?.reason).toMatch(/^policy_failed \(missing-parameter\)/)
    expect((await evaluate('fault', 'plain', { input_params: { list: [] } })).context?.reason).toMatch(
      /^policy_failed \(arithmetic\)/,
    )
    // Without a grant it is not asked.
    const other = await service.ask('/access/v1/evaluation', {
      ...{ subject: { type: 'Person', id: 'bob' }, action: { name: 'known' }, resource: car('stolen') },
    })
    expect(other.body.decision).toBe(false)
    expect(other.body.context).not.toHaveProperty('reason')
  })

  it('applies as a draft only if the request asks about drafts', async () => {
    const ask = async (context: object) =>
      (
        await service.send('/access/v1/evaluation', {
          ...{ method: 'POST', headers: { 'x-svc-clientkey': reader } },
          body: { subject: ann, action: { name: 'free' }, resource: car('plain'), context },
        })
      ).body
    expect(await ask({})).toMatchObject({ decision: true })
    expect(await ask({ policy_status: 'DRAFT' })).toMatchObject({ decision: false, context: { reason: FORBIDDEN } })
  })

  it('decides in batches, and ends them', async () => {
    const item = (id: string) => ({ subject: ann, action: { name: 'known' }, resource: car(id) })
    const evaluations = ['plain', 'stolen', 'plain'].map(item)
    const all = await service.ask('/access/v1/evaluations', { evaluations })
    expect(all.body.evaluations).toMatchObject([{ decision: true }, { decision: false }, { decision: true }])
    const first = await service.ask('/access/v1/evaluations', {
      ...{ evaluations, options: { evaluations_semantic: 'deny_on_first_deny' } },
    })
    expect(first.body.evaluations).toMatchObject([{ decision: true }, { decision: false }])
  })

  it('takes no place on the pages of a search', async () => {
    const request = { subject: ann, action: { name: 'known' }, resource: { type: 'Car' } }
    const found: string[] = []
    for (let token = ''; ; ) {
      const page = token === '' ? { limit: 4 } : { token }
      const { body } = await service.ask('/access/v1/search/resource', { ...request, page })
      const results = body.results as { id: string }[]
      const { next_token, total } = body.page as { next_token: string; total: number }
      found.push(...results.map(({ id }) => id))
      if (next_token !== '') expect(results).toHaveLength(4)
      expect(total).toBe(11)
      token = next_token
      if (token === '') break
    }
    expect(found).toHaveLength(11)
    expect(new Set(found)).toEqual(new Set(['plain', ...Array.from({ length: 10 }, (_, i) => `many-${3 * i}`)]))
  })

  it('is named with its path by an explanation', async () => {
    const explain = async (action: string, id: string) =>
      (
        await service.send('/access/v1/explain', {
          ...{ method: 'POST', headers: { 'x-svc-clientkey': reader } },
          body: { subject: ann, action: { name: action }, resource: car(id) },
        })
      ).body
    const denied = await explain('nested', 'stolen')
    expect(denied).toMatchObject({ decision: false, context: { reason: FORBIDDEN } })
    expect(denied.policies).toMatchObject([
      { name: 'grant', outcome: 'granted' },
      { name: 'no-nested', effect: 'forbid', outcome: 'forbidden', matched: { nodes: expect.anything() } },
    ])
    expect((await explain('nested', 'plain')).policies).toMatchObject([
      { name: 'grant', outcome: 'granted' },
      { name: 'no-nested', effect: 'forbid', outcome: 'passed' },
    ])
    expect((await explain('parameter', 'plain')).policies).toMatchObject([
      { outcome: 'granted' },
      { name: 'no-parameter', outcome: 'forbidden', because: 'parameters', missing: ['hour'] },
    ])
  })

  it('is in the audit log', async () => {
    await evaluate('known', 'stolen')
    expect(JSON.stringify(await auditedEvents(service))).toContain(
      `"denyReason":{"message":"${FORBIDDEN}","policy":{"id":"${ids.known}","name":"no-known"}}`,
    )
  })

  it('is listed with its effect', async () => {
    const { body } = await service.send('/access/v1/policies?subject_type=Person', {
      headers: { 'x-svc-clientkey': reader },
    })
    const effects = (body.results as { policy: { effect?: string } }[]).map(({ policy }) => policy.effect ?? 'permit')
    expect(effects.filter((effect) => effect === 'forbid')).toHaveLength(Object.keys(forbids).length + 1)
  })
})

describe('a comparison', () => {
  const compare = async (body: object) => {
    const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
    const answer = await service.send('/access/v1/compare', { method: 'POST', headers, body })
    expect(answer.status, answer.text).toBe(200)
    return answer.body
  }
  const document = (action: string, effect: string, cypher: string) => ({
    ...{ meta: { policy_version: '3.0-kbac' }, effect },
    ...{ subject: { type: 'Person' }, actions: [action], resource: { type: 'Car' } },
    condition: { cypher },
  })

  it('reports the pairs that a new policy forbids, and those that the removal of one permits', async () => {
    const policy = document('free', 'forbid', 'MATCH (subject), (resource) WHERE resource.stolen = true')
    expect(await compare({ policies: [{ name: 'new', policy }] })).toMatchObject({ gained: 0, lost: 22 })
    expect(await compare({ removed_policies: ['no-known'] })).toMatchObject({ gained: 22, lost: 0 })
  })

  it('reports a change of the effect', async () => {
    const policy = document('known', 'permit', 'MATCH (subject)-[:OWNS]->(resource) WHERE resource.stolen = true')
    expect(await compare({ policies: [{ name: 'no-known', policy }] })).toMatchObject({ gained: 22, lost: 0 })
  })
})

describe('a document', () => {
  let stored = 0
  const store = async (document: object) =>
    (
      await service.configure('POST', 'authorization-policies', {
        ...{
          project_id: service.projectId,
          name: `stored-${++stored}`,
          policy: JSON.stringify(document),
          status: 'ACTIVE',
        },
      })
    ).body
  const types = { subject: { type: 'Person' }, actions: ['a'], resource: { type: 'Car' } }

  it('is refused if an unknown condition would decide a value', async () => {
    const cypher = 'MATCH (subject), (resource) WHERE COUNT { (resource)-[:IN]->(g) WHERE g.closed = true } < 2'
    const of = (text: string) => ({
      ...{ meta: { policy_version: '3.0-kbac' }, effect: 'forbid', ...types, condition: { cypher: text } },
    })
    expect(JSON.stringify(await store(of(cypher)))).toMatch(/a forbid policy cannot use COUNT \{ \} over a condition/)
    expect(
      (await store(of(cypher.replace('g.closed = true', 'coalesce(g.closed = true, true)')))).errors,
    ).toBeUndefined()
  })

  it('is refused with another effect, and with one in a context policy', async () => {
    const condition = { cypher: 'MATCH (subject), (resource)' }
    const meta = { policy_version: '3.0-kbac' }
    expect(JSON.stringify(await store({ meta, effect: 'deny', ...types, condition }))).toContain('policy.effect')
    const context = {
      meta: { policy_version: '1.0-ciq' },
      subject: { type: 'Person' },
      condition: { cypher: 'MATCH (subject)' },
    }
    expect(JSON.stringify(await store({ ...context, effect: 'forbid' }))).toContain('effect')
  })
})

// The log is complete when the service has stopped.
describe('the decision log', () => {
  it('has the policy that forbade', async () => {
    const { context } = (await evaluate('known', 'stolen')) as { context?: { id?: string } }
    await service.stop()
    isStopped = true
    const lines = readFileSync(path, 'utf8').trim().split('\n')
    const line = lines.map((one) => JSON.parse(one)).find(({ id }) => id === context?.id)
    expect(line).toMatchObject({ decision: false, forbidden_by: ids.known })
    expect(line.granted_by).toBeUndefined()
  })
})
