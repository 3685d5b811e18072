// Filters of context policies and queries over the graph: every operator, every form of attribute and value.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { filterLabelIssues } from '../../../src/policy/filter-labels.ts'
import { type ContextService, startContextService } from '../../support/context-service.ts'

let setup: ContextService
let token: string
let number = 0
beforeAll(async () => {
  setup = await startContextService()
  token = await setup.tokenOf('ann', { email: 'ann@example.org', colours: ['red', 'green'], act: { sub: 'agent-7' } })
  const car = (external_id: string, properties: Record<string, unknown>, source?: string) => ({
    type: 'Car',
    external_id,
    properties: Object.entries(properties).map(([type, value]) => ({
      type,
      value,
      ...(source === undefined ? {} : { metadata: { source } }),
    })),
  })
  await setup.capture('nodes', {
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
  await setup.capture('relationships', { relationships: owns })
})
afterAll(() => setup.stop())

const policy = {
  subject: { type: 'Person' },
  condition: {
    cypher:
      'MATCH (subject:Person {external_id: $token.sub})-[r:OWNS]->(car:Car) WITH subject, r, car, r.since AS year',
  },
  allowed_reads: {
    nodes: ['car.*', 'car.property.price.metadata.source', 'car.trust_score.*', 'subject.property.likes'],
    relationships: ['r.*'],
    aggregate_values: ['year'],
  },
}

/** The cars that the filter accepts, in the policy or in the query. */
async function found(filter: object, input_params?: object): Promise<string[]> {
  const answers = await Promise.all([
    setup.addQuery(`q${++number}`, policy, { nodes: ['car.external_id'], filter }),
    setup.addQuery(
      `p${number}`,
      { ...policy, condition: { ...policy.condition, filter: [filter] } },
      { nodes: ['car.external_id'] },
    ),
  ])
  const rows = await Promise.all(
    answers.map(async (id) => {
      const { status, body, text } = await setup.execute(id, input_params === undefined ? {} : { input_params }, token)
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

  it('refuses a label, which would have no effect', async () => {
    const labelled = { operator: 'AND', operands: [{ ...leaf('car.external_id', '=', 'c4'), app: 'shop' }] }
    const issue =
      'query.filter.operands[0].app: has no effect and does not restrict the filter to an application; remove it'
    expect(filterLabelIssues(labelled, 'query.filter')).toEqual([issue])
    await expect(found(labelled)).rejects.toThrow('.operands[0].app: has no effect')
  })

  it('accepts parameters, their members, and lists of them', async () => {
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
    [leaf('bike.property.price', '=', 1), 'query.filter: the policy does not bind `bike`'],
    [leaf('year.property.x', '=', 1), 'query.filter.attribute: `year` is not a node or relationship'],
    [leaf('car.ghost', '=', 1), 'query.filter.attribute: expected a path'],
    [leaf('car.property.*', '=', 1), 'query.filter.attribute'],
    [leaf('car.property.price', 'IN', 5), 'filter:'],
    [leaf('car.property.name', '=~', '('), 'filter: invalid regular expression'],
    [
      leaf('car.property.built', 'IN', { type: 'datetime', value: '$x' }),
      'query.filter.value: `IN` does not accept a datetime',
    ],
    [leaf('car.property.price', 'LIKE', 5), 'query.filter.operator'],
  ])('%j is refused when it is stored', async (filter, issue) => {
    await expect(setup.addQuery(`q${++number}`, policy, { nodes: ['car.external_id'], filter })).rejects.toThrow(issue)
  })
})

describe('a filter of a query, through which a caller could find unreadable values', () => {
  const stored = (allowed_reads: object, filter: object, inPolicy = false): Promise<unknown> => {
    const { cypher } = policy.condition
    const condition = inPolicy ? { cypher, filter: [filter] } : { cypher }
    const query = { nodes: ['car.external_id'], ...(inPolicy ? {} : { filter }) }
    return setup.addQuery(`o${++number}`, { ...policy, condition, allowed_reads }, query)
  }
  const narrow = { nodes: ['car.external_id'] }
  const either = (...operands: object[]) => ({ operator: 'OR', operands })

  const hidden: [filter: object, at: string, path: string][] = [
    [leaf('car.property.price', '<', '$guess'), '.attribute', 'car.property.price'],
    [leaf('car.property.price', 'IS NULL'), '.attribute', 'car.property.price'],
    [{ operator: 'NOT', operands: [leaf('r.since', '=', '$guess')] }, '.operands[0].attribute', 'r.since'],
    [leaf('car.external_id', '=', '@subject.property.likes'), '.value', 'subject.property.likes'],
    [
      either(leaf('car.external_id', '=', 'c1'), leaf('car.external_id', 'IN', ['x', '@car.property.price'])),
      '.operands[1].value[1]',
      'car.property.price',
    ],
    [leaf('car.create_time', '<', { type: 'datetime', value: '$guess' }), '.attribute', 'car.create_time'],
    [leaf('car.property.price.metadata.source', '=', '$guess'), '.attribute', 'car.property.price.metadata.source'],
    [leaf('car.trust_score._final_score', '>', '$guess'), '.attribute', 'car.trust_score._final_score'],
    [leaf('year', '<', '$guess'), '.attribute', 'year'],
    [leaf('subject.property.likes', 'STARTS WITH', '$token.likes'), '.attribute', 'subject.property.likes'],
    [leaf('subject.property.likes', '=', '$tokens'), '.attribute', 'subject.property.likes'],
    [leaf('subject.property.likes', 'IN', ['$token.likes', '$guess']), '.attribute', 'subject.property.likes'],
    [leaf('subject', 'IS NULL'), '.attribute', 'subject'],
    [leaf('subject.external_id', 'STARTS WITH', '$guess'), '.attribute', 'subject.external_id'],
  ]
  it.each(hidden)('%j is refused in the query, and accepted in the policy', async (filter, at, path) => {
    await expect(stored(narrow, filter)).rejects.toThrow(
      `"query.filter${at}: the policy does not allow reading \`${path}\`, so it cannot be filtered by"`,
    )
    await stored(narrow, filter, true)
  })

  it.each<[object, object]>([
    [leaf('subject.external_id', '=', '$token.sub'), narrow],
    [leaf('subject.external_id', 'IN', ['$one', '$other']), narrow],
    [leaf('car.type', '=', 'Car'), narrow],
    [leaf('$token.level', '=', '$level'), narrow],
    // On a mapped claim (docs/decisions/0009-user-tokens.md).
    [leaf('subject.property.likes', '=', '$token.likes'), narrow],
    [leaf('$token.likes', 'IN', ['@subject.property.likes']), narrow],
    [leaf('year', '=', '$svc_token.year'), narrow],
    [leaf('subject.property.app', '=', '$_appId'), narrow],
    [leaf('car.external_id', '>', '$from'), narrow],
    [leaf('car', 'IS NOT NULL'), narrow],
    [leaf('car.property.price', '<', '$guess'), { nodes: ['car.external_id', 'car.property.price'] }],
    [leaf('car.property.price', '<', '$guess'), { nodes: ['car.external_id', 'car.property.*'] }],
    [leaf('car.property.price', '<', '$guess'), { nodes: ['car.external_id', 'car.*'] }],
    // It reads back with its properties.
    [leaf('car.property.price', '<', '$guess'), { nodes: ['car.external_id', 'car'] }],
    [leaf('r.since', '<', '$guess'), { ...narrow, relationships: ['r'] }],
    [leaf('year', '<', '$guess'), { ...narrow, aggregate_values: ['year'] }],
  ])('%j is accepted with %j', async (filter, reads) => {
    await stored(reads, filter)
  })

  it('is refused when its policy is restricted, like a requested path', async () => {
    const wide = { nodes: ['car.external_id', 'car.property.price'] }
    const name = `o${++number}`
    const query = { nodes: ['car.external_id'], filter: leaf('car.property.price', '<', '$guess') }
    const id = await setup.addQuery(name, { ...policy, allowed_reads: wide }, query)
    const asked = () => setup.execute(id, { input_params: { guess: 15 } }, token)
    expect((await asked()).body).toEqual({ data: [{ nodes: { 'car.external_id': 'c1' } }] })

    const { configure, projectId } = setup.service
    const at = await configure('GET', `authorization-policies/${name}-policy?project_id=${projectId}`)
    const narrowed = JSON.stringify({ meta: { policy_version: '1.0-ciq' }, ...policy, allowed_reads: narrow })
    const changed = await configure('PUT', `authorization-policies/${at.body.id}`, {
      policy: narrowed,
      status: 'ACTIVE',
    })
    expect(changed.status).toBe(200)
    const { status, body } = await asked()
    expect([status, body.message]).toEqual([
      403,
      'the policy of the knowledge query no longer allows it: query.filter.attribute: the policy does not allow reading `car.property.price`, so it cannot be filtered by',
    ])
  })
})
