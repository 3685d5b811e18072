// How a syntax error is shown, and the limits that keep every text harmless.
import { expect, test } from 'vitest'
import { type Diagnostic, renderDiagnostic } from '../../../grammar/diagnostic.ts'
import { maxTextLength, parse } from '../../../grammar/index.ts'
import { maxNesting } from '../../../grammar/rules/rule-base.ts'
import { maxTreeDepth } from '../../../grammar/tree-depth.ts'

function refusal(text: string): Diagnostic {
  const result = parse(text)
  if (result.ok) throw new Error(`not refused: ${text.slice(0, 80)}`)
  return result.diagnostics[0]!
}

test('a diagnostic is rendered with its line, column and a caret under the words', () => {
  const text = 'MATCH (n)\nWERE n.x = 1\nRETURN n'
  expect(renderDiagnostic(text, refusal(text))).toBe(
    [
      'line 2, column 1: unexpected `WERE`, expected an operator, a clause or the end of the query; did you mean `WHERE`?',
      'WERE n.x = 1',
      '^^^^',
    ].join('\n'),
  )
})

test('a text that ends too early is marked at its end', () => {
  const text = 'MATCH (n) WHERE n.x =  \n'
  expect(renderDiagnostic(text, refusal(text))).toBe(
    [
      'line 1, column 22: unexpected end of the query, expected an expression',
      'MATCH (n) WHERE n.x =  ',
      `${' '.repeat(21)}^`,
    ].join('\n'),
  )
})

test('a diagnostic separates the found and the expected token', () => {
  expect(refusal('RETURN [1 2]')).toEqual({
    code: 'UnexpectedSyntax',
    message: 'unexpected `2`, expected `,` or `]`',
    span: { start: 10, end: 11 },
    found: '`2`',
    expected: '`,` or `]`',
  })
})

test('after a syntax error the parser accepts the next text', () => {
  refusal('RETURN ((((1')
  refusal(`RETURN ${'('.repeat(500)}`)
  refusal("RETURN -'\\q'")
  expect(parse('RETURN (1)').ok).toBe(true)
})

// ---------------------------------------------------------------- depth and size

const nests: [string, string, string][] = [
  ['parentheses', '(', ')'],
  ['lists', '[', ']'],
  ['maps', '{a: ', '}'],
  ['calls', 'f(', ')'],
  ['indexes', 'a[', ']'],
  ['signs', '-(', ')'],
  ['negations', 'NOT (', ')'],
  ['CASE', 'CASE WHEN true THEN ', ' END'],
  ['quantifiers', 'any(x IN xs WHERE ', ')'],
  ['list comprehensions', '[x IN ', ' | 1]'],
  ['pattern comprehensions', '[(a)-->(b) WHERE ', ' | 1]'],
  ['inline conditions', '[(a WHERE ', ')-->(b) | 1]'],
  ['exists', 'exists { (a) WHERE ', ' }'],
]

test.each(nests)('%s may be nested at least 40 deep, and are refused beyond the limit', (_name, open, close) => {
  const nested = (depth: number) => `RETURN ${open.repeat(depth)}1${close.repeat(depth)}`
  expect(parse(nested(40)).ok).toBe(true)
  expect(parse(nested(maxNesting - 5)).ok).toBe(true)
  expect(refusal(nested(maxNesting + 1)).code).toBe('NestingTooDeep')
  expect(refusal(nested(10_000)).code).toBe('NestingTooDeep')
})

test('the error points at the limit, even if the text ends there', () => {
  const text = `RETURN ${'('.repeat(maxNesting - 1)}`
  expect(refusal(text)).toMatchObject({ code: 'NestingTooDeep', span: { start: text.length, end: text.length } })
  expect(refusal(`${text}1`)).toMatchObject({ span: { start: text.length, end: text.length + 1 } })
})

test.each([
  ['subqueries', 'CALL { '.repeat(500)],
  ['counted subqueries', `RETURN ${'count { MATCH (a) WHERE '.repeat(500)}`],
  ['parentheses around paths', `MATCH ${'('.repeat(500)}`],
  ['parentheses around labels', `MATCH (a:${'('.repeat(500)}`],
  ['unclosed CASE', `RETURN ${'CASE '.repeat(500)}`],
])('%s are refused beyond the limit', (_name, open) => {
  expect(refusal(open).code).toBe('NestingTooDeep')
})

test.each([
  ['sums', `1${' + 1'.repeat(maxTreeDepth)}`],
  ['alternatives', `a${' OR a'.repeat(maxTreeDepth)}`],
  ['negations', `${'NOT '.repeat(maxTreeDepth)}a`],
  ['signs', `${'- '.repeat(maxTreeDepth)}a`],
  ['properties', `a${'.a'.repeat(maxTreeDepth)}`],
])('a chain of %s is a tree of the same depth, and is refused beyond the limit', (_name, text) => {
  expect(refusal(`RETURN ${text}`).code).toBe('NestingTooDeep')
})

test('a long text without depth is parsed', () => {
  expect(parse(`RETURN [${'1, '.repeat(20_000)}1]`).ok).toBe(true)
  expect(parse(`MATCH (a)${'-->(a)'.repeat(5_000)}`).ok).toBe(true)
  expect(parse(`RETURN 1 < ${'2 < '.repeat(5_000)} 3`).ok).toBe(true)
})

test('a text beyond the length limit is refused without parsing', () => {
  expect(parse(`RETURN '${'a'.repeat(maxTextLength - 9)}'`).ok).toBe(true)
  expect(refusal(`RETURN '${'a'.repeat(maxTextLength)}'`)).toMatchObject({ code: 'TextTooLong' })
})

// Each of these would take minutes with a lexer or a lookahead that restarts at every character or bracket.
test.each([
  ['open strings', "'\\'"],
  ['open names', '`` `'],
  ['open comments', '/*'],
  ['dashes between nodes', '(a)-'],
  ['mixed brackets', '([)]'],
  ['dots', 'a.'],
  ['parameters in back-ticks', '$`a'],
  ['unknown signs', '#'],
])('unclosed %s are refused quickly', (_name, piece) => {
  expect(parse(`RETURN ${piece.repeat(200_000 / piece.length)}`).ok).toBe(false)
})
