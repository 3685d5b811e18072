// A known difference is accepted only if the query without its cause has equal answers. Verdigraph answers here; the answers of
// Neo4j 5.26 are recorded, or show a fault that must not be taken for a known difference.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readGraph } from '../support/graph-notation.ts'
import { type EngineSide, openEngineSide } from './engine-side.ts'
import { ofReference } from './judge-graph.ts'
import { type ComparedAnswers, knownCauseOf } from './judged-case.ts'
import { differenceOf, type JudgedOutcome, type JudgedQuery } from './judged-outcome.ts'
import type { JudgedValue } from './judged-value.ts'
import {
  addedAsText,
  changedQueries,
  countsBeforeOptionalMatch,
  divisorZero,
  groupsOfOneLengthAsAll,
  nanInGroups,
  singleValueAsList,
  unevaluatedPartAsNull,
} from './query-changes.ts'

let engine: EngineSide
beforeAll(async () => {
  engine = await openEngineSide(ofReference(readGraph("(a:Person {num: 1, name: 'ab'})")))
})
afterAll(() => engine.close())

const queryOf = (text: string): JudgedQuery => ({ text, parameters: new Map(), orderedBy: [], bags: [] })
const rows = (...values: JudgedValue[]): JudgedOutcome => ({
  error: null,
  columns: ['x'],
  rows: values.map((value) => [value]),
})
const failed = (kind: string, message: string): JudgedOutcome => ({ error: { phase: 'run', kind, message } })

/** The known difference of the answer of Neo4j. `changed`: its answer to every changed query; `ours`: another answer than that of the engine. */
async function causeOf(
  text: string,
  theirs: JudgedOutcome,
  changed: (text: string) => JudgedOutcome,
  ours?: JudgedOutcome,
): Promise<string | null> {
  const compared = (query: JudgedQuery, mine: JudgedOutcome, their: JudgedOutcome): ComparedAnswers => ({
    ours: mine,
    theirs: their,
    difference: differenceOf(query, mine, their),
  })
  const query = queryOf(text)
  const verdict = compared(query, ours ?? engine.answer(query), theirs)
  expect(verdict.difference).not.toBeNull()
  const known = await knownCauseOf(query, verdict, async (other) =>
    compared(other, engine.answer(other), changed(other.text)),
  )
  return known?.id ?? null
}

const texts = (text: string, change: Parameters<typeof changedQueries>[1]): string[] =>
  changedQueries(text, change).map((changed) => changed.text)

test('NaN in groups: keys that are not equal to themselves become null', async () => {
  expect(texts('UNWIND [NaN] AS x RETURN DISTINCT x', nanInGroups)).toEqual([
    'UNWIND [NaN] AS x RETURN DISTINCT CASE WHEN x <> x THEN null ELSE x END AS x',
  ])
  expect(texts('MATCH (a) RETURN a.num, count(DISTINCT a.num) AS n', nanInGroups)).toEqual([
    'MATCH (a) RETURN CASE WHEN a.num <> a.num THEN null ELSE a.num END AS `a.num`, count(DISTINCT CASE WHEN a.num <> a.num THEN null ELSE a.num END) AS n',
  ])
  expect(texts('RETURN 1 AS x UNION RETURN NaN AS x', nanInGroups)).toHaveLength(1)
  expect(texts('RETURN 1 AS x UNION ALL RETURN NaN AS x', nanInGroups)).toEqual([])
  expect(texts('MATCH (a) RETURN max(NaN) AS x', nanInGroups)).toEqual([])
  const text = 'UNWIND [NaN, NaN] AS x RETURN DISTINCT x'
  expect(await causeOf(text, rows(Number.NaN, Number.NaN), () => rows(null))).toBe('nan-groups')
})

test('NaN in groups is not a fault of another part', async () => {
  // A NaN, a DISTINCT and a wrong sum.
  const text = 'UNWIND [NaN, NaN, 1, 2] AS y WITH DISTINCT y WHERE y > 0 RETURN sum(y) AS x'
  expect(await causeOf(text, rows(5n), () => rows(5n))).toBeNull()
  // Nothing is grouped.
  expect(await causeOf('RETURN max(NaN) AS x', rows(1n), () => rows(Number.NaN))).toBeNull()
})

const byZero = failed('arithmetic', '/ by zero')

test('a float divided by the integer 0', async () => {
  expect(texts('UNWIND [0] AS z RETURN 1.5 / z AS x', divisorZero)).toEqual([
    'UNWIND [0] AS z RETURN 1.5 / CASE WHEN z = 0 THEN toFloat(z) ELSE z END AS x',
  ])
  expect(await causeOf('UNWIND [0] AS z RETURN 1.5 / z AS x', byZero, () => rows(Number.POSITIVE_INFINITY))).toBe(
    'float-by-integer-zero',
  )
})

test('a division by zero that Verdigraph does not report is not a float divided by the integer 0', async () => {
  const text = 'UNWIND [0] AS z RETURN 1 / z AS x'
  expect(await causeOf(text, byZero, () => rows(Number.POSITIVE_INFINITY), rows(null))).toBeNull()
  // Another division, which the text of the message does not tell from the first.
  const other = 'UNWIND [0] AS z RETURN 1.5 / z + 1 % z AS x'
  expect(await causeOf(other, byZero, () => byZero, rows(null))).toBeNull()
})

const noPredicate = failed('type', "Don't know how to treat that as a predicate: Long(1)")
const unused = 'MATCH (b:Team) WHERE EXISTS { MATCH (z) WITH z.num AS w WHERE w } RETURN 1 AS x'

test('a part that is not evaluated', async () => {
  const [condition, part] = changedQueries(unused, unevaluatedPartAsNull)
  expect(condition).toEqual({
    text: 'MATCH (b:Team) WHERE null RETURN 1 AS x',
    keepsRows: false,
    failsAlone: [
      'MATCH (b) WITH 1 AS x WHERE exists { MATCH (z) WITH z.num AS w WHERE w } RETURN x AS x',
      'WITH 1 AS x WHERE exists { MATCH (z) WITH z.num AS w WHERE w } RETURN x AS x',
    ],
  })
  expect(part?.failsAlone[0]).toBe('MATCH (b) RETURN exists { MATCH (z) WITH z.num AS w WHERE w } AS x')
  const theirs = (text: string): JudgedOutcome => (text.startsWith('MATCH (b) ') ? noPredicate : rows())
  expect(await causeOf(unused, noPredicate, theirs)).toBe('condition-not-evaluated')
  // Verdigraph evaluates all items of a list.
  const item = 'MATCH (a) RETURN [a.name + true, 1][1] AS x'
  const fails = failed('type', 'Cannot add `String` and `Boolean`')
  const theirItem = (text: string): JudgedOutcome => (text.includes('a.name + true AS x') ? fails : rows(1n))
  expect(await causeOf(item, rows(1n), theirItem)).toBe('condition-not-evaluated')
  const order = 'MATCH (a {num: 2}) WHERE a.num < 3 AND a.name * 1 > 1 RETURN 1 AS x'
  const theirOrder = (text: string): JudgedOutcome => (text.startsWith('MATCH (a) ') ? fails : rows())
  expect(await causeOf(order, fails, theirOrder)).toBe('condition-not-evaluated')
})

test('an error is not early if the part cannot fail, or if the error or another answer remains without it', async () => {
  const alone = (text: string): JudgedOutcome => (text.startsWith('MATCH (b) ') ? noPredicate : rows())
  const sound = 'MATCH (b:Team) WHERE EXISTS { (z) } RETURN 1 AS x'
  expect(await causeOf(sound, noPredicate, alone)).toBeNull()
  expect(await causeOf(unused, noPredicate, () => noPredicate)).toBeNull()
  const other = (text: string): JudgedOutcome => (text.startsWith('MATCH (b) ') ? noPredicate : rows(2n))
  expect(await causeOf(unused, noPredicate, other)).toBeNull()
  // Neo4j does not report an error for the part alone: the error of Verdigraph may be wrong.
  const item = 'MATCH (a) RETURN [a.name - 1, 1][1] AS x'
  expect(await causeOf(item, rows(1n), (text) => (text.includes('AS x') ? rows(1n) : rows()))).toBeNull()
  // Another kind of error.
  const arithmetic = failed('arithmetic', '/ by zero')
  expect(await causeOf(unused, arithmetic, alone)).toBeNull()
})

const counted = 'MATCH (a) OPTIONAL MATCH (b:Person) WHERE COUNT { (c) WHERE c.num > 1 } < 1 RETURN b.num AS x'

test('a count without rows in the WHERE of an OPTIONAL MATCH', async () => {
  expect(texts(counted, countsBeforeOptionalMatch)).toEqual([
    'MATCH (a) WITH *, count { (c) WHERE c.num > 1 } AS counted42 OPTIONAL MATCH (b:Person) WHERE counted42 < 1 RETURN b.num AS x',
  ])
  expect(await causeOf(counted, rows(null), () => rows(1n))).toBe('empty-count-in-optional-match')
})

test('another wrong answer of an OPTIONAL MATCH with a count is not that of the count', async () => {
  expect(await causeOf(counted, rows(null), () => rows(null))).toBeNull()
  // Verdigraph is wrong, and right without the count.
  expect(await causeOf(counted, rows(1n), () => rows(1n), rows(null))).toBeNull()
  expect(texts('MATCH (a) MATCH (b) WHERE COUNT { (c) } < 1 RETURN b', countsBeforeOptionalMatch)).toEqual([])
})

test('a single value as a list, and a type error of another operator', async () => {
  const text = 'MATCH (a) RETURN 1 IN a.num AS x'
  expect(texts(text, singleValueAsList)).toEqual([
    'MATCH (a) RETURN 1 IN CASE WHEN a.num IS :: LIST<ANY> THEN a.num ELSE [a.num] END AS x',
  ])
  expect(await causeOf(text, rows(true), () => rows(true))).toBe('single-value-as-list')
  expect(await causeOf('MATCH (a) RETURN size(a.num) AS x', rows(1n), () => rows(1n))).toBeNull()
})

test('the items of a map projection are no parts of their own, and it reads its names', () => {
  expect(texts('MATCH (a) MATCH (b) RETURN a {.name, b, sum: a.name * 1} AS x', unevaluatedPartAsNull)).toEqual([
    'MATCH (a) MATCH (b) RETURN a {.name, b, sum: null} AS x',
    'MATCH (a) MATCH (b) RETURN a {.name, b, sum: null * 1} AS x',
  ])
  const [condition] = changedQueries('MATCH (a) MATCH (b) WHERE a {b}.num / 0 > 1 RETURN 1 AS x', unevaluatedPartAsNull)
  expect(condition?.failsAlone).toEqual([
    'MATCH (a) MATCH (b) WITH *, 1 AS x WHERE a {b}.num / 0 > 1 RETURN x AS x',
    'MATCH (a), (b) WITH *, 1 AS x WHERE a {b}.num / 0 > 1 RETURN x AS x',
  ])
})

const noParentheses = failed(
  'internal',
  'Parenthesised path patterns are only supported at the top level with a selective path selector',
)
const grouped = 'MATCH SHORTEST 2 GROUPS ((a)-[r]->(b) WHERE a.num > 1) RETURN count(*) AS x'

test('groups of paths of one length are all paths', async () => {
  expect(texts(grouped, groupsOfOneLengthAsAll)).toEqual(['MATCH ((a)-[r]->(b) WHERE a.num > 1) RETURN count(*) AS x'])
  expect(await causeOf(grouped, noParentheses, () => rows(0n))).toBe('groups-of-one-length')
  // The lengths differ, the number of paths is limited, or Neo4j accepts it.
  for (const other of ['SHORTEST 2 GROUPS ((a)-->+(b) WHERE a.num > 1)', 'SHORTEST 2 ((a)-->(b) WHERE a.num > 1)'])
    expect(texts(`MATCH ${other} RETURN count(*) AS x`, groupsOfOneLengthAsAll)).toEqual([])
  expect(texts('MATCH SHORTEST 2 GROUPS (a)-->(b) RETURN count(*) AS x', groupsOfOneLengthAsAll)).toEqual([])
})

test('a wrong answer where Neo4j has none is not that of groups of one length', async () => {
  expect(await causeOf(grouped, noParentheses, () => rows(1n))).toBeNull()
  expect(await causeOf(grouped, noParentheses, () => rows(0n), rows(1n))).toBeNull()
  expect(await causeOf(grouped, failed('internal', 'another'), () => rows(0n))).toBeNull()
})

test('digits of other scripts, and other wrong integers of a text with an escape', async () => {
  expect(await causeOf("RETURN toInteger('\\uff15') AS x", rows(5n), () => rows(null))).toBe('digits-of-other-scripts')
  expect(await causeOf("RETURN toInteger('\\u00355') AS x", rows(5n), () => rows(5n))).toBeNull()
  // Verdigraph is wrong, and right without the digit.
  expect(await causeOf("RETURN toInteger('\\uff15') AS x", rows(5n), () => rows(null), rows(7n))).toBeNull()
})

test('two causes of one difference are both proved', async () => {
  const text = "RETURN toString(localtime('10:00')) + rtrim('ab', 'ab') AS x"
  const right = (changed: string): JudgedOutcome =>
    changed.includes('replace(') ? (changed.includes('btrim(') ? rows('10') : rows('10a')) : rows('10:00:00')
  expect(await causeOf(text, rows('10:00:00a'), right)).toBe('temporal-text-seconds')
  expect(await causeOf(text, rows('10:00:00b'), () => rows('10:00:00b'))).toBeNull()
})

test('a text plus a value whose type the text of the query shows', () => {
  const [changed = ''] = texts("MATCH (a) RETURN [i IN a.tags | i + [date('2020-02-29')][0]] AS x", addedAsText)
  // Neo4j refuses `toStringOrNull(i) + [date(…)][0]`.
  expect(changed).not.toMatch(/toStringOrNull\(i\) \+ \[/)
})

test('the variable of a path stays within the parentheses whose condition reads it', () => {
  const query =
    'MATCH SHORTEST 3 GROUPS (p = (a)-->{0,2}(b) WHERE length(p) > 0) MATCH ALL SHORTEST ((c)-->(d) WHERE d.num > 1) RETURN 1 AS x'
  expect(texts(query, groupsOfOneLengthAsAll)).toEqual([
    'MATCH SHORTEST 3 GROUPS (p = (a)-->{0,2}(b) WHERE length(p) > 0) MATCH ((c)-->(d) WHERE d.num > 1) RETURN 1 AS x',
  ])
})

test('a part of a text that was split by a list with an empty text', async () => {
  const query = "UNWIND split('ab', ['']) AS part RETURN part STARTS WITH '' AS x"
  const theirs = (text: string): JudgedOutcome => (text.includes("part + ''") ? rows(true, true) : rows(false, false))
  expect(await causeOf(query, rows(false, false), theirs)).toBe('split-by-list-with-empty-text')
})
