// The last lines of a judged run: `.ci/run` reads them, and a log that was cut to them names the failures.
import { expect, test } from 'vitest'
import { findingOf, JudgeFindings } from './findings.ts'
import { BeyondLimits, differenceOf, type JudgedOutcome, type JudgedQuery } from './judged-outcome.ts'

const queryOf = (text: string): JudgedQuery => ({ text, parameters: new Map(), orderedBy: [], bags: [] })
const one = queryOf('RETURN 1\nAS x')
const rows = (...cells: bigint[]): JudgedOutcome => ({ error: null, columns: ['x'], rows: cells.map((cell) => [cell]) })
const refused: JudgedOutcome = { error: { phase: 'run', kind: 'type', message: 'no' } }

function counted(ours: JudgedOutcome, theirs: JudgedOutcome, found: JudgeFindings): boolean {
  const difference = differenceOf(one, ours, theirs)
  const verdict = found.count('generated, seed 7', one, { ours, theirs, difference, known: null })
  if (verdict !== null) found.differences.push(findingOf('generated, seed 7', one.text, verdict.difference!))
  return verdict === null
}

test('equal answers and errors are counted, and the last line is a sum', () => {
  const found = new JudgeFindings()
  expect(counted(rows(1n), rows(1n), found)).toBe(true)
  expect(counted(rows(), rows(), found)).toBe(true)
  expect(counted(refused, refused, found)).toBe(true)
  expect([found.equal, found.withRows, found.withErrors, found.judged]).toEqual([3, 1, 1, 3])
  expect(found.lastLines()).toEqual(['3 passed, 0 failed'])
})

test('a difference is named with its query, its seed and both answers, also in the last line', () => {
  const found = new JudgeFindings()
  expect(counted(rows(1n), rows(2n), found)).toBe(false)
  const line = 'generated, seed 7: RETURN 1 AS x => Verdigraph: 1 rows [x] (1); Neo4j: 1 rows [x] (2)'
  expect(found.lastLines()).toEqual([`failed: ${line}`, `0 passed, 1 failed (${line})`])
})

test('a long query and long answers are cut', () => {
  const found = new JudgeFindings()
  found.differences.push(
    findingOf('tck, a', `RETURN ${'1 + '.repeat(1000)}1`, `Verdigraph: ${'a'.repeat(999)}; Neo4j: no`),
  )
  const last = found.lastLines().at(-1)!
  expect(last.length).toBeLessThan(1000)
  expect(last).toMatch(/^0 passed, 1 failed \(tck, a: RETURN 1 \+ .* … => Verdigraph: a+ …; Neo4j: no\)$/)
})

test('a time-out is no difference, and is listed', () => {
  const found = new JudgeFindings()
  for (let count = 0; count < 99; count++) counted(rows(1n), rows(1n), found)
  expect(found.count('tck, b', one, new BeyondLimits('timed out', 'Neo4j: late'))).toBeNull()
  expect(found.failed).toBe(0)
  expect(found.lastLines()).toEqual([
    'timed out (not judged): tck, b: RETURN 1 AS x => Neo4j: late',
    '99 passed, 0 failed',
  ])
})

test('too many time-outs are a failure: nothing was judged', () => {
  const found = new JudgeFindings()
  for (let count = 0; count < 10; count++) {
    counted(rows(1n), rows(1n), found)
    found.count('tck, c', one, new BeyondLimits('timed out', 'Neo4j: late'))
  }
  expect(found.failed).toBe(1)
  expect(found.lastLines().at(-1)).toBe(
    '10 passed, 1 failed (10 of 20 queries timed out on both tries: too many to judge)',
  )
})

test('findings of several suites are added', () => {
  const [all, more] = [new JudgeFindings(), new JudgeFindings()]
  counted(rows(1n), rows(1n), all)
  counted(rows(1n), rows(2n), more)
  more.count('a', one, new BeyondLimits('too large', 'steps'))
  all.add(more)
  expect([all.equal, all.failed, all.tooLarge, all.judged]).toEqual([1, 1, 1, 3])
})
