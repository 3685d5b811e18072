// Completion in the patterns and clauses of GQL. `@` marks the place.
import { describe, expect, test } from 'vitest'
import { type CompletionKind, completionsAt, insertedText } from '../../../src/language/server/complete.ts'
import { exampleNames } from '../../support/lint-names.ts'

function completed(text: string, kind: CompletionKind): string[] {
  const found = completionsAt(text.replace('@', ''), text.indexOf('@'), exampleNames)
  return found.filter((one) => one.kind === kind).map((one) => one.text)
}

function kinds(text: string): CompletionKind[] {
  const found = completionsAt(text.replace('@', ''), text.indexOf('@'), exampleNames)
  return [...new Set(found.map(({ kind }) => kind))]
}

describe('within quantified patterns', () => {
  test.each([
    ['MATCH (subject) ((a:@', 'label', 'Team'],
    ['MATCH (subject) ((a)-[:@', 'relationship-type', 'MEMBER'],
    ['MATCH (subject) ((a)-[:OWNS|@', 'relationship-type', 'MEMBER'],
    ['MATCH (subject) ((a)-[r:OWNS WHERE r.@', 'property', 'wheels'],
    ['MATCH (subject) ((a)-[:OWNS]->(b) WHERE @', 'variable', 'b'],
    ['MATCH (subject)-[:OWNS]->{1,3}(resource:@', 'label', 'Car'],
    ['MATCH (subject) ((a {@', 'property', 'age'],
    ['MATCH SHORTEST 1 (subject)-[:@', 'relationship-type', 'OWNS'],
    ['MATCH (subject:Person&!@', 'label', 'Fast'],
  ] as const)('%s offers a %s', (text, kind, expected) => {
    expect(completed(text, kind)).toContain(expected)
    expect(kinds(text)).toEqual(kind === 'variable' ? ['variable', 'keyword', 'function'] : [kind])
  })

  test.each(['MATCH (a)-[:OWNS]->{@', 'MATCH (a)-[:OWNS]->{1,@', 'MATCH (a)-[:OWNS]-{@', 'MATCH ((a)-[:OWNS]->(b)){@'])(
    '%s offers nothing: a number follows',
    (text) => expect(kinds(text)).toEqual([]),
  )
})

describe('within clauses of Cypher 25', () => {
  test.each([
    ['{ @', 'MATCH'],
    ['MATCH (a) RETURN a NEXT @', 'WHEN'],
    ['MATCH (a) RETURN a NEXT { @', 'MATCH'],
    ['WHEN true THEN { @', 'MATCH'],
    ['WHEN true THEN { RETURN 1 AS x } ELSE { @', 'RETURN'],
    ['RETURN 1 AS x UNION ALL { @', 'RETURN'],
    ['MATCH (a) CALL (*) { @', 'WHEN'],
    ['MATCH (a) CALL (a) { @', 'MATCH'],
    ['MATCH (a) WHERE EXISTS { @', 'MATCH'],
  ])('%s offers clauses', (text, clause) => {
    expect(completed(text, 'keyword')).toContain(clause)
    expect(kinds(text)).toEqual(['variable', 'keyword', 'function'])
  })

  test('variables of LET and FOR are offered', () => {
    expect(completed('FOR x IN [1] LET y = 2 FILTER @', 'variable')).toEqual(expect.arrayContaining(['x', 'y']))
  })

  test.each([
    'MATCH (a) WHERE a.age IS :: @',
    'MATCH (a) WHERE a.age IS NOT ::@',
    'MATCH (a) WHERE a.age IS TYPED @',
    'MATCH (a) WHERE a.age :: INTEGER | @',
    'MATCH (a) WHERE a.age :: INTEGER NOT NULL | @',
    'MATCH (a) WHERE a.age :: LIST<@',
  ])('%s offers types', (text) => {
    expect(kinds(text)).toEqual(['keyword'])
    expect(completed(text, 'keyword')).toEqual(expect.arrayContaining(['INTEGER', 'ZONED DATETIME']))
  })

  test('a label follows one colon, and a property a map', () => {
    expect(kinds('MATCH (a) WHERE a:@')).toEqual(['label'])
    expect(kinds('MATCH (a:Person|@')).toEqual(['label'])
    expect(kinds('MATCH (a) RETURN a {@')).toEqual(['property'])
  })

  test('after IS, a label or the words of a test follow', () => {
    expect(kinds('MATCH (a IS @')).toEqual(['keyword', 'label'])
    expect(completed('MATCH (a) WHERE a IS @', 'label')).toContain('Person')
    expect(completed('MATCH (a) WHERE a IS @', 'keyword')).toEqual(['NULL', 'NOT', 'TYPED', 'NORMALIZED'])
    expect(completed('MATCH (a)-[r IS @', 'relationship-type')).toContain('OWNS')
    expect(kinds('MATCH (a) WHERE a IS NOT @')).not.toContain('label')
  })
})

test('names of data are inserted in backticks where they need them, and parameters as the text has them', () => {
  const inserted = (text: string) => completionsAt(text, text.length, names).map(insertedText)
  const names = { label: new Set(['Doc', 'tenant/doc']), type: new Set(['part-of']), property: new Set(['first name']) }
  expect(inserted('MATCH (a:')).toEqual(['Doc', '`tenant/doc`'])
  expect(inserted('MATCH (a)-[:')).toEqual(['`part-of`'])
  expect(inserted('MATCH (a) WHERE a.')).toContain('`first name`')
  expect(inserted('MATCH (a) WHERE a.x = $`first name` AND a.y = $हिन्दी AND a.z = $')).toEqual(
    expect.arrayContaining(['$`first name`', '$हिन्दी']),
  )
})
