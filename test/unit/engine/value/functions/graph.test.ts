// `=~`, graph.instant() and graph.metadata(): the engine functions that filters of context policies need.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Graph } from '../../../../../src/engine/graph.ts'
import { compileRowsQuery } from '../../../../../src/engine/rows-query.ts'
import { openEnvironment } from '../../../../../src/store/graph/environment.ts'
import { ManualClock } from '../../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../../support/temporary-folder.ts'

const environment = openEnvironment(temporaryFolder(), { clock: new ManualClock(1_750_000_000_000), sync: false })
const graph = new Graph(environment, { stepsMax: 200_000, timeMs: 60_000 })
beforeAll(() =>
  graph.write((batch) => {
    const metadata = {
      source: 'desk',
      assuranceLevel: 2,
      verifiedTime: '2026-01-31T12:00:00Z',
      custom: { by: 'ann', n: 1 },
    }
    batch.upsertNode({
      type: 'Car',
      externalId: 'c1',
      properties: [
        { name: 'plate', value: 'AB-12', metadata },
        { name: 'text', value: 'a'.repeat(20_000) },
      ],
    })
  }),
)
afterAll(() => environment.close())

const value = (expression: string, parameters = {}): unknown =>
  graph.query(`MATCH (n:Car) RETURN ${expression} AS x`, parameters).rows[0]![0]

describe('=~', () => {
  test.each([
    ["n.plate =~ 'AB-[0-9]+'", true],
    // Matches the whole text, as in openCypher.
    ["n.plate =~ 'AB'", false],
    ["n.plate =~ '(?i)ab-12'", true],
    ["n.plate =~ '(?s).*'", true],
    ['n.plate =~ null', null],
    ["n.ghost =~ 'a'", null],
    ["5 =~ '5'", null],
    ['n.plate =~ 5', null],
  ])('%s is %s', (expression, expected) => {
    expect(value(expression)).toBe(expected)
  })

  test('accepts a pattern of the caller, and reports an invalid one', () => {
    expect(value('n.plate =~ $p', { p: 'A.*' })).toBe(true)
    expect(() => value('n.plate =~ $p', { p: '(' })).toThrow('invalid regular expression')
    expect(() => value('n.plate =~ $p', { p: 'a'.repeat(1001) })).toThrow('at most 1000 characters')
  })

  test('refuses a constant that is not a valid pattern or needs more than linear time', () => {
    for (const pattern of ['(', '(?=a)a', '(a)\\\\1']) {
      expect(compileRowsQuery(`RETURN 'a' =~ '${pattern}' AS x`).ok).toBe(false)
    }
  })

  test('refuses a short pattern that compiles to a long one, as a constant or as a parameter', () => {
    const large = '((a{0,30}){0,30})*'.repeat(3)
    expect(compileRowsQuery(`RETURN 'a' =~ '${large}' AS x`).ok).toBe(false)
    expect(() => value('n.plate =~ $p', { p: large })).toThrow('at most 2000 steps')
  })

  test('charges by the length of text and pattern', () => {
    expect(value("n.text =~ '(a+)+b'")).toBe(false)
    expect(() => value('all(i IN range(1, 10000) WHERE NOT n.text =~ $p)', { p: '(a+)+(b|a+)*c' })).toThrow('limit')
  })
})

describe('graph.instant()', () => {
  test.each([
    ["graph.instant('2026-01-31T12:00:00Z')", 1_769_860_800_000],
    ["graph.instant('2026-01-31T13:00:00+01:00')", 1_769_860_800_000],
    ['graph.instant(1769860800)', 1_769_860_800_000],
    ["graph.instant('yesterday')", null],
    ['graph.instant(true)', null],
    ['graph.instant(null)', null],
  ])('%s is %s', (expression, expected) => {
    expect(value(expression)).toBe(expected)
  })
})

describe('graph.field()', () => {
  test.each([
    ["graph.field(n, 'external_id') = n.external_id", true],
    ["graph.field(n, 'type') = n.type", true],
    ["graph.field(n, 'create_time') = n.create_time", true],
    ["graph.field(n, 'update_time') = n.update_time", true],
    ["graph.field(n, 'is_identity') = n.is_identity", true],
    ["graph.field(n, 'id') STARTS WITH 'gid:'", true],
    ["graph.field(n, 'plate')", null],
    ["graph.field(n, 'location')", null],
    ["graph.field(null, 'id')", null],
  ])('%s is %s', (expression, expected) => {
    expect(value(expression)).toBe(expected)
  })

  test('accepts only nodes and relationships', () => {
    expect(compileRowsQuery("RETURN graph.field(1, 'id') AS x").ok).toBe(false)
  })
})

describe('graph.metadata()', () => {
  test.each([
    ["graph.metadata(n, 'plate', 'source')", 'desk'],
    ["graph.metadata(n, 'plate', 'assurance_level')", 2],
    ["graph.metadata(n, 'plate', 'verified_time')", '2026-01-31T12:00:00Z'],
    ["graph.metadata(n, 'plate', 'by')", 'ann'],
    ["graph.metadata(n, 'plate', 'constructor')", null],
    ["graph.metadata(n, 'text', 'source')", null],
    ["graph.metadata(n, 'ghost', 'source')", null],
    ["graph.metadata(null, 'plate', 'source')", null],
  ])('%s is %s', (expression, expected) => {
    expect(value(expression)).toBe(expected)
  })

  test('accepts only nodes', () => {
    expect(compileRowsQuery("RETURN graph.metadata(1, 'a', 'b') AS x").ok).toBe(false)
  })
})
