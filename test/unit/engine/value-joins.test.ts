// The judgement about a large condition ends: it is not read to its end, and then counts as one that joins nothing.
import { expect, test } from 'vitest'
import { parse } from '../../../grammar/index.ts'
import { joinsParameter } from '../../../src/engine/value-joins.ts'

function isTied(text: string): boolean {
  expect(parse(text).ok).toBe(true)
  return joinsParameter(text, null, 'subject', new Set(['token']))
}

test('an alias that each step uses twice, and thousands of elements, are not followed to the end', () => {
  const start = "MATCH (subject:Person) WITH subject, subject.app = 'a' AS a0"
  const steps = Array.from({ length: 60 }, (_, i) => `WITH subject, a${i} AND a${i} AS a${i + 1}`).join(' ')
  expect(isTied(`${start} WHERE a0`)).toBe(false)
  expect(isTied(`${start} ${steps} WHERE a60 AND subject.id = $token.sub`)).toBe(false)
  const elements = Array.from({ length: 2000 }, (_, i) => `(x${i})--(x${i + 1})`).join(', ')
  expect(isTied(`MATCH (subject {id: $token.sub}), ${elements}`)).toBe(false)
})

test('optional patterns that each repeat the ones before are read once', () => {
  const steps = Array.from({ length: 40 }, (_, i) => `OPTIONAL MATCH (x${i})-[:A]->(x${i + 1}) WHERE x${i}.a < x${i}.b`)
  const text = `MATCH (subject:Person) OPTIONAL MATCH (subject)-[:A]->(x0) ${steps.join(' ')} WITH * WHERE x40.a > x40.b`
  expect(isTied(text)).toBe(false)
  expect(isTied(`${text} AND subject.id = $token.sub`)).toBe(true)
})

test.each([
  'subject.id IN $users + [$token.sub]',
  'any(x IN [$token.sub, $user] WHERE x = subject.id)',
  'subject.id = coalesce($token.email, $user)',
  'subject.id = CASE WHEN $token.admin THEN $user ELSE $token.sub END',
])('a value that the caller may choose instead joins nothing: %s', (condition) => {
  expect(isTied(`MATCH (subject) WHERE ${condition}`)).toBe(false)
})

test('an alternative counts what a later pattern joins', () => {
  const either = 'WHERE a.id = $token.sub OR subject.id = $token.sub'
  expect(isTied(`MATCH (subject), (a) ${either}`)).toBe(false)
  expect(isTied(`MATCH (subject), (a) ${either} MATCH (subject)-[:KNOWS]->(a)`)).toBe(true)
})

test('each part of UNION must join the variable', () => {
  const part = (id: string): string => `MATCH (subject {id: ${id}}) RETURN subject`
  expect(isTied(`${part('$token.sub')} UNION ${part('$token.act')}`)).toBe(true)
  expect(isTied(`${part('$token.sub')} UNION ${part("'root'")}`)).toBe(false)
})

test('CALL joins what its query joins, unless it is optional', () => {
  const call = 'CALL (subject) { MATCH (subject)-[:KNOWS]->(x {id: $token.sub}) RETURN x }'
  expect(isTied(`MATCH (subject) ${call}`)).toBe(true)
  expect(isTied(`MATCH (subject) OPTIONAL ${call}`)).toBe(false)
  expect(isTied(`MATCH (subject) OPTIONAL ${call} WITH * WHERE x IS NOT NULL`)).toBe(true)
})
