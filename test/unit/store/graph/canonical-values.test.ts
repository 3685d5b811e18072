// All writers call one function: equal values have one representation, and values that HTTP refuses are refused.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Graph } from '../../../../src/engine/graph.ts'
import type { PropertyInput, WriteBatch } from '../../../../src/engine/store.ts'
import { Float } from '../../../../src/kernel/float.ts'
import { type OpenStore, openStore } from '../../../../src/store/graph/open-store.ts'

let store: OpenStore
let graph: Graph

beforeEach(() => {
  store = openStore(':memory:')
  graph = new Graph(store)
})
afterEach(() => store.close())

const write = (value: unknown, externalId = 'a'): Promise<unknown> =>
  graph.write((batch) =>
    batch.upsertNode({ type: 'Pass', externalId, properties: [{ name: 'level', value } as PropertyInput] }),
  )

describe('a written value', () => {
  test('that is a bigint equals the number of that size in DISTINCT, grouping and conditions', async () => {
    await write(1n, 'a')
    await write(1, 'b')
    await write([1n, 2], 'c')
    await write([1, 2n], 'd')
    expect(graph.query('MATCH (p:Pass) RETURN count(DISTINCT p.level) AS levels').rows).toEqual([[2]])
    const different = graph.prepare(
      'MATCH (subject:Pass), (resource:Pass) WITH subject, resource, collect(DISTINCT subject.level) + collect(DISTINCT resource.level) AS both UNWIND both AS one WITH subject, resource, count(DISTINCT one) AS levels WHERE levels > 1',
    )
    expect(different.exists({ subject: ['Pass', 'a'], resource: ['Pass', 'b'] })).toBe(false)
  })

  test('that has a fraction is a float', async () => {
    await write(1.5)
    await write([1, 2.5], 'b')
    const { rows } = graph.query('MATCH (p:Pass) RETURN p.level AS level ORDER BY p.external_id')
    expect(rows).toEqual([[new Float(1.5)], [[1, new Float(2.5)]]])
  })

  test.each([
    ['a Date', new Date(0), 'found a Date: write its text'],
    ['NaN', Number.NaN, 'found NaN'],
    ['an integer beyond 64 bits', 2n ** 63n, 'found the integer 9223372036854775808'],
    ['a lone surrogate', '\ud800', 'a lone surrogate'],
    ['a lone surrogate in a list', ['a', '\ud800'], 'item 1: expected well-formed Unicode'],
    ['a list of mixed kinds', [1, 'a'], 'found an array of number and string'],
    ['a nested list', [[1]], 'item 0: '],
    ['an object', { a: 1 }, 'found object'],
    ['null', null, 'found null'],
  ])('that is %s is refused, with the names of the element and the property', async (_, value, message) => {
    await expect(write(value)).rejects.toThrow(`the node \`Pass\` \`a\`: the property \`level\`: `)
    await expect(write(value)).rejects.toThrow(message)
    expect(graph.query('MATCH (p) RETURN count(p) AS nodes').rows).toEqual([[0]])
  })

  test('of a relationship is checked too', async () => {
    const [a, b] = [
      { type: 'Pass', externalId: 'a' },
      { type: 'Pass', externalId: 'b' },
    ]
    await graph.write((batch) => [a, b].map((node) => batch.upsertNode(node)))
    const link = (value: unknown) =>
      graph.write((batch) =>
        batch.upsertRelationship({
          source: a!,
          type: 'LINK',
          target: b!,
          properties: [{ name: 'level', value } as PropertyInput],
        }),
      )
    await expect(link(new Date(0))).rejects.toThrow(
      'the relationship `LINK` from the node `Pass` `a` to the node `Pass` `b`: the property `level`: ',
    )
    await link(1n)
    expect(graph.query('MATCH ()-[l:LINK]->() RETURN l.level AS level').rows).toEqual([[1]])
  })
})

const end = { type: 'Pass', externalId: 'a' }

test.each<[string, (batch: WriteBatch) => unknown]>([
  ['expected 1 to 1024 characters, found 0', (batch) => batch.upsertNode({ type: 'Pass', externalId: '' })],
  ['U+0000', (batch) => batch.upsertNode({ type: 'Pass', externalId: 'a\0b' })],
  ['a lone surrogate', (batch) => batch.upsertNode({ type: 'Pass', externalId: '\ud800' })],
  ['found "A:B"', (batch) => batch.upsertNode({ type: 'A:B', externalId: 'a' })],
  ['found "A B"', (batch) => batch.upsertNode({ type: 'Pass', externalId: 'a', labels: ['A B'] })],
  ['found "A:B"', (batch) => batch.createNode(['A:B'], [])],
  ['found "R:S"', (batch) => batch.upsertRelationship({ source: end, type: 'R:S', target: end })],
  ['found ""', (batch) => batch.createRelationship(batch.upsertNode(end).id, '', batch.upsertNode(end).id, [])],
])('a key or name that HTTP refuses is refused by the library: %s', async (message, change) => {
  await expect(graph.write(change)).rejects.toThrow(message)
})

test('a Date and a lone surrogate are refused as parameters, with the name of the parameter', () => {
  const read = (value: unknown) => () => graph.query('RETURN $value AS value', { value })
  expect(read(new Date(0))).toThrow('the parameter $value: an instance of Date is not data')
  expect(read({ at: [new Date(0)] })).toThrow('the parameter $value: an instance of Date is not data')
  expect(read('\ud800')).toThrow('the parameter $value: a text has a lone surrogate')
  expect(graph.query('RETURN $value AS value', { value: 1n }).rows).toEqual([[1]])
})

test('texts are read as numbers, and trimmed, as in Neo4j', () => {
  const { rows } = graph.query(
    `RETURN toInteger(' 5 ') AS a, toFloat('Infinity') AS b, toFloat('-Infinity') AS c, toFloat('NaN') AS d,
       toFloat(' 5f ') AS e, toFloat('\\u00a05') AS f, trim('\\ufeff\\u00a0') AS g, trim('\\u001c\\u2003x\\u3000') AS h,
       ltrim('\\u2007x') AS i, rtrim('x\\u001f') AS j, toBoolean('\\u2003true') AS k, toBoolean('\\ufefftrue') AS l`,
  )
  const [infinity, minus, nan, five] = [Infinity, -Infinity, Number.NaN, 5].map((value) => new Float(value))
  expect(rows).toEqual([[null, infinity, minus, nan, five, null, '\ufeff\u00a0', 'x', '\u2007x', 'x', true, null]])
})
