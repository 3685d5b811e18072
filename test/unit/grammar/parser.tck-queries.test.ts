// The queries of the openCypher suite: queries with rows are parsed, syntax errors are refused with the detail of the
// suite, and every tree prints to a text with the same tree.
import { expect, test } from 'vitest'
import { parse } from '../../../grammar/index.ts'
import { print } from '../../support/print-cypher.ts'
import { readSuite, suitePresent } from '../../tck/suite-queries.ts'
import { bare } from './trees.ts'

const missing = suitePresent ? '' : ' (skipped: no suite next to the checkout)'
const suite = readSuite()

/** Details that the text alone determines; all others belong to the binder. */
const syntaxDetails = new Set([
  'UnexpectedSyntax',
  'InvalidNumberLiteral',
  'IntegerOverflow',
  'FloatingPointOverflow',
  'InvalidUnicodeLiteral',
  'InvalidUnicodeCharacter',
  'InvalidRelationshipPattern',
])

test.skipIf(!suitePresent)(`every query that expects rows is parsed${missing}`, () => {
  const refused = suite.flatMap(({ id, query, expect: { kind } }) => {
    const result = parse(query)
    return kind === 'error' || result.ok ? [] : [`${id}: ${result.diagnostics[0]!.message}`]
  })
  expect(suite.length).toBeGreaterThan(1_000)
  expect(refused).toEqual([])
})

test.skipIf(!suitePresent)(
  `every syntax error is refused here, and other errors are left to the binder${missing}`,
  () => {
    const errors = suite.filter(({ expect: { kind } }) => kind === 'error')
    const wrong = errors.flatMap(({ id, query, expect: { detail = '' } }) => {
      const result = parse(query)
      const code = result.ok ? 'read' : result.diagnostics[0]!.code
      return code === (syntaxDetails.has(detail) ? detail : 'read') ? [] : [`${id}: ${detail}, but ${code}`]
    })
    expect(errors.length).toBeGreaterThan(100)
    expect(wrong).toEqual([])
  },
)

test.skipIf(!suitePresent)(`every query prints to a text with the same tree${missing}`, () => {
  let printed = 0
  for (const { query } of suite) {
    const first = parse(query)
    if (!first.ok) continue
    const text = print(first.query)
    const second = parse(text)
    if (!second.ok) throw new Error(`${query}\nprints as\n${text}\n${second.diagnostics[0]!.message}`)
    expect(bare(second.query), text).toEqual(bare(first.query))
    printed++
  }
  expect(printed).toBeGreaterThan(1_000)
})
