// Accepted and refused texts, from the tables in cases/.
import { expect, test } from 'vitest'
import { positionOf } from '../../../grammar/diagnostic.ts'
import { parse } from '../../../grammar/index.ts'
import { print } from '../../support/print-cypher.ts'
import { readCases } from './read-cases.ts'
import { bare, read } from './trees.ts'

for (const { line, text, answer } of readCases('accepted.case', '=')) {
  test(`accepted.case:${line} parses ${text}`, () => {
    const query = read(text)
    expect(print(query)).toBe(answer ?? text)
    expect(bare(read(print(query)))).toEqual(bare(query))
  })
}

for (const { line, text, answer } of readCases('refused.case', '!')) {
  test(`refused.case:${line} refuses ${text}`, () => {
    const result = parse(text)
    if (result.ok) throw new Error(`read as ${print(result.query)}`)
    expect(result.diagnostics).toHaveLength(1)
    const { code, message, span, found, expected } = result.diagnostics[0]!
    expect([found, expected]).not.toContain(undefined)
    expect(`${code} ${positionOf(text, span.start).column} ${message}`).toBe(answer)
    expect(span.end).toBeGreaterThanOrEqual(span.start)
    expect(span.end).toBeLessThanOrEqual(text.length)
  })
}
