// On the event loop, work that is too large is aborted before it has an effect, and never treated as an error of a
// policy.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Budget, type BudgetLimits } from '../../../src/engine/budget.ts'
import { compileRowsQuery } from '../../../src/engine/rows-query.ts'
import type { Value } from '../../../src/engine/value/value.ts'
import { LaneRequiredError } from '../../../src/kernel/request/lane-required.ts'
import { readPolicyFilter } from '../../../src/policy/read-policy-filter.ts'
import { readGraph } from '../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'

let stored: StoredGraph
beforeAll(async () => {
  stored = await storeGraph(readGraph('(ann:Person {age: 1})'))
})
afterAll(() => stored.close())

// No run reaches its time limit here: only the inline limit refuses.
const limits: BudgetLimits = { stepsMax: 100_000_000, timeMs: 600_000 }
const inline: BudgetLimits = { ...limits, inlineMs: 600_000 }

function run(text: string, given: BudgetLimits, parameters: Readonly<Record<string, Value>> = {}): unknown {
  const query = compileRowsQuery(text)
  if (!query.ok) throw new Error(query.error[0]?.message)
  const snapshot = stored.environment.snapshot()
  try {
    return query.value.run({ snapshot, parameters: new Map(Object.entries(parameters)), limits: given }).rows[0]?.[0]
  } finally {
    snapshot.close()
  }
}

describe('work that is too large for the event loop', () => {
  const long = 'ab'.repeat(100_000)
  const cases: readonly (readonly [text: string, answer: Value])[] = [
    ["RETURN left($long, 2000) =~ '(ab)*' AS v", true],
    [`RETURN 'a' =~ ('a' + left($long, 200) + '|a') AS v`, true],
    ['UNWIND range(1, 3000) AS x WITH x ORDER BY -x RETURN collect(x)[0] AS v', 3000],
    ['RETURN size(toUpper($long + $long + $long + $long)) AS v', 800_000],
  ]
  for (const [text, answer] of cases) {
    test(text, () => {
      expect(run(text, limits, { long })).toBe(answer)
      expect(() => run(text, inline, { long })).toThrow(LaneRequiredError)
    })
  }

  test('and small work is done there', () => {
    expect(run("RETURN 'abab' =~ '(ab)*' AS v", inline)).toBe(true)
    expect(run('UNWIND range(1, 100) AS x WITH x ORDER BY -x RETURN collect(x)[0] AS v', inline)).toBe(100)
    expect(run("RETURN toUpper('abc') AS v", inline)).toBe('ABC')
  })

  test('is aborted at its time limit on the event loop', () => {
    const text = 'RETURN reduce(a = 0, x IN range(1, 1000000) | a + x) AS v'
    expect(() => run(text, { ...limits, inlineMs: 1 })).toThrow(LaneRequiredError)
    expect(run(text, limits)).toBe(500_000_500_000)
  })

  test('is refused in a filter too', () => {
    const read = readPolicyFilter({ operator: '=~', attribute: '$text', value: '$pattern' }, 'filter')
    if (!read.ok || read.value === null) throw new Error('not a filter')
    const { value: filter } = read
    const budget = new Budget()
    const admits = (text: string, given: BudgetLimits): boolean => {
      budget.start(given)
      const parameters = new Map([
        ['text', text],
        ['pattern', 'a*'],
      ])
      return filter.admits(budget, parameters)
    }
    expect(admits('aaa', inline)).toBe(true)
    expect(admits('a'.repeat(2000), limits)).toBe(true)
    expect(() => admits('a'.repeat(2000), inline)).toThrow(LaneRequiredError)
  })
})

describe('planning on the event loop', () => {
  /** Its clock advances by 1 ms with each read. */
  class SteppedBudget extends Budget {
    private nowMs = 0

    protected override clock(): number {
      this.nowMs += 1
      return this.nowMs
    }
  }

  const compiled = (text: string) => {
    const query = compileRowsQuery(text)
    if (!query.ok) throw new Error(query.error[0]?.message)
    return query.value
  }

  /** Runs the queries as one request does, with one budget. */
  function runAll(queries: readonly ReturnType<typeof compiled>[], given: BudgetLimits): unknown[] {
    const budget = new SteppedBudget()
    budget.start(given)
    const snapshot = stored.environment.snapshot()
    try {
      return queries.map(
        (query) => query.run({ snapshot, parameters: new Map(), limits: given, budget }).rows[0]?.[0] ?? null,
      )
    } finally {
      snapshot.close()
    }
  }

  test('ends at the time limit of the event loop, after a new name too', async () => {
    const queries = [1, 2, 3].map((age) => compiled(`MATCH (p:Person) WHERE p.age = ${age} RETURN p.age AS v`))
    const short = { ...limits, inlineMs: 1 }
    // Two readings of the clock fit the limit, so the third plan does not.
    expect(() => runAll(queries, short)).toThrow(LaneRequiredError)
    expect(runAll(queries, short)).toEqual([1, null, null])
    await stored.environment.write((batch) =>
      batch.upsertNode({ type: 'Person', externalId: 'bob', properties: [{ name: 'height', value: 2 }] }),
    )
    expect(() => runAll(queries, short)).toThrow(LaneRequiredError)
    expect(runAll(queries, limits)).toEqual([1, null, null])
  })
})

describe('the memory of an evaluation', () => {
  const few: BudgetLimits = { ...limits, bytesHeldMax: 1024 * 1024 }
  const grown = (text: string): string => {
    try {
      return `no fault: ${run(text, few)}`
    } catch (fault) {
      return String((fault as { subject?: unknown }).subject)
    }
  }
  for (const text of [
    'UNWIND range(1, 5000) AS x RETURN size(collect(toString(x) + left(toString(x) + $t, 1000))) AS v',
    'UNWIND range(1, 5000) AS x WITH toString(x) + $t AS t ORDER BY t RETURN count(*) AS v',
    'UNWIND range(1, 5000) AS x WITH DISTINCT toString(x) + $t AS t RETURN count(*) AS v',
    'UNWIND range(1, 5000) AS x WITH toString(x) + $t AS t, count(*) AS c RETURN count(*) AS v',
    'UNWIND range(1, 5000) AS x RETURN count(DISTINCT toString(x) + $t) AS v',
    'RETURN size([x IN range(1, 5000) | toString(x) + $t]) AS v',
    'RETURN size(reduce(l = [], x IN range(1, 2000) | l + [toString(x) + $t])) AS v',
  ]) {
    test(`is limited: ${text}`, () => {
      const whole = text.replaceAll('$t', `'${'t'.repeat(1000)}'`)
      expect(grown(whole)).toBe('bytesHeldMax')
      expect(run(whole, limits)).toBeGreaterThan(0)
    })
  }

  test('is released by rows that a sort drops', () => {
    const text = `UNWIND range(1, 20000) AS x WITH toString(x) + '${'t'.repeat(100)}' AS t ORDER BY t LIMIT 10 RETURN count(*) AS v`
    expect(run(text, few)).toBe(10)
  })
})
