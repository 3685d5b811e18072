// Trust scoring as its users see it: profiles over HTTP, passes by the schedule, and scores in reads, filters and decisions.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readingGraphs } from '../../../src/kernel/request/remote-reads.ts'
import { type ContextService, startContextService } from '../../support/context-service.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import type { TestResponse } from '../../support/service.ts'

const DAY_MS = 86_400_000
const START_MS = Date.parse('2026-01-01T06:00:00Z')

let setup: ContextService
let clock: ManualClock
let explainKey: string
let schemaKey: string
let queries = 0

beforeAll(async () => {
  clock = new ManualClock(START_MS)
  setup = await startContextService({}, { clock })
  schemaKey = (await setup.service.addAgent('schema', ['ReadDataSchema'])).key
  explainKey = (await setup.service.addAgent('reader', ['Authorization', 'ReadAuthZConfigs'])).key
})
afterAll(() => setup.stop())

/** With a token of the present time: the clock moves by days. */
async function configure(method: string, path: string, body?: unknown): Promise<TestResponse> {
  const token = await setup.service.app.issueAdminToken(3600)
  return setup.service.send(`/configs/v1/${path}`, { method, headers: { authorization: `Bearer ${token}` }, body })
}

/** As `addQuery` and `addPolicy` of the setups do, with `configure`. */
async function add(kind: string, body: object): Promise<string> {
  const {
    status,
    body: created,
    text,
  } = await configure('POST', kind, { project_id: setup.service.projectId, ...body })
  if (status !== 201) throw new Error(text)
  return created.id as string
}

async function addQuery(name: string, policy: object, query: object): Promise<string> {
  const policy_id = await add('authorization-policies', {
    name: `${name}-policy`,
    status: 'ACTIVE',
    policy: JSON.stringify({ meta: { policy_version: '1.0-ciq' }, ...policy }),
  })
  return add('knowledge-queries', { name, status: 'ACTIVE', policy_id, query: JSON.stringify(query) })
}

/** With the type of the test as subject, and the application as resource. */
function addDecisionPolicy(action: string, cypher: string): Promise<string> {
  const policy = {
    meta: { policy_version: '3.0-kbac' },
    subject: { type },
    actions: [action],
    resource: { type: '_Application' },
    condition: { cypher },
  }
  return add('authorization-policies', {
    name: `policy-${number}-${action}`,
    status: 'ACTIVE',
    policy: JSON.stringify(policy),
  })
}

const weights = [
  { name: 'VALIDITY', weight: 1 },
  { name: 'VERIFICATION', weight: 0.5 },
  { name: 'ORIGIN', weight: 0.5 },
  { name: 'FRESHNESS', weight: 0 },
  { name: 'COMPLETENESS', weight: 0.5 },
]

interface StoredValue {
  readonly value?: unknown
  readonly metadata?: object
}

/** Types of their own keep the tests independent. */
let number = 0
let type = ''
beforeEach(() => {
  number += 1
  type = `Licence${number}`
})

const properties = (all: Readonly<Record<string, StoredValue>>): object[] =>
  Object.entries(all).map(([name, one]) => ({ type: name, ...one }))

async function capture(external_id: string, all: Readonly<Record<string, StoredValue>>): Promise<void> {
  const { status, text } = await setup.capture('nodes', { nodes: [{ external_id, type, properties: properties(all) }] })
  if (status !== 200) throw new Error(text)
}

async function addProfile(members: object = {}): Promise<string> {
  return add('trust-score-profiles', {
    name: `profile-${number}`,
    node_classification: type,
    dimensions: weights,
    schedule: 'DAILY',
    ...members,
  })
}

const readProfile = async (id: string): Promise<Record<string, unknown>> =>
  (await configure('GET', `trust-score-profiles/${id}`)).body

/** A day later every profile is due once. */
async function nextDay(): Promise<void> {
  clock.advance(DAY_MS)
  await setup.service.app.scoreTrust()
}

/** Records of all nodes of the type, by external id. */
async function read(paths: readonly string[], filter?: object): Promise<Map<string, Record<string, unknown>>> {
  const allowed = ['n.external_id', 'n.trust_score.*', ...paths]
  const id = await addQuery(
    `scores${++queries}`,
    {
      subject: { type: '_Application' },
      condition: { cypher: `MATCH (subject:_Application) WHERE subject.external_id = $_appId MATCH (n:${type})` },
      allowed_reads: { nodes: allowed },
    },
    { nodes: ['n.external_id', ...paths], ...(filter !== undefined && { filter }) },
  )
  const { status, body, text } = await setup.execute(id)
  if (status !== 200) throw new Error(text)
  return new Map(
    (body.data as { nodes: Record<string, unknown> }[]).map(({ nodes }) => [nodes['n.external_id'] as string, nodes]),
  )
}

const scoreOf = async (externalId: string, name = '_final_score'): Promise<unknown> =>
  (await read([`n.trust_score.${name}`])).get(externalId)?.[`n.trust_score.${name}`]

const verified = { metadata: { source: 'registry', assurance_level: 3, verified_time: '2025-12-31T00:00:00Z' } }

describe('a profile', () => {
  it('scores the nodes of its type when its schedule is due, and not before', async () => {
    await capture('a', { issued_on: { value: '2025-01-01', ...verified }, valid_until: { value: '2030-01-01' } })
    const id = await addProfile({ sources: { registry: 1 } })
    await setup.service.app.scoreTrust()
    expect(await scoreOf('a')).toBeNull()
    expect(await readProfile(id)).toMatchObject({ last_run_id: '', last_run_end_time: '', run_progress: null })

    await nextDay()
    const row = (await read(['n.trust_score.*'])).get('a')
    const scores = Object.fromEntries(
      (row!['n.trust_score.*'] as { type: string; value: number }[]).map(({ type: name, value }) => [name, value]),
    )
    // Verified two days ago, the other property was not: half of 0.5 ** (2 / 365).
    const verification = 0.5 ** (2 / 365) / 2
    expect(scores).toEqual({
      validity: 1,
      verification,
      origin: 0.5,
      freshness: 0.5 ** (1 / 90),
      completeness: 1,
      _final_score: (1 + 0.5 * verification + 0.5 * 0.5 + 0.5 * 1) / 2.5,
      formula_version: 1,
    })
    const profile = await readProfile(id)
    expect(profile).toMatchObject({
      last_run_id: expect.stringMatching(/^gid:/),
      last_run_start_time: new Date(clock.now()).toISOString(),
      last_run_end_time: new Date(clock.now()).toISOString(),
      last_error: '',
      run_progress: null,
    })
    expect(Object.keys(profile.dimensions_execution_times as object).sort()).toEqual(
      weights.map((one) => one.name).sort(),
    )

    const { last_run_id } = profile
    await setup.service.app.scoreTrust()
    expect((await readProfile(id)).last_run_id).toBe(last_run_id)
    await nextDay()
    expect((await readProfile(id)).last_run_id).not.toBe(last_run_id)
    expect(await scoreOf('a', 'freshness')).toBe(0.5 ** (2 / 90))
  })

  it('runs a pass once if several were missed', async () => {
    await capture('a', { name: { value: 'x' } })
    const id = await addProfile({ schedule: 'THREE_HOURS' })
    clock.advance(5 * DAY_MS)
    await setup.service.app.scoreTrust()
    const { last_run_id } = await readProfile(id)
    await setup.service.app.scoreTrust()
    expect((await readProfile(id)).last_run_id).toBe(last_run_id)
    clock.advance(3 * 3_600_000)
    await setup.service.app.scoreTrust()
    expect((await readProfile(id)).last_run_id).not.toBe(last_run_id)
  })

  it('is refused if another profile scores the type', async () => {
    await addProfile()
    await expect(addProfile({ name: 'second' })).rejects.toThrow(
      `\`${type}\` nodes are scored already, by the profile \`profile-${number}\``,
    )
  })

  it('is not changed by its passes: an ETag from before is valid', async () => {
    const id = await addProfile()
    const before = (await configure('GET', `trust-score-profiles/${id}`)).headers.get('etag')
    await nextDay()
    const after = await configure('GET', `trust-score-profiles/${id}`)
    expect([after.headers.get('etag'), after.body.last_run_id]).toEqual([before, expect.stringMatching(/^gid:/)])
    const updated = await configure('PUT', `trust-score-profiles/${id}`, { schedule: 'SIX_HOURS' })
    expect(updated.status).toBe(200)
    expect(await readProfile(id)).toMatchObject({ schedule: 'SIX_HOURS', last_run_id: after.body.last_run_id })
  })
})

describe('a score', () => {
  it('can be filtered by; a node without score is rejected', async () => {
    await capture('good', { issued_on: { value: '2025-01-01' } })
    await capture('bad', { issued_on: { value: '2999-01-01' } })
    await addProfile({ dimensions: [{ name: 'VALIDITY', weight: 1 }] })
    const above = { operator: '>', attribute: 'n.trust_score._final_score', value: 0.66 }
    expect([...(await read([], above)).keys()]).toEqual([])
    await nextDay()
    await capture('new', { issued_on: { value: '2025-01-01' } })
    expect([...(await read([], above)).keys()]).toEqual(['good'])
    const none = { operator: 'IS NULL', attribute: 'n.trust_score._final_score' }
    expect([...(await read([], none)).keys()]).toEqual(['new'])
  })

  it('decides in a policy', async () => {
    await capture('good', { issued_on: { value: '2025-01-01' } })
    await capture('bad', { issued_on: { value: '2999-01-01' } })
    await addProfile({ dimensions: [{ name: 'VALIDITY', weight: 1 }] })
    await addDecisionPolicy(
      'enter',
      `MATCH (subject:${type})-[:_HAS]->(score:_TrustScore), (resource:_Application) WHERE score._final_score > 0.66`,
    )
    const decide = async (id: string): Promise<unknown> =>
      (
        await setup.service.ask('/access/v1/evaluation', {
          subject: { type, id },
          action: { name: 'enter' },
          resource: { type: '_Application', id: setup.service.applicationId },
        })
      ).body.decision
    expect([await decide('good'), await decide('bad')]).toEqual([false, false])
    await nextDay()
    expect([await decide('good'), await decide('bad')]).toEqual([true, false])
  })

  it.each([
    ['subject._final_score > 0.66', true],
    ['subject.trust_score._final_score > 0.66', true],
    ['subject.trust_score.validity = 1', true],
    ['subject.trust_score.freshness > 0', false],
    ['subject._final_score IS NULL', false],
  ])('decides in a policy with `%s`, and in its searches', async (where, isGranted) => {
    await capture('good', { issued_on: { value: '2025-01-01' }, _final_score: { value: 0.1 } })
    await capture('bad', { issued_on: { value: '2999-01-01' }, _final_score: { value: 1 } })
    await addProfile({ dimensions: [{ name: 'VALIDITY', weight: 1 }] })
    await nextDay()
    const action = `by-score-${number}`
    await addDecisionPolicy(action, `MATCH (subject:${type}), (resource:_Application) WHERE ${where}`)
    const body = { action: { name: action }, resource: { type: '_Application', id: setup.service.applicationId } }
    for (const id of ['good', 'bad']) {
      const decided = await setup.service.ask('/access/v1/evaluation', { ...body, subject: { type, id } })
      expect([id, decided.body.decision]).toEqual([id, id === 'good' && isGranted])
    }
    const found = await setup.service.ask('/access/v1/search/subject', { ...body, subject: { type } })
    expect(found.body.results).toEqual(isGranted ? [{ type, id: 'good' }] : [])
    // A node that was captured after the pass has no score.
    await capture('new', { issued_on: { value: '2025-01-01' } })
    const unscored = await setup.service.ask('/access/v1/evaluation', { ...body, subject: { type, id: 'new' } })
    expect(unscored.body.decision).toBe(where.endsWith('IS NULL'))
  })

  it('can be named in a policy before the first pass without a warning, and a wrong name is refused', async () => {
    await capture('a', { issued_on: { value: '2025-01-01' } })
    const policy = (where: string): Promise<TestResponse> =>
      configure('POST', 'authorization-policies', {
        project_id: setup.service.projectId,
        name: `named-${number}-${where.length}`,
        status: 'ACTIVE',
        policy: JSON.stringify({
          meta: { policy_version: '3.0-kbac' },
          subject: { type },
          actions: ['enter'],
          resource: { type: '_Application' },
          condition: { cypher: `MATCH (subject:${type}), (resource:_Application) WHERE ${where}` },
        }),
      })
    const good = await policy('subject._final_score > 0.5 AND resource.trust_score.completeness < 1')
    expect([good.status, good.body.warnings]).toEqual([201, undefined])
    const bad = await policy('subject.trust_score.validty > 0.5')
    expect([bad.status, bad.text]).toEqual([422, expect.stringContaining('trust scores have no `validty`')])
    expect(bad.text).toContain('did you mean `validity`')
  })

  it('is explained: the explanation names the dimension that lowers it', async () => {
    await capture('bad', { issued_on: { value: '2999-01-01' }, name: { value: 'x', ...verified } })
    await addProfile({ sources: { registry: 1 } })
    const patterns = [
      `MATCH (subject:${type})-[:_HAS]->(score:_TrustScore), (resource:_Application) WHERE score._final_score > 0.66`,
      `MATCH (subject:${type}), (resource:_Application) WHERE subject._final_score > 0.66`,
    ]
    const explain = async (action: string): Promise<Record<string, unknown>> => {
      const { body, text } = await setup.service.send('/access/v1/explain', {
        headers: { 'x-svc-clientkey': explainKey },
        body: {
          subject: { type, id: 'bad' },
          action: { name: action },
          resource: { type: '_Application', id: setup.service.applicationId },
        },
      })
      if (body.policies === undefined) throw new Error(text)
      return (body.policies as Record<string, unknown>[])[0]!
    }
    for (const [i, cypher] of patterns.entries()) await addDecisionPolicy(`explained-${number}-${i}`, cypher)
    expect((await explain(`explained-${number}-0`)).trust_scores).toEqual([])
    await nextDay()
    const verification = 0.5 ** (Math.floor(clock.now() / DAY_MS - Date.parse('2025-12-31') / DAY_MS) / 365) / 2
    for (const i of patterns.keys()) {
      const { outcome, trust_scores, nearest_miss } = await explain(`explained-${number}-${i}`)
      const { says } = (nearest_miss as { stopped: { says: string } }).stopped
      expect(says).toContain(i === 0 ? 'score._final_score > 0.66' : 'subject.trust_score._final_score > 0.66')
      expect([i, outcome]).toEqual([i, 'denied'])
      const [score, ...others] = trust_scores as { dimensions: object[]; final_score: number }[]
      expect(others).toEqual([])
      expect(score).toMatchObject({ node: { type, id: 'bad' }, lowered_by: 'VALIDITY' })
      expect(score!.final_score).toBeCloseTo((0.5 * verification + 0.5 * 0.5 + 0.5) / 2.5, 12)
      expect(score!.dimensions).toMatchObject([
        { name: 'VALIDITY', value: 0, weight: 1, loss: 0.4 },
        { name: 'VERIFICATION', value: verification, weight: 0.5 },
        { name: 'ORIGIN', value: 0.5, weight: 0.5, loss: 0.1 },
        { name: 'FRESHNESS', weight: 0, loss: 0 },
        { name: 'COMPLETENESS', value: 1, loss: 0 },
      ])
    }
  })

  it('is in the data schema of the type of its node', async () => {
    await capture('a', { issued_on: { value: '2025-01-01' } })
    await capture('b', { name: { value: 'x' } })
    await addProfile({ dimensions: weights.slice(0, 2) })
    const readSchema = async (): Promise<{ nodes: Record<string, { metadata: object }>; edges: object[] }> => {
      const { body } = await setup.service.send('/data-schema/v1', { headers: { 'x-svc-clientkey': schemaKey } })
      return body.graph as { nodes: Record<string, { metadata: object }>; edges: object[] }
    }
    expect((await readSchema()).nodes[type]!.metadata).not.toHaveProperty('trust_score')
    await nextDay()
    const { nodes, edges } = await readSchema()
    const numbers = (count: number): object => ({ count, types: [{ type: 'number', count }], metadata: {} })
    expect(nodes[type]!.metadata).toMatchObject({
      node_count: 2,
      trust_score: {
        count: 2,
        properties: {
          _final_score: numbers(2),
          validity: numbers(1),
          verification: numbers(2),
          formula_version: { count: 2, types: [{ type: 'integer', count: 2 }], metadata: {} },
        },
      },
    })
    expect([Object.keys(nodes).filter((name) => name.startsWith('_')), edges]).toEqual([[], []])
  })

  it('has no value for a dimension that the node has nothing to judge for', async () => {
    await capture('a', { name: { value: 'x' } })
    await capture('empty', {})
    await addProfile({
      dimensions: [
        { name: 'VALIDITY', weight: 1 },
        { name: 'ORIGIN', weight: 0.5 },
      ],
    })
    await nextDay()
    expect((await read(['n.trust_score.*'])).get('a')?.['n.trust_score.*']).toEqual([
      { type: '_final_score', value: 0 },
      { type: 'origin', value: 0 },
      { type: 'formula_version', value: 1 },
    ])
    expect((await read(['n.trust_score.*'])).get('empty')?.['n.trust_score.*']).toEqual([
      { type: 'formula_version', value: 1 },
    ])
    expect(await scoreOf('empty')).toBeNull()
  })

  it('loses a dimension that the profile does not have any more', async () => {
    await capture('a', { issued_on: { value: '2025-01-01' } })
    const id = await addProfile()
    await nextDay()
    expect(await scoreOf('a', 'validity')).toBe(1)
    const dimensions = [{ name: 'FRESHNESS', weight: 1 }]
    await configure('PUT', `trust-score-profiles/${id}`, { dimensions })
    await nextDay()
    expect([await scoreOf('a', 'validity'), await scoreOf('a')]).toEqual([null, 0.5 ** (2 / 90)])
  })

  it('cannot be written by captures and knowledge queries', async () => {
    await capture('a', { name: { value: 'x' } })
    await addProfile()
    await nextDay()
    const forged = { external_id: 's', type: '_TrustScore', properties: properties({ _final_score: { value: 1 } }) }
    const key = { external_id: 'a', type }
    const refusals = [
      await setup.capture('nodes', { nodes: [forged] }),
      await setup.capture('nodes/delete', { nodes: [{ external_id: 's', type: '_TrustScore' }] }),
      await setup.capture('relationships', { relationships: [{ source: key, target: key, type: '_HAS' }] }),
      await setup.capture('relationships/delete', { relationships: [{ source: key, target: key, type: '_HAS' }] }),
    ]
    expect(refusals.map(({ status }) => status)).toEqual([422, 422, 422, 422])
    const id = await addQuery(
      `forge${number}`,
      {
        subject: { type: '_Application' },
        condition: {
          cypher: `MATCH (subject:_Application) WHERE subject.external_id = $_appId MATCH (n:${type})-[:_HAS]->(s:_TrustScore)`,
        },
        allowed_reads: { nodes: ['n.external_id'] },
        allowed_upserts: { nodes: { existing_nodes: ['s'] } },
      },
      { nodes: ['n.external_id'], upsert_nodes: [{ name: 's', properties: [{ type: '_final_score', value: 1 }] }] },
    )
    const before = await scoreOf('a')
    expect(await setup.execute(id)).toMatchObject({ status: 403 })
    expect(await scoreOf('a')).toBe(before)
  })

  it('is removed with its node, and with its profile', async () => {
    await capture('a', { name: { value: 'x' } })
    await capture('b', { name: { value: 'x' } })
    const id = await addProfile()
    await nextDay()
    const scores = async (): Promise<number> =>
      readingGraphs(() => {
        const graphs = setup.service.app.capture.graphsOf(setup.service.projectId)
        const snapshot = graphs!.default.snapshot()
        try {
          return snapshot.nodeCount(snapshot.symbol('label', '_TrustScore'))
        } finally {
          snapshot.close()
        }
      })
    const before = await scores()
    await setup.capture('nodes/delete', { nodes: [{ external_id: 'a', type }] })
    await nextDay()
    expect(await scores()).toBe(before - 1)
    await configure('DELETE', `trust-score-profiles/${id}`)
    await setup.service.app.scoreTrust()
    expect(await scores()).toBe(before - 2)
    expect(await scoreOf('b')).toBeNull()
  })

  it('stays after its profile if the profile keeps scores', async () => {
    await capture('a', { issued_on: { value: '2025-01-01' } })
    const id = await addProfile({ keep_scores: true })
    await nextDay()
    await configure('DELETE', `trust-score-profiles/${id}`)
    await setup.service.app.scoreTrust()
    expect(await scoreOf('a', 'validity')).toBe(1)
  })
})

describe('the report of a profile', () => {
  const report = (id: string) => configure('GET', `trust-score-profiles/${id}/report`)

  it('has the distribution of the scores, and what would raise the lowest ones', async () => {
    const bad = { issued_on: { value: '2999-01-01', ...verified }, note: { value: ' ', metadata: { source: 'form' } } }
    await capture('bad', bad)
    for (let i = 0; i < 25; i++)
      await capture(`good${i}`, { issued_on: { value: '2025-01-01', ...verified }, note: { value: 'x', ...verified } })
    await capture('nothing', {})
    const dimensions = weights.filter(({ name }) => name !== 'FRESHNESS')
    const id = await addProfile({
      sources: { registry: 1 },
      required_properties: ['issued_on', 'note', 'city'],
      dimensions,
    })
    expect((await report(id)).status).toBe(404)
    await nextDay()
    const { body, status } = await report(id)
    expect(status).toBe(200)
    const verifiedDays = Math.floor(clock.now() / DAY_MS) - Date.parse('2025-12-31') / DAY_MS
    const freshly = 0.5 ** (verifiedDays / 365)
    const lowest = (0 + 0.5 * (freshly / 2) + 0.5 * 0.75 + 0.5 * (1 / 3)) / 2.5
    expect(body).toMatchObject({
      profile_id: id,
      node_classification: type,
      formula_version: 1,
      nodes: 27,
      nodes_without_score: 0,
      dimensions: expect.arrayContaining([{ name: 'VALIDITY', nodes: 26, mean: 25 / 26 }]),
    })
    const deciles = (body.deciles as { nodes: number }[]).map(({ nodes }) => nodes)
    expect(deciles).toEqual([1, 0, 0, 1, 0, 0, 0, 0, 0, 25])
    const worst = body.worst_nodes as {
      external_id: string
      final_score: number
      improvements: { dimension: string; gain: number; details: string[] }[]
    }[]
    expect(worst.length).toBe(20)
    expect(worst.slice(0, 3).map((node) => node.external_id)).toEqual(['nothing', 'bad', 'good0'])
    expect(worst[1]!.final_score).toBeCloseTo(lowest, 12)
    expect(worst[1]!.improvements.map(({ dimension, details }) => [dimension, details])).toEqual([
      ['VALIDITY', ['issued_on: past']],
      ['COMPLETENESS', ['note: empty', 'city: missing']],
      ['VERIFICATION', ['issued_on: verified 2025-12-31T00:00:00Z', 'note: not verified']],
      ['ORIGIN', ['note: source form']],
    ])
    for (const { dimension, gain } of worst[1]!.improvements) {
      const raised = dimensions.map(({ name, weight }) => {
        const value = (worst[1] as unknown as { dimensions: Record<string, number> }).dimensions[name]!
        return weight * (name === dimension ? 1 : value)
      })
      expect(lowest + gain).toBeCloseTo(raised.reduce((a, b) => a + b, 0) / 2.5, 12)
    }
  })

  it('is that of the last pass, and of a profile that exists', async () => {
    await capture('a', { issued_on: { value: '2999-01-01' } })
    const id = await addProfile({ dimensions: [{ name: 'VALIDITY', weight: 1 }] })
    await nextDay()
    expect((await report(id)).body.mean_score).toBe(0)
    await capture('a', { issued_on: { value: '2025-01-01' } })
    await nextDay()
    expect((await report(id)).body).toMatchObject({ mean_score: 1, run_id: (await readProfile(id)).last_run_id })
    expect((await report('gid:00000000000000000000000000')).status).toBe(404)
  })
})
