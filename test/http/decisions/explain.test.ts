// Explanations over HTTP; their decision is always that of the evaluation.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let key: string
const faults: object[] = []

beforeAll(async () => {
  service = await startService({ parameterMask: 'secret' }, { sync: false, log: (entry) => faults.push(entry) })
  const node = (type: string, external_id: string, properties: Record<string, unknown> = {}) => ({
    type,
    external_id,
    properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
  })
  const nodes = [
    node('Person', 'ann'),
    node('Person', 'bob'),
    node('Team', 'red'),
    node('Car', 'c1', { wheels: 4 }),
    node('Car', 'c2', { wheels: 3 }),
  ]
  const person = (external_id: string) => ({ type: 'Person', external_id })
  const car = (external_id: string) => ({ type: 'Car', external_id })
  const red = { type: 'Team', external_id: 'red' }
  const relationships = [
    { source: person('ann'), type: 'MEMBER', target: red },
    { source: person('bob'), type: 'MEMBER', target: red },
    { source: person('bob'), type: 'BANNED', target: car('c1') },
    { source: red, type: 'OWNS', target: car('c1') },
    { source: red, type: 'OWNS', target: car('c2') },
  ]
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
  expect((await service.ask('/capture/v1/relationships', { relationships })).status).toBe(200)
  const team = 'MATCH (subject)-[:MEMBER]->(t:Team)-[:OWNS]->(resource)'
  await service.addPolicy({ name: 'team', actions: ['drive'], cypher: team, tags: ['fleet'] })
  await service.addPolicy({ name: 'owner', actions: ['drive'], cypher: 'MATCH (subject)-[:OWNS]->(resource)' })
  await service.addPolicy({
    name: 'unbanned',
    actions: ['borrow'],
    cypher: `${team} WHERE NOT (subject)-[:BANNED]->(resource)`,
  })
  await service.addPolicy({
    name: 'wheels',
    actions: ['lend', 'halve'],
    cypher: `${team} WHERE resource.wheels >= $min`,
  })
  await service.addPolicy({
    name: 'faulty',
    actions: ['halve'],
    cypher: `${team} WHERE 12 / (resource.wheels - 3) > 1`,
  })
  await service.addPolicy({
    name: 'gated',
    actions: ['gate'],
    cypher: team,
    filter: {
      operator: 'AND',
      operands: [
        { operator: '=', attribute: '$secret', value: 'sesame', advice: { error: 'say_it', error_description: 'x' } },
        { operator: '>', attribute: '$level', value: 2 },
      ],
    },
  })
  await service.addPolicy({
    name: 'reach',
    actions: ['reach'],
    cypher: 'MATCH (subject) ((a)-[m:MEMBER|OWNS]->(b WHERE b.wheels IS NULL OR b.wheels > 3)){1,3} (resource)',
  })
  await service.addPolicy({
    name: 'branch',
    actions: ['branch'],
    cypher: `MATCH (subject), (resource) RETURN subject, resource
      NEXT WHEN resource.wheels > 3 THEN { ${team} RETURN subject, resource }
      ELSE { MATCH (subject)-[:BANNED]->(resource) RETURN subject, resource }`,
  })
  key = (await service.addAgent('reader', ['Authorization', 'ReadAuthZConfigs'])).key
})

afterAll(() => service?.stop())

interface ExplainedPolicy {
  readonly name: string
  readonly outcome: string
  readonly [member: string]: unknown
}

async function explain(subject: string, action: string, resource: string, context?: unknown) {
  const body = {
    subject: { type: 'Person', id: subject },
    action: { name: action },
    resource: { type: 'Car', id: resource },
    context,
  }
  const { status, body: answer } = await service.send('/access/v1/explain', {
    headers: { 'x-svc-clientkey': key },
    body,
  })
  const decided = await service.ask('/access/v1/evaluation', body)
  expect(status).toBe(decided.status)
  expect(answer.decision).toBe(decided.body.decision)
  expect(answer.context).toEqual(decided.body.context)
  if (status !== 200) expect(answer).toEqual(decided.body)
  const policies = new Map((answer.policies as ExplainedPolicy[] | undefined)?.map((policy) => [policy.name, policy]))
  return { status, answer, of: (name: string) => policies.get(name) as ExplainedPolicy }
}

describe('an explanation of patterns and clauses of GQL', () => {
  const steps = (policy: ExplainedPolicy): string[] => {
    const { relationships } = policy.matched as {
      relationships: { type: string; source: { id: string }; target: { id: string } }[]
    }
    return relationships.map(({ type, source, target }) => `${source.id}-${type}-${target.id}`).sort()
  }

  it('shows the steps of a quantified pattern, and where it stopped', async () => {
    const granted = await explain('ann', 'reach', 'c1')
    expect([granted.answer.decision, steps(granted.of('reach'))]).toEqual([true, ['ann-MEMBER-red', 'red-OWNS-c1']])
    const denied = await explain('ann', 'reach', 'c2')
    expect(denied.answer.decision).toBe(false)
    expect(denied.of('reach')).toMatchObject({
      outcome: 'denied',
      nearest_miss: { stopped: { says: expect.stringContaining('MEMBER|OWNS') } },
    })
  })

  it('shows the branch of WHEN that applies', async () => {
    const granted = await explain('ann', 'branch', 'c1')
    expect([granted.answer.decision, steps(granted.of('branch'))]).toEqual([true, ['ann-MEMBER-red', 'red-OWNS-c1']])
    const denied = await explain('bob', 'branch', 'c2')
    expect(denied.answer.decision).toBe(false)
    expect(denied.of('branch')).toMatchObject({
      outcome: 'denied',
      nearest_miss: {
        stopped: { says: 'no relationship matches (subject)-[:BANNED]->(resource)' },
        reached: { sample: { nodes: expect.arrayContaining([{ type: 'Person', id: 'bob', variable: 'subject' }]) } },
      },
    })
  })
})

describe('an explanation', () => {
  it('shows the matched path of a permit, and for every other policy why it did not grant', async () => {
    const { answer, of } = await explain('ann', 'drive', 'c1')
    expect(answer.decision).toBe(true)
    expect(of('team')).toMatchObject({
      outcome: 'granted',
      version: '3.0-kbac',
      tags: ['fleet'],
      matched: {
        nodes: expect.arrayContaining([{ type: 'Team', id: 'red', variable: 't' }]),
        relationships: expect.arrayContaining([
          { variable: null, type: 'OWNS', source: { type: 'Team', id: 'red' }, target: { type: 'Car', id: 'c1' } },
        ]),
      },
    })
    expect(of('owner')).toMatchObject({
      outcome: 'denied',
      nearest_miss: { stopped: { says: 'no relationship matches (subject)-[:OWNS]->(resource)' } },
    })
  })

  it('shows the values met and given of a comparison that is not true', async () => {
    const { of } = await explain('ann', 'lend', 'c2', { input_params: { min: 4 } })
    expect(of('wheels')).toMatchObject({
      outcome: 'denied',
      nearest_miss: {
        stopped: {
          comparisons: [
            {
              text: 'resource.wheels >= $min',
              values: [
                { of: 'resource.wheels', value: 3 },
                { of: '$min', value: 4 },
              ],
            },
          ],
        },
      },
    })
  })

  it('masks the values of parameters and properties whose names are masked', async () => {
    const cypher =
      'MATCH (subject)-[:MEMBER]->(:Team)-[:OWNS]->(resource) WHERE resource.secret = $secret AND resource.wheels = $claim.secret'
    await service.addPolicy({ name: 'masked', actions: ['mask'], cypher })
    await service.ask('/capture/v1/nodes', {
      nodes: [{ type: 'Car', external_id: 'c2', properties: [{ type: 'secret', value: 'hush' }] }],
    })
    const { of, answer } = await explain('ann', 'mask', 'c2', {
      input_params: { secret: 'sesame', claim: { secret: 7 } },
    })
    const { stopped } = of('masked').nearest_miss as { stopped: { comparisons: { values: object[] }[] } }
    expect(stopped.comparisons.flatMap(({ values }) => values)).toEqual(
      expect.arrayContaining([
        { of: 'resource.secret', value: '***' },
        { of: '$secret', value: '***' },
        { of: '$claim.secret', value: '***' },
        { of: 'resource.wheels', value: 3 },
      ]),
    )
    expect(JSON.stringify(answer)).not.toMatch(/hush|sesame|:7[,}]/)
  })

  it('shows the plan with rows, reads and time of each step', async () => {
    const { of } = await explain('ann', 'drive', 'c1')
    const steps: { operator: string; rows: number; reads: number; time_ms: number }[] = []
    const walk = (step: { children: never[] } & (typeof steps)[number]): void => {
      steps.push(step)
      step.children.forEach(walk)
    }
    walk(of('team').plan as never)
    expect(steps.length).toBeGreaterThan(1)
    expect(steps[0]?.rows).toBe(1)
    expect(steps.some(({ reads }) => reads > 0)).toBe(true)
    expect(steps.every(({ time_ms }) => time_ms >= 0)).toBe(true)
  })

  it('reports an error without values of callers and nodes, and so does the log', async () => {
    await service.ask('/capture/v1/nodes', {
      nodes: [{ type: 'Car', external_id: 'c3', properties: [{ type: 'since', value: 'long ago' }] }],
    })
    const conditions = [
      'date($day) = date()',
      'date(resource.since) = date()',
      'date($map) = date()',
      'date({year: 2026, month: $n}) = date()',
      'date.truncate($day, date()) = date()',
      '$n * $n > 1',
      "datetime({year: 2026, timezone: $day}) = datetime('2026-01-01')",
    ]
    for (const [i, condition] of conditions.entries()) {
      const cypher = `MATCH (subject:Person), (resource:Car) WHERE ${condition}`
      await service.addPolicy({ name: `quotes-${i}`, actions: ['quote'], cypher })
    }
    faults.length = 0
    const { answer } = await explain('ann', 'quote', 'c3', {
      input_params: { day: 'doomsday', n: 4242424242424242, map: { doom: 1 } },
    })
    const told = (answer.policies as { fault: { message: string } }[]).map(({ fault }) => fault.message)
    expect(told[0]).toBe('a text is not a valid date')
    expect(faults).toHaveLength(conditions.length)
    expect(JSON.stringify([told, faults])).not.toMatch(/doom|4242|ago|1799/)
  })

  it('has a limit, however many slow policies there are', async () => {
    const slow = await startService({ batchTimeMs: 1 }, { sync: false, log: () => {} })
    try {
      const cars = Array.from({ length: 200 }, (_, i) => ({ type: 'Car', external_id: `c${i}` }))
      await slow.ask('/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: 'ann' }, ...cars] })
      const cypher = 'MATCH (a:Car), (b:Car), (subject:Person), (resource:Car) WHERE a.x + b.x = 1'
      for (const name of ['one', 'two', 'three']) await slow.addPolicy({ name, cypher })
      const { key } = await slow.addAgent('reader', ['Authorization', 'ReadAuthZConfigs'])
      const { body } = await slow.send('/access/v1/explain', {
        headers: { 'x-svc-clientkey': key },
        body: {
          subject: { type: 'Person', id: 'ann' },
          action: { name: 'drive' },
          resource: { type: 'Car', id: 'c1' },
        },
      })
      expect(body.decision).toBe(false)
      expect((body.policies as object[]).at(-1)).toMatchObject({ outcome: 'skipped', because: 'time' })
    } finally {
      await slow.stop()
    }
  })

  it('shows the match of a forbidden pattern', async () => {
    const { of } = await explain('bob', 'borrow', 'c1')
    expect(of('unbanned').nearest_miss).toMatchObject({
      reached: { rows: 1 },
      stopped: {
        says: 'the excluded pattern matches: (subject)-[:BANNED]->(resource)',
        found: { relationships: [{ type: 'BANNED', source: { id: 'bob' }, target: { id: 'c1' } }] },
      },
    })
  })

  it('names the predicate that failed, and the partial match before it', async () => {
    const { of } = await explain('ann', 'lend', 'c2', { input_params: { min: 4 } })
    expect(of('wheels').nearest_miss).toMatchObject({
      stopped: { says: 'the predicate is not true: resource.wheels >= $min' },
    })
  })

  it('names missing entities', async () => {
    expect((await explain('zoe', 'drive', 'c9')).of('team').unknown).toEqual(['subject', 'resource'])
  })

  it('reports each skipped policy with the reason', async () => {
    const { of } = await explain('ann', 'drive', 'c1', { policy_tags: ['fleet'] })
    expect([of('team').outcome, of('owner')]).toMatchObject(['granted', { outcome: 'skipped', because: 'tags' }])
  })

  it('accepts what the evaluation accepts, although a skipped policy could not', async () => {
    const cypher = 'MATCH (subject), (resource)'
    await service.addPolicy({ name: 'tow', actions: ['tow'], cypher, tags: ['fleet'] })
    await service.addPolicy({
      name: 'tow-some',
      actions: ['tow'],
      cypher: `${cypher} WHERE $subject_properties.size > 1`,
    })
    const subject = '{"type":"Person","id":"ann","properties":{"beyond 64 bits":99999999999999999999999999}}'
    const question = `{"subject":${subject},"action":{"name":"tow"},"resource":{"type":"Car","id":"c1"}`
    const both = async (raw: string) => {
      const ask = (name: string) => service.send(`/access/v1/${name}`, { headers: { 'x-svc-clientkey': key }, raw })
      return [await ask('evaluation'), await ask('explain')].map(({ status, body }) => [status, body.decision])
    }
    expect(await both(`${question},"context":{"policy_tags":["fleet"]}}`)).toEqual(Array(2).fill([200, true]))
    expect(await both(`${question}}`)).toEqual(Array(2).fill([422, undefined]))
  })

  it('reports an error inside a policy, and a missing parameter of one', async () => {
    const { of } = await explain('ann', 'halve', 'c2', { input_params: { min: 4 } })
    expect(of('faulty')).toMatchObject({ outcome: 'faulted', fault: { code: 'arithmetic' } })
    expect((await explain('ann', 'halve', 'c1')).of('wheels')).toMatchObject({
      outcome: 'skipped',
      because: 'parameters',
      missing: ['min'],
    })
  })

  it('is refused if the evaluation is, with the same message', async () => {
    const { status, answer } = await explain('ann', 'lend', 'c1')
    expect([status, answer.errors]).toEqual([422, ["missing or wrong input params, 'min'"]])
  })

  it('names the operands of a filter that failed, with their advice', async () => {
    const { answer, of } = await explain('ann', 'gate', 'c1', { input_params: { secret: 'no', level: 1 } })
    expect(answer.context).toEqual({
      reason: 'the filter of a matching policy does not admit the token or the parameters',
      advice: [{ error: 'say_it', error_description: 'x' }],
    })
    expect(of('gated')).toMatchObject({
      outcome: 'skipped',
      because: 'filter',
      filter: {
        failing: [
          { path: 'policy.condition.filter.operands[0]', operator: '=', attribute: '$secret', unknown: false },
          { path: 'policy.condition.filter.operands[1]', operator: '>', attribute: '$level', unknown: false },
        ],
      },
    })
  })

  it('shows the used parameters, except masked ones', async () => {
    const { answer } = await explain('ann', 'gate', 'c1', { input_params: { secret: 'sesame', level: 3, more: 1 } })
    expect([answer.decision, answer.parameters]).toEqual([true, { secret: '***', level: 3 }])
  })

  it('needs the permission to read policies in addition to the one to decide', async () => {
    const body = {
      subject: { type: 'Person', id: 'ann' },
      action: { name: 'drive' },
      resource: { type: 'Car', id: 'c1' },
    }
    const refused = await service.ask('/access/v1/explain', body)
    expect([refused.status, refused.body.message]).toEqual([401, 'insufficient API access level for appAgent'])
    // Before the body is read: a caller without permission learns nothing about errors in it.
    for (const raw of ['{', '[]', '{"subject": 7}']) {
      const early = await service.send('/access/v1/explain', { headers: { 'x-svc-clientkey': service.key }, raw })
      expect([early.status, early.body.message]).toEqual([401, 'insufficient API access level for appAgent'])
    }
    const { key: other } = await service.addAgent('lister', ['ReadAuthZConfigs'])
    const headers = { 'x-svc-clientkey': other }
    expect((await service.send('/access/v1/explain', { headers, body })).status).toBe(401)
  })
})
