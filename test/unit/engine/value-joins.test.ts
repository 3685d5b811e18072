// The judgement about a large condition ends: it is not read to its end, and then nothing is reported.
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
  expect(isTied(`${start} ${steps} WHERE a60`)).toBe(true)
  const elements = Array.from({ length: 2000 }, (_, i) => `(x${i})--(x${i + 1})`).join(', ')
  expect(isTied(`MATCH (subject), ${elements}`)).toBe(true)
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
