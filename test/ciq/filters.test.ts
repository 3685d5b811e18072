// Filters of context policies and queries over the graph: every operator, every form of attribute and value.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ContextService, startContextService } from './context-service.ts'

let house: ContextService
let token: string
let number = 0
beforeAll(async () => {
  house = await startContextService()
  token = await house.tokenOf('ann', { email: 'ann@example.org', colours: ['red', 'green'], act: { sub: 'agent-7' } })
  const car = (external_id: string, properties: Record<string, unknown>, source?: string) => ({
    type: 'Car',
    external_id,
    properties: Object.entries(properties).map(([type, value]) => ({
      type,
      value,
      ...(source === undefined ? {} : { metadata: { source } }),
    })),
  })
  await house.capture('nodes', {
    nodes: [
      { type: 'Person', external_id: 'ann', properties: [{ type: 'likes', value: ['red', 'blue'] }] },
      car('c1', { price: 10, colour: 'red', built: '2020-05-01T10:00:00Z', name: 'Alpha One' }, 'desk'),
      car('c2', { price: 20, colour: 'green', built: '2022-05-01T12:00:00+02:00', name: 'Beta One' }, 'web'),
      car('c3', { price: 30.5, colour: 'blue', built: 'unknown', name: 'Alpha Two' }),
      car('c4', {}),
    ],
  })
  const owns = ['c1', 'c2', 'c3', 'c4'].map((external_id, i) => ({
    source: { type: 'Person', external_id: 'ann' },
    target: { type: 'Car', external_id },
    type: 'OWNS',
    properties: [{ type: 'since', value: 2000 + i }],
  }))
  await house.capture('relationships', { relationships: owns })
})
afterAll(() => house.stop())

const policy = {
  subject: { type: 'Person' },
  condition: {
    cypher:
      'MATCH (subject:Person {external_id: $token.sub})-[r:OWNS]->(car:Car) WITH subject, r, car, r.since AS year',
  },
  allowed_reads: { nodes: ['car.external_id'] },
}

/** The cars that the filter lets through, wherever it stands. */
async function found(filter: object, input_params?: object): Promise<string[]> {
  const answers = await Promise.all([
    house.addQuery(`q${++number}`, policy, { nodes: ['car.external_id'], filter }),
    house.addQuery(
      `p${number}`,
      { ...policy, condition: { ...policy.condition, filter: [filter] } },
      { nodes: ['car.external_id'] },
    ),
  ])
  const rows = await Promise.all(
    answers.map(async (id) => {
      const { status, body, text } = await house.execute(id, input_params === undefined ? {} : { input_params }, token)
      if (status !== 200) throw new Error(text)
      return (body.data as { nodes: Record<string, string> }[]).map(({ nodes }) => nodes['car.external_id'] as string)
    }),
  )
  expect(rows[0]).toEqual(rows[1])
  return rows[0]!.sort()
}

const leaf = (attribute: string, operator: string, value?: unknown) => ({
  attribute,
  operator,
  ...(value === undefined ? {} : { value }),
})

describe('a filter', () => {
  it.each<[object, string[]]>([
    [leaf('car.property.price', '=', 20), ['c2']],
    [leaf('car.property.price', '<>', 20), ['c1', 'c3']],
    [leaf('car.property.price', '<', 20), ['c1']],
    [leaf('car.property.price', '<=', 20), ['c1', 'c2']],
    [leaf('car.property.price', '>', 20), ['c3']],
    [leaf('car.property.price', '>=', 30.5), ['c3']],
    [leaf('car.property.colour', 'IN', ['red', 'blue']), ['c1', 'c3']],
    [leaf('car.property.colour', 'IN', '@subject.property.likes'), ['c1', 'c3']],
    [leaf('car.property.colour', 'IN', '$token.colours'), ['c1', 'c2']],
    [leaf('car.property.name', '=~', 'Alpha.*'), ['c1', 'c3']],
    [leaf('car.property.name', 'STARTS WITH', 'Beta'), ['c2']],
    [leaf('car.property.name', 'ENDS WITH', 'One'), ['c1', 'c2']],
    [leaf('car.property.name', 'CONTAINS', 'ha T'), ['c3']],
    [leaf('car.property.price', 'IS NULL'), ['c4']],
    [leaf('car.property.price', 'IS NOT NULL'), ['c1', 'c2', 'c3']],
    [leaf('car.external_id', '=', 'c4'), ['c4']],
    [leaf('car.create_time', 'IS NOT NULL'), ['c1', 'c2', 'c3', 'c4']],
    [leaf('r.since', '=', 2003), ['c4']],
    [leaf('year', '<', 2002), ['c1', 'c2']],
    [leaf('car.property.price.metadata.source', '=', 'desk'), ['c1']],
    [leaf('car.property.price.metadata.source', 'IS NULL'), ['c3', 'c4']],
    [leaf('car.trust_score._final_score', 'IS NULL'), ['c1', 'c2', 'c3', 'c4']],
    [leaf('car.trust_score._final_score', '>', 0.5), []],
    [leaf('car.property.built', '<', { type: 'datetime', value: '2022-05-01T10:00:01Z' }), ['c1', 'c2']],
    [leaf('car.property.built', '=', { type: 'datetime', value: '2022-05-01T10:00:00Z' }), ['c2']],
    [leaf('$token.act.sub', '=', 'agent-7'), ['c1', 'c2', 'c3', 'c4']],
    [leaf('$token.gone', '=', 'x'), []],
    [{ operator: 'NOT', operands: [leaf('$token.gone', '=', 'x')] }, []],
    [{ operator: 'NOT', operands: [leaf('car.property.colour', '=', 'red')] }, ['c2', 'c3']],
    [
      {
        operator: 'OR',
        app: 'a label without effect',
        operands: [
          leaf('car.external_id', '=', 'c4'),
          { operator: 'AND', operands: [leaf('car.property.price', '>', 5), leaf('car.property.colour', '=', 'red')] },
        ],
      },
      ['c1', 'c4'],
    ],
  ])('%j keeps %j', async (filter, expected) => {
    expect(await found(filter)).toEqual(expected)
  })

  it('takes parameters, members of them, and lists of them', async () => {
    expect(await found(leaf('car.property.price', '>=', '$min'), { min: 20 })).toEqual(['c2', 'c3'])
    expect(await found(leaf('car.property.price', '>=', '$range.min'), { range: { min: 30 } })).toEqual(['c3'])
    expect(await found(leaf('car.property.colour', 'IN', '$colours'), { colours: ['green'] })).toEqual(['c2'])
    expect(await found(leaf('car.property.colour', 'IN', ['$one', 'blue']), { one: 'red' })).toEqual(['c1', 'c3'])
    const since = { type: 'datetime', value: '$since' }
    expect(await found(leaf('car.property.built', '>', since), { since: '2021-01-01T00:00:00Z' })).toEqual(['c2'])
  })

  it('never reads a value as text of the query', async () => {
    const hostile = "' OR true OR '"
    expect(await found(leaf('car.property.colour', '=', hostile))).toEqual([])
    expect(await found(leaf('car.property.colour', '=', '$colour'), { colour: hostile })).toEqual([])
    expect(await found(leaf('car.property.colour', '=', '$colour'), { colour: '$token' })).toEqual([])
  })

  it.each<[object, string]>([
    [leaf('bike.property.price', '=', 1), 'query.filter: the policy binds no `bike`'],
    [leaf('year.property.x', '=', 1), 'query.filter.attribute: `year` is neither a node nor a relationship'],
    [leaf('car.ghost', '=', 1), 'query.filter.attribute: expected a path'],
    [leaf('car.property.*', '=', 1), 'query.filter.attribute'],
    [leaf('car.property.price', 'IN', 5), 'filter:'],
    [leaf('car.property.name', '=~', '('), 'filter: not a pattern'],
    [leaf('car.property.built', 'IN', { type: 'datetime', value: '$x' }), 'query.filter.value: `IN` takes no datetime'],
    [leaf('car.property.price', 'LIKE', 5), 'query.filter.operator'],
  ])('%j is refused when it is stored', async (filter, issue) => {
    await expect(house.addQuery(`q${++number}`, policy, { nodes: ['car.external_id'], filter })).rejects.toThrow(issue)
  })
})
