import { describe, expect, it } from 'vitest'
import { nearestName } from '../../../../grammar/suggest.ts'
import { bindText, refusalsOf, type Surroundings } from '../../../support/evaluate-expression.ts'

const graph: Surroundings = {
  variables: {
    n: { kind: 'node', holds: 0 },
    r: { kind: 'relationship', holds: 0 },
    rs: { kind: 'relationships', holds: null },
    p: { kind: 'path', holds: null },
    value: { kind: 'value', holds: null },
  },
}

describe('a text is refused for', () => {
  const table: [string, string, Surroundings?][] = [
    ['vlaue', 'UndefinedVariable'],
    ['[x IN [1] | x] + x', 'UndefinedVariable'],
    ['foo(1)', 'UnknownFunction'],
    ['toUpper()', 'InvalidNumberOfArguments'],
    ['coalesce()', 'InvalidNumberOfArguments'],
    ['substring(1, 2, 3, 4)', 'InvalidNumberOfArguments'],
    ['123 AND true', 'InvalidArgumentType'],
    ['NOT 1.5', 'InvalidArgumentType'],
    ["'a' XOR null", 'InvalidArgumentType'],
    ['n AND true', 'InvalidArgumentType'],
    ['p.name', 'InvalidArgumentType'],
    ['rs.name', 'InvalidArgumentType'],
    ["'text'.name", 'InvalidArgumentType'],
    ['1 IN 2', 'InvalidArgumentType'],
    ["1 - 'a'", 'InvalidArgumentType'],
    ['true + 1', 'InvalidArgumentType'],
    ['-true', 'InvalidArgumentType'],
    ['size(p)', 'InvalidArgumentType'],
    ['length(r)', 'InvalidArgumentType'],
    ['labels(p)', 'InvalidArgumentType'],
    ['type(n)', 'InvalidArgumentType'],
    ["properties('Cypher')", 'InvalidArgumentType'],
    ["none(x IN ['Clara'] WHERE x % 2 = 0)", 'InvalidArgumentType'],
    ['any(x IN [false, true] WHERE x % 2 = 0)', 'InvalidArgumentType'],
    ['[x IN 5 | x]', 'InvalidArgumentType'],
    ['CASE WHEN 1 THEN 2 END', 'InvalidArgumentType'],
    ['1', 'InvalidArgumentType', { place: 'condition' }],
    ['n', 'InvalidArgumentType', { place: 'condition' }],
    ['count(n)', 'InvalidAggregation'],
    ['[x IN [1] | count(x)]', 'InvalidAggregation', { aggregating: true }],
    ['count(count(*))', 'NestedAggregation', { aggregating: true }],
    ['sum(1 + max(value))', 'NestedAggregation', { aggregating: true }],
    ['count(rand())', 'NonConstantExpression', { aggregating: true }],
    ['percentileCont(value)', 'InvalidNumberOfArguments', { aggregating: true }],
    ["value =~ '('", 'InvalidRegularExpression'],
    ["value =~ '(?=x)'", 'InvalidRegularExpression'],
    ['toUpper(DISTINCT value)', 'UnexpectedSyntax'],
    ['exists(value)', 'InvalidArgumentType'],
    ['p {.x}', 'InvalidArgumentType'],
    ['`map projection`(n, {}, true)', 'UnknownFunction'],
  ]
  for (const [text, code, around] of table) {
    it(`${text}: ${code}`, () => expect(refusalsOf(text, { ...graph, ...around })).toEqual([code]))
  }

  it('every error of the text, not only the first', () => {
    expect(refusalsOf('a + foo(b) + (1 AND true)')).toEqual([
      'UndefinedVariable',
      'UnknownFunction',
      'InvalidArgumentType',
    ])
  })

  it('a depth that would overflow the stack of a later pass', () => {
    expect(refusalsOf(Array(499).fill('1').join(' + '))).toEqual([])
    expect(refusalsOf(Array(700).fill('1').join(' + '))).toContain('NestingTooDeep')
  })

  it('reports the position and a suggestion', () => {
    const [issue] = bindText('1 + vlaue.x', graph).issues
    expect(issue).toEqual({
      code: 'UndefinedVariable',
      message: 'variable `vlaue` is not defined; did you mean `value`?',
      // After `RETURN 1 + `.
      span: { start: 11, end: 16 },
    })
    expect(bindText('toUper(value)', graph).issues[0]?.message).toBe(
      'unknown function `toUper`; did you mean `toUpper`?',
    )
  })
})

describe('expressions of unknown type are accepted', () => {
  for (const text of [
    'value AND true',
    'value.x.y',
    '$p AND $q',
    'null AND true',
    'null.x',
    'null + 1',
    "[x IN [1, 'a'] WHERE x % 2 = 0]",
    'value[0].name',
    "1 STARTS WITH 'a'",
    'CASE WHEN value THEN 1 END',
  ]) {
    it(text, () => expect(refusalsOf(text, graph)).toEqual([]))
  }
})

describe('properties of elements', () => {
  it('own fields of a node take precedence over captured properties', () => {
    expect(bindText('n.external_id', graph).bound).toMatchObject({ kind: 'element-property', own: 'external_id' })
    expect(bindText('n.name', graph).bound).toMatchObject({ kind: 'element-property', key: 'name', own: null })
  })
  it('`.property.` reaches the captured property of any name', () => {
    expect(bindText('n.property.external_id', graph).bound).toMatchObject({
      kind: 'element-property',
      key: 'external_id',
      own: null,
    })
    expect(bindText('n.property', graph).bound).toMatchObject({ kind: 'element-properties' })
    expect(bindText('properties(n)', graph).bound).toMatchObject({ kind: 'element-properties' })
  })
  it('a relationship has only captured properties', () => {
    expect(bindText('r.type', graph).bound).toMatchObject({ kind: 'element-property', key: 'type', own: null })
    expect(bindText('r.property.type', graph).bound).toMatchObject({ kind: 'element-property', key: 'type', own: null })
  })
})

describe('bound forms', () => {
  it('parameters keep their dotted path, and are reported to the scope', () => {
    const { bound, parameters } = bindText('$token.act.sub = $x')
    expect(bound).toMatchObject({ left: { kind: 'parameter', name: 'token', path: ['act', 'sub'] } })
    expect(parameters).toEqual(['token', 'x'])
  })
  it('AND and OR are flat, and a chain of comparisons is an AND', () => {
    const { bound } = bindText('$a AND ($b AND $c) AND 1 < $d < 3')
    expect(bound.kind === 'and' && bound.operands.map((operand) => operand.kind)).toEqual([
      'parameter',
      'parameter',
      'parameter',
      'comparison',
      'comparison',
    ])
  })
  it('literals of literals are constants', () => {
    expect(bindText('[1, -2, {a: [3]}]').bound).toEqual({ kind: 'constant', value: [1, -2, new Map([['a', [3]]])] })
  })
  it('aggregates are added to the scope and leave a slot', () => {
    const { bound, aggregates } = bindText('1 + COUNT(DISTINCT n) + percentileCONT(value, 0.5) + count(*)', {
      ...graph,
      aggregating: true,
    })
    expect(aggregates).toMatchObject([
      { name: 'count', distinct: true, argument: { kind: 'slot' }, parameter: null },
      { name: 'percentileCont', distinct: false, argument: { kind: 'slot' }, parameter: { kind: 'constant' } },
      { name: 'count', distinct: false, argument: null, parameter: null },
    ])
    expect(bound.kind).toBe('binary')
  })
  it('a pattern is allowed as a condition, and EXISTS as a value', () => {
    expect(refusalsOf('(n)-->() AND NOT (n)--()', { ...graph, place: 'condition' })).toEqual([])
    expect(refusalsOf('exists((n)-->())', { ...graph, place: 'column' })).toEqual([])
    expect(refusalsOf('EXISTS { (n)-->() }', { ...graph, place: 'column' })).toEqual([])
  })
})

it('suggests only similar names', () => {
  expect(nearestName('tolowr', ['toLower', 'toUpper'])).toBe('toLower')
  expect(nearestName('x', ['subject', 'resource'])).toBe(null)
  expect(nearestName('subjct', ['subject', 'resource'])).toBe('subject')
})
