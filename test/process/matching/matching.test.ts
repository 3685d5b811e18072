// Entity matching as its users see it: pipelines, suggestions, runs and reports over HTTP, and relationships in reads and decisions.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readingGraphs } from '../../../src/kernel/request/remote-reads.ts'
import { noOrigin } from '../../../src/kernel/request/request-origin.ts'
import {
  entity,
  type MatchingService,
  nodesOf,
  property,
  startMatchingService,
} from '../../support/matching-service.ts'

const HOUR_MS = 3_600_000

let setup: MatchingService
beforeAll(async () => {
  setup = await startMatchingService()
})
afterAll(() => setup?.stop())

/** Types of their own keep the tests independent. */
let number = 0
let person = ''
let customer = ''
beforeEach(() => {
  number += 1
  person = `Person${number}`
  customer = `Customer${number}`
})

async function capture(nodes: readonly object[], path = 'nodes'): Promise<void> {
  const { status, text } = await setup.capture(path, { nodes })
  if (status !== 200) throw new Error(text)
}

const addPipeline = (members: object = {}): Promise<string> =>
  setup.addPipeline(`pipeline${number}${Object.keys(members).length}`, {
    node_filter: { source_node_types: [person], target_node_types: [customer] },
    ...members,
  })

/** 40 persons, and 40 customers of whom 30 are the same. */
async function fill(): Promise<void> {
  await capture([...nodesOf(person, 'p', 0, 40), ...nodesOf(customer, 'c', 10, 50)])
}

async function matched(): Promise<string> {
  await fill()
  const id = await addPipeline()
  await setup.service.app.matchEntities()
  await setup.match(id)
  return id
}

const pairs = async (id: string): Promise<string[]> =>
  (await setup.matches(id)).map(({ source, target }) => `${source} ${target}`)

const same = Array.from({ length: 30 }, (_, i) => `p${i + 10} c${i + 10}`)
const mapping = (name: string): object => ({ source_node_property: name, target_node_property: name })
const run = { similarity_score_cutoff: 0.5 }

describe('a pipeline', () => {
  it('finds the same pairs and scores in whatever order the nodes were captured', async () => {
    const found: unknown[] = []
    for (const isReversed of [false, true]) {
      const types = isReversed ? [`${person}Reversed`, `${customer}Reversed`] : [person, customer]
      // Two persons have two customers each with the same values: one of them is selected.
      const nodes = [
        ...nodesOf(types[0]!, 'p', 0, 40),
        ...nodesOf(types[1]!, 'c', 10, 50),
        ...nodesOf(types[1]!, 'd', 10, 12),
      ]
      await capture(isReversed ? nodes.reverse() : nodes)
      const node_filter = { source_node_types: [types[0]], target_node_types: [types[1]] }
      const id = await addPipeline({ node_filter, ...(isReversed && { rerun_interval: '24h' }) })
      await setup.match(id, { ...run, custom_property_mappings: ['email', 'name', 'phone'].map(mapping) })
      found.push(
        (await setup.matches(id))
          .map(({ source, target, properties: { score, similarities } }) => ({ source, target, score, similarities }))
          .sort((a, b) => (a.source < b.source ? -1 : 1)),
      )
    }
    expect(found[0]).toHaveLength(30)
    expect(found[1]).toEqual(found[0])
  })

  it('suggests property mappings, runs, and writes what it found', async () => {
    await fill()
    const id = await addPipeline()
    expect(await setup.ask(id, 'property-mappings')).toMatchObject({
      status: 202,
      body: { message: 'the property mappings are not ready: PENDING', details: [] },
    })
    await setup.service.app.matchEntities()
    const { status, body } = await setup.ask(id, 'property-mappings')
    expect(status).toBe(200)
    const suggested = body.suggested_property_mappings as Record<string, unknown>[]
    for (const name of ['email', 'name'])
      expect(suggested).toContainEqual(
        expect.objectContaining({ source_node_type: person, target_node_type: customer, ...mapping(name) }),
      )
    expect(await setup.readPipeline(id)).toMatchObject({ matched_entities: 0, report_url: '', report_type: '' })

    const asked = await setup.ask(id, 'runs', run)
    const before = await setup.configure('GET', `entity-matching-pipelines/${id}`)
    const time = new Date(setup.clock.now()).toISOString()
    expect([asked.status, asked.body]).toEqual([
      202,
      { id, etag: before.headers.get('etag'), last_run_time: time, run_id: expect.stringMatching(/^gid:/) },
    ])
    await setup.service.app.matchEntities()
    expect((await setup.ask(id, 'status')).body).toEqual({
      id,
      property_mapping_status: 'SUCCESS',
      entity_matching_status: 'SUCCESS',
    })
    // In the order of the ids of nodes, which a database server may use again.
    expect((await pairs(id)).toSorted()).toEqual(same.toSorted())
    const [first] = await setup.matches(id)
    const { score, matched_properties, similarities, run_id } = first!.properties
    expect(score).toBeGreaterThan(0.9)
    expect(run_id).toBe(asked.body.run_id)
    expect(matched_properties).toContain('email')
    expect(similarities).toHaveLength((matched_properties as string[]).length)
    const after = await setup.configure('GET', `entity-matching-pipelines/${id}`)
    // Runs make no revision.
    expect(after.headers.get('etag')).toBe(before.headers.get('etag'))
    expect(after.body).toMatchObject({
      matched_entities: 60,
      last_run_time: time,
      report_type: 'application/json',
      report_url: `/entity-matching/v1/pipelines/${id}/report`,
      run_progress: null,
    })
    expect(after.body.property_mappings).toContainEqual(expect.objectContaining(mapping('email')))
  })

  it('compares the properties that a run names, and repeats them by its rerun interval', async () => {
    await fill()
    await capture([{ type: customer, external_id: 'twin', properties: [property('email', entity(3).email)] }])
    const id = await addPipeline({ rerun_interval: '6h' })
    await setup.match(id, { ...run, custom_property_mappings: [{ ...mapping('email'), similarity_score_cutoff: 0.9 }] })
    expect((await pairs(id)).sort()).toEqual(['p3 twin', ...same].sort())
    const read = await setup.readPipeline(id)
    expect(read.property_mappings).toEqual([
      { source_node_type: person, target_node_type: customer, ...mapping('email'), similarity_score_cutoff: 0.9 },
    ])
    await capture([{ type: customer, external_id: 'late', properties: [property('email', entity(4).email)] }])
    setup.clock.advance(6 * HOUR_MS)
    await setup.service.app.matchEntities(id)
    const again = await setup.readPipeline(id)
    expect(again.last_run_time).toBe(new Date(setup.clock.now()).toISOString())
    expect(again.property_mappings).toEqual(read.property_mappings)
    expect((await pairs(id)).sort()).toEqual(['p3 twin', 'p4 late', ...same].sort())
    await setup.service.app.matchEntities(id)
    expect((await setup.readPipeline(id)).last_run_time).toBe(again.last_run_time)
    // The service was down for five intervals: they are made up for by one run.
    setup.clock.advance(33 * HOUR_MS)
    await setup.service.app.matchEntities(id)
    const late = await setup.readPipeline(id)
    expect(late.last_run_time).toBe(new Date(setup.clock.now()).toISOString())
    setup.clock.advance(1)
    await setup.service.app.matchEntities(id)
    expect((await setup.readPipeline(id)).last_run_time).toBe(late.last_run_time)
  })

  it('writes only differences, and removes what does not match any more', async () => {
    const id = await matched()
    const before = await setup.matches(id)
    const report = async () => (await setup.ask(id, 'report')).body
    expect(await report()).toMatchObject({ relationships_written: 30, relationships_removed: 0 })
    await setup.match(id)
    expect(await report()).toMatchObject({ relationships_written: 0, relationships_removed: 0 })
    expect(await setup.matches(id)).toEqual(before)
    // One customer becomes another entity.
    await capture([nodesOf(customer, 'x', 70, 71)[0] as object].map((node) => ({ ...node, external_id: 'c15' })))
    await setup.match(id)
    expect(await report()).toMatchObject({ relationships_removed: 1 })
    expect(await pairs(id)).toEqual(same.filter((pair) => pair !== 'p15 c15'))
  })

  it('finds duplicates within one type: each pair once, and groups', async () => {
    await capture([...nodesOf(person, 'a', 0, 40), ...nodesOf(person, 'b', 20, 40), ...nodesOf(person, 'c', 39, 40)])
    const id = await addPipeline({ node_filter: { source_node_types: [person], target_node_types: [person] } })
    await setup.service.app.matchEntities()
    await setup.match(id)
    const found = await pairs(id)
    expect(found).toHaveLength(new Set(found).size)
    expect(found).toEqual(expect.arrayContaining(Array.from({ length: 20 }, (_, i) => `a${i + 20} b${i + 20}`)))
    expect(found.every((pair) => (pair.split(' ')[0] as string) < (pair.split(' ')[1] as string))).toBe(true)
    const { groups } = (await setup.ask(id, 'report')).body as { groups: { count: number; largest: object[] } }
    expect(groups).toMatchObject({ count: 1, largest: [{ nodes: 3, source_external_ids: ['a39', 'b39', 'c39'] }] })
  })

  it('removes its relationships when it is deleted, unless it keeps them', async () => {
    const id = await matched()
    const kept = await addPipeline({
      node_filter: { source_node_types: [customer], target_node_types: [person] },
      keep_matches: true,
    })
    await setup.match(kept, { ...run, custom_property_mappings: [mapping('email')] })
    expect(await relationships()).toBe(60)
    for (const one of [kept, id]) await setup.configure('DELETE', `entity-matching-pipelines/${one}`)
    await setup.service.app.matchEntities()
    expect(await relationships()).toBe(30)
    expect((await setup.ask(id, 'report')).status).toBe(404)
  })

  it('takes over the relationships that a deleted pipeline of its types has kept', async () => {
    const first = await matched()
    await setup.configure('PUT', `entity-matching-pipelines/${first}`, { keep_matches: true })
    // Of another target type.
    await capture([{ type: `${customer}x`, external_id: 'x0', properties: [property('email', entity(0).email)] }])
    const other = await addPipeline({
      node_filter: { source_node_types: [person], target_node_types: [`${customer}x`] },
      keep_matches: true,
    })
    await setup.match(other, { ...run, custom_property_mappings: [mapping('email')] })
    for (const one of [first, other]) await setup.configure('DELETE', `entity-matching-pipelines/${one}`)
    await setup.service.app.matchEntities()
    expect(await relationships()).toBe(31)
    const id = await addPipeline()
    const decide = (source: string, target: string, decision: string) =>
      setup.ask(id, 'decisions', { source_external_id: source, target_external_id: target, decision })
    expect((await decide('p10', 'c10', 'NOT_SAME')).status).toBe(200)
    expect(await relationships()).toBe(30)
    expect((await decide('p11', 'c11', 'SAME')).status).toBe(200)
    // One customer becomes another entity: the kept relationship is removed.
    await capture([nodesOf(customer, 'x', 70, 71)[0] as object].map((node) => ({ ...node, external_id: 'c15' })))
    await setup.service.app.matchEntities()
    await setup.match(id)
    const expected = same.filter((pair) => !['p10 c10', 'p15 c15'].includes(pair))
    expect(await pairs(id)).toEqual(expected)
    expect(await relationships()).toBe(expected.length + 1)
    const { body } = await setup.ask(id, 'report')
    expect(body).toMatchObject({ relationships_written: expected.length - 1, relationships_removed: 1 })
  })

  it('refuses a decision about a pair whose relationship another pipeline owns', async () => {
    const id = await matched()
    const owner = await addPipeline({ similarity_score_cutoff: 0.1 })
    const graph = setup.service.app.capture.graphsOf(setup.service.projectId)!.default
    // As an earlier version wrote it.
    await graph.write((batch) => {
      const key = { source: { type: person, externalId: 'p10' }, target: { type: customer, externalId: 'c10' } }
      batch.upsertRelationship({ ...key, type: '_SAME_AS', properties: [{ name: 'pipeline_id', value: owner }] })
    })
    const decision = { source_external_id: 'p10', target_external_id: 'c10', decision: 'NOT_SAME' }
    const refused = await setup.ask(id, 'decisions', decision)
    expect([refused.status, refused.text]).toEqual([
      409,
      expect.stringContaining('the relationship of the pair belongs to the pipeline `pipeline'),
    ])
    expect((await setup.ask(id, 'decisions')).body.decisions).toEqual([])
    await setup.configure('DELETE', `entity-matching-pipelines/${owner}`)
    expect((await setup.ask(id, 'decisions', decision)).status).toBe(200)
    expect(await relationships()).toBe(29)
  })

  it('is INVALID and keeps its matches if a type has no value of the compared properties', async () => {
    const id = await matched()
    const nickname = [{ type: `${person}x`, external_id: 'n', properties: [property('nickname', 'Nick')] }]
    await capture(nickname)
    const mixed = { source_node_property: 'email', target_node_property: 'nickname' }
    await setup.match(id, { ...run, custom_property_mappings: [mapping('nickname'), mixed] })
    expect(await setup.readPipeline(id)).toMatchObject({
      entity_matching_status: 'INVALID',
      entity_matching_message:
        `no \`${person}\` node has a property \`nickname\`, and ` +
        `no \`${customer}\` node has a property \`nickname\``,
    })
    expect(await pairs(id)).toEqual(same)
    await setup.match(id, { ...run, custom_property_mappings: [mapping('nickname'), mapping('email')] })
    expect(await setup.readPipeline(id)).toMatchObject({
      entity_matching_status: 'SUCCESS',
      entity_matching_message: '',
    })
    expect(await pairs(id)).toEqual(same)
  })

  it('counts all conflicts of a run, also those that its report does not list', async () => {
    const groups = 13
    const members = 30
    // Words that do not resemble each other.
    const word = (index: number): string =>
      createHash('sha256')
        .update(`${index}`)
        .digest('hex')
        .slice(0, 10)
        .replaceAll(/\d/g, (digit) => 'ghijklmnop'[Number(digit)]!)
    for (const type of [person, customer]) {
      const known = Array.from({ length: 200 }, (_, i) => [
        property('email', `${word(i)}@example.org`),
        property('name', word(1000 + i)),
      ])
      // Nodes of the same name, which fit each other and have one counterpart at most.
      const alike = Array.from({ length: groups * members }, (_, i) => [
        property('name', word(2000 + Math.floor(i / members))),
      ])
      const nodes = [...known, ...alike].map((properties, i) => ({ type, external_id: `n${i}`, properties }))
      for (let from = 0; from < nodes.length; from += 200) await capture(nodes.slice(from, from + 200))
    }
    const id = await addPipeline()
    await setup.match(id, {
      similarity_score_cutoff: 0.01,
      custom_property_mappings: [mapping('email'), mapping('name')],
    })
    const { conflicts } = (await setup.ask(id, 'report')).body as { conflicts: { count: number; pairs: object[] } }
    expect([conflicts.count, conflicts.pairs.length]).toEqual([groups * members * (members - 1), 100])
  })

  it('does not disturb a relationship `_SAME_AS` of another part of the service', async () => {
    await fill()
    const graph = setup.service.app.capture.graphsOf(setup.service.projectId)!.default
    const key = (pair: string) => ({
      source: { type: person, externalId: pair.split(' ')[0] as string },
      target: { type: customer, externalId: pair.split(' ')[1] as string },
      type: '_SAME_AS',
    })
    // One that matches too, and one that does not.
    await graph.write((batch) => {
      for (const pair of ['p10 c10', 'p11 c12'])
        batch.upsertRelationship({ ...key(pair), properties: [{ name: 'of', value: 'token' }] })
    })
    const id = await addPipeline()
    await setup.service.app.matchEntities()
    await setup.match(id)
    expect(await pairs(id)).toEqual(same.slice(1))
    const decision = { source_external_id: 'p11', target_external_id: 'c12', decision: 'NOT_SAME' }
    expect((await setup.ask(id, 'decisions', decision)).status).toBe(200)
    await setup.configure('DELETE', `entity-matching-pipelines/${id}`)
    await setup.service.app.matchEntities()
    await graph.write((batch) => {
      for (const pair of ['p10 c10', 'p11 c12'])
        expect([...batch.relationshipImage(key(pair))!.properties()].map(([name, { value }]) => [name, value])).toEqual(
          [['of', 'token']],
        )
    })
  })

  it('is the only one that matches its types: a second one is refused when it should run', async () => {
    const id = await matched()
    const second = await addPipeline({ similarity_score_cutoff: 0.1 })
    await setup.service.app.matchEntities()
    expect((await setup.ask(second, 'property-mappings')).status).toBe(200)
    const refused = await setup.ask(second, 'runs', run)
    expect([refused.status, refused.body.errors ?? refused.body.message]).toEqual([409, expect.anything()])
    expect(refused.text).toContain('matches these node types already')
    const decision = { source_external_id: 'p10', target_external_id: 'c10', decision: 'NOT_SAME' }
    const undecided = await setup.ask(second, 'decisions', decision)
    expect([undecided.status, undecided.text]).toEqual([
      409,
      expect.stringContaining('matches these node types already'),
    ])
    expect((await setup.ask(second, 'decisions')).body.decisions).toEqual([])
    expect(await pairs(id)).toEqual(same)
    await setup.configure('DELETE', `entity-matching-pipelines/${id}`)
    await setup.match(second)
    expect(await pairs(second)).toEqual(same)
  })
})

/** Relationships `_SAME_AS` of the present types. */
function relationships(): number | Promise<number> {
  return readingGraphs(countRelationships)
}

function countRelationships(): number {
  const snapshot = setup.service.app.capture.graphsOf(setup.service.projectId)!.default.snapshot()
  try {
    const type = snapshot.symbol('type', '_SAME_AS')
    let count = 0
    for (const [label, prefix] of [
      [person, 'p'],
      [customer, 'c'],
    ] as const) {
      for (let i = 0; i < 50; i++) {
        const node = snapshot.findNode(snapshot.symbol('label', label), `${prefix}${i}`)
        if (node !== 0) count += snapshot.degree(node, 'out', type)
      }
    }
    return count
  } finally {
    snapshot.close()
  }
}

const refusedRuns = [
  [400, {}, 'similarity_score_cutoff'],
  [400, { similarity_score_cutoff: 2 }, 'similarity_score_cutoff'],
  [400, { ...run, custom_property_mappings: [] }, 'custom_property_mappings'],
  [400, { ...run, custom_property_mappings: [{ source_node_property: 'email' }] }, 'target_node_property'],
  [400, { ...run, unknown: 1 }, 'unknown'],
  [422, { ...run, custom_property_mappings: [mapping('never_seen')] }, 'no node has a property `never_seen`'],
  [422, { ...run, custom_property_mappings: [mapping('email'), mapping('email')] }, 'duplicate mapping'],
  [
    422,
    {
      ...run,
      labelled_pairs: [true, false].map((one) => ({ source_external_id: 'a', target_external_id: 'b', same: one })),
    },
    'labelled_pairs[1]: duplicate pair',
  ],
] as const

describe('a request', () => {
  it('is refused for an unknown pipeline, that of another project, and without permission', async () => {
    const id = await addPipeline()
    const unknown = 'gid:00000000000000000000000000'
    for (const [path, body] of [
      ['property-mappings'],
      ['status'],
      ['report'],
      ['decisions'],
      ['runs', run],
      ['decisions', { source_external_id: 'a', target_external_id: 'b', decision: 'SAME' }],
    ] as const) {
      expect((await setup.ask(unknown, path, body)).status).toBe(404)
      const other = await setup.service.send(`/entity-matching/v1/pipelines/${id}/${path}`, {
        headers: { 'x-svc-clientkey': setup.service.key },
        body,
      })
      expect(other.status).toBe(401)
      const none = await setup.service.send(`/entity-matching/v1/pipelines/${id}/${path}`, { body })
      expect(none.status).toBe(401)
    }
    const { body: project } = await setup.configure('POST', 'projects', {
      organization_id: setup.service.app.organizationId,
      name: `other${number}`,
      region: 'local',
    })
    const { body: foreign } = await setup.configure('POST', 'entity-matching-pipelines', {
      project_id: project.id,
      name: 'foreign',
      node_filter: { source_node_types: ['Aa'], target_node_types: ['Bb'] },
      similarity_score_cutoff: 0.5,
    })
    expect((await setup.ask(foreign.id as string, 'status')).status).toBe(404)
    await setup.configure('DELETE', `projects/${project.id}`)
  })

  it('is refused with 403 for a service account that may only read', async () => {
    const id = await matched()
    const account = await setup.configure('POST', 'service-accounts', {
      organization_id: setup.service.app.organizationId,
      name: `viewer${number}`,
      role: 'all_viewer',
    })
    const { body } = await setup.configure('POST', 'service-account-credentials', {
      service_account_id: account.body.id,
      name: 'key',
    })
    expect([account.status, typeof body]).toEqual([201, 'object'])
    const caller = {
      kind: 'service-account',
      serviceAccountId: account.body.id as string,
      organizationId: setup.service.app.organizationId,
      role: 'all_viewer',
    } as const
    const { matching } = setup.service.app
    expect(matching.status(caller, id)).toMatchObject({ ok: true })
    const refused = { error: { kind: 'forbidden' } }
    expect(await matching.requestRun(caller, id, run, noOrigin)).toMatchObject(refused)
    expect(await matching.suggestAgain(caller, id)).toMatchObject(refused)
  })

  it.each(refusedRuns)('of a run is refused with %i for %j', async (status, body, text) => {
    await fill()
    const id = await addPipeline()
    const refused = await setup.ask(id, 'runs', body)
    expect(refused.status).toBe(status)
    expect(refused.text).toContain(text)
    expect((await setup.readPipeline(id)).last_run_time).toBe('')
  })

  const refusedCutoffs = [
    ['1e999', 'similarity_score_cutoff: expected number from -1.8e308 to 1.8e308'],
    ['-1e999', 'similarity_score_cutoff: expected number from -1.8e308 to 1.8e308'],
    ['1.5', 'similarity_score_cutoff: expected at most 1'],
    ['"0.5"', 'similarity_score_cutoff: expected number, found string'],
  ] as const
  it.each(refusedCutoffs)('of a run is refused with 400 for the cutoff %s', async (cutoff, message) => {
    const id = await addPipeline()
    const { status, body } = await setup.service.send(`/entity-matching/v1/pipelines/${id}/runs`, {
      headers: { 'x-svc-clientkey': setup.matchingKey },
      raw: `{"similarity_score_cutoff":${cutoff}}`,
    })
    expect([status, body.errors]).toEqual([400, [message]])
  })

  it('of a run is refused with 422 for a pair of nodes of one type that is labelled in both directions', async () => {
    await fill()
    const id = await addPipeline({ node_filter: { source_node_types: [person], target_node_types: [person] } })
    const labelled_pairs = [
      { source_external_id: 'p1', target_external_id: 'p2', same: true },
      { source_external_id: 'p2', target_external_id: 'p1', same: false },
    ]
    const refused = await setup.ask(id, 'runs', { ...run, labelled_pairs })
    expect([refused.status, refused.body.errors]).toEqual([422, ['labelled_pairs[1]: duplicate pair']])
  })

  it('of a run is refused with 409 without mappings, and while another one is requested', async () => {
    const id = await addPipeline()
    const early = await setup.ask(id, 'runs', run)
    expect([early.status, early.text]).toEqual([
      409,
      expect.stringContaining('there are no property mappings (PENDING)'),
    ])
    await fill()
    const first = { ...run, custom_property_mappings: [mapping('email')] }
    expect((await setup.ask(id, 'runs', first)).status).toBe(202)
    const second = await setup.ask(id, 'runs', first)
    expect([second.status, second.text]).toEqual([409, expect.stringContaining('a run is requested already')])
    expect((await setup.ask(id, 'status')).body.entity_matching_status).toBe('PENDING')
  })
})

describe('the relationship', () => {
  it('is walked by policies and knowledge queries, and written by the service only', async () => {
    const id = await matched()
    await capture([{ type: `Order${number}`, external_id: 'o1' }])
    const placed = { source: { type: customer, external_id: 'c12' }, type: 'PLACED' }
    const edge = { ...placed, target: { type: `Order${number}`, external_id: 'o1' } }
    expect((await setup.capture('relationships', { relationships: [edge] })).status).toBe(200)
    const cypher = `MATCH (subject:${person})-[s:_SAME_AS]->(:${customer})-[:PLACED]->(resource:Order${number}) WHERE s.score > 0.5`
    const policy = {
      meta: { policy_version: '3.0-kbac' },
      subject: { type: person },
      actions: ['read'],
      resource: { type: `Order${number}` },
      condition: { cypher },
    }
    const stored = await setup.configure('POST', 'authorization-policies', {
      project_id: setup.service.projectId,
      name: `orders${number}`,
      status: 'ACTIVE',
      policy: JSON.stringify(policy),
    })
    expect([stored.status, stored.body.warnings]).toEqual([201, undefined])
    const decide = async (external_id: string): Promise<unknown> =>
      (
        await setup.service.send('/access/v1/evaluation', {
          headers: { 'x-svc-clientkey': setup.key },
          body: {
            subject: { type: person, id: external_id },
            action: { name: 'read' },
            resource: { type: `Order${number}`, id: 'o1' },
          },
        })
      ).body.decision
    expect([await decide('p12'), await decide('p13')]).toEqual([true, false])
    await setup.ask(id, 'decisions', { source_external_id: 'p12', target_external_id: 'c12', decision: 'NOT_SAME' })
    await setup.ask(id, 'decisions', { source_external_id: 'p13', target_external_id: 'c12', decision: 'SAME' })
    expect([await decide('p12'), await decide('p13')]).toEqual([false, true])

    const key = { source: { type: person, external_id: 'p1' }, target: { type: customer, external_id: 'c20' } }
    for (const path of ['relationships', 'relationships/delete']) {
      const refused = await setup.capture(path, { relationships: [{ ...key, type: '_SAME_AS' }] })
      expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('`_SAME_AS` is reserved')])
    }
  })
})
