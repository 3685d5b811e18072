// The shape of the syntax tree: the result of the important forms, and operator precedence.
import { expect, test } from 'vitest'
import type { Expression, MatchClause, PathPattern } from '../../../grammar/ast.ts'
import { bare, bareExpression, read, readExpression } from './trees.ts'

function firstPath(text: string): PathPattern {
  return (read(`MATCH ${text}`).parts[0]!.clauses[0] as MatchClause).patterns[0]!
}

test('a query keeps its parts, its clauses and every piece of a projection', () => {
  expect(
    bare(read('MATCH (n) WITH DISTINCT n.x AS x ORDER BY x DESC SKIP 1 LIMIT $l WHERE x RETURN *, x UNION RETURN 1')),
  ).toEqual({
    kind: 'query',
    input: null,
    unions: ['distinct'],
    parts: [
      {
        clauses: [
          {
            kind: 'match',
            optional: false,
            mode: null,
            where: null,
            patterns: [
              {
                kind: 'path',
                variable: null,
                shortest: null,
                selector: null,
                where: null,
                relationships: [],
                nodes: [{ kind: 'node', variable: { text: 'n' }, labels: null, properties: null, where: null }],
              },
            ],
          },
          {
            kind: 'with',
            keyword: 'WITH',
            distinct: true,
            star: false,
            items: [
              {
                expression: { kind: 'property', target: { kind: 'variable', name: 'n' }, key: { text: 'x' } },
                alias: { text: 'x' },
              },
            ],
            orderBy: [{ expression: { kind: 'variable', name: 'x' }, descending: true }],
            skip: { kind: 'integer', value: 1 },
            limit: { kind: 'parameter', name: 'l' },
            where: { kind: 'variable', name: 'x' },
          },
          {
            kind: 'return',
            distinct: false,
            star: true,
            items: [{ expression: { kind: 'variable', name: 'x' }, alias: null }],
            orderBy: [],
            skip: null,
            limit: null,
          },
        ],
      },
      {
        clauses: [
          {
            kind: 'return',
            distinct: false,
            star: false,
            items: [{ expression: { kind: 'integer', value: 1 }, alias: null }],
            orderBy: [],
            skip: null,
            limit: null,
          },
        ],
      },
    ],
  })
})

test('a relationship keeps its direction, types, hops, properties and condition', () => {
  const [out, back, both, arrows] = firstPath('()-[r:A|B*1..3 {x: 1} WHERE r.y]->()<--()--()<-->()').relationships
  expect(bare(out)).toEqual({
    kind: 'relationship',
    variable: { text: 'r' },
    direction: 'right',
    types: {
      kind: 'label-or',
      operands: [
        { kind: 'label', name: 'A' },
        { kind: 'label', name: 'B' },
      ],
    },
    range: { min: 1, max: 3, form: 'star' },
    properties: { kind: 'map', entries: [{ key: { text: 'x' }, value: { kind: 'integer', value: 1 } }] },
    where: { kind: 'property', target: { kind: 'variable', name: 'r' }, key: { text: 'y' } },
  })
  expect([back, both, arrows].map((r) => (r?.kind === 'relationship' ? r.direction : null))).toEqual([
    'left',
    'both',
    'both',
  ])
})

test.each([
  ['[*]', null, null],
  ['[*2]', 2, 2],
  ['[*..3]', null, 3],
  ['[*2..]', 2, null],
  ['[*0..0]', 0, 0],
])('inside the brackets, %s is the range %s to %s', (detail, min, max) => {
  expect(bare(firstPath(`()-${detail}->()`).relationships[0]!.range)).toEqual({ min, max, form: 'star' })
})

test.each([
  ['+', 1, null],
  ['*', 0, null],
  ['{2}', 2, 2],
  ['{2,3}', 2, 3],
  ['{2,}', 2, null],
  ['{,3}', 0, 3],
])('after the arrow, %s is the range %s to %s', (quantifier, min, max) => {
  expect(bare(firstPath(`()-->${quantifier}()`).relationships[0]!.range)).toEqual({ min, max, form: 'quantifier' })
})

test('labels bind ! before & before |, and `:` combines like &', () => {
  const label = (name: string) => ({ kind: 'label', name })
  const not = (operand: object) => ({ kind: 'label-not', operand })
  const and = (...operands: object[]) => ({ kind: 'label-and', operands })
  const or = (...operands: object[]) => ({ kind: 'label-or', operands })
  expect(bare(firstPath('(:A:B&!C|%)').nodes[0]!.labels)).toEqual(
    or(and(label('A'), label('B'), not(label('C'))), { kind: 'label-any' }),
  )
  expect(bare(firstPath('(:A&(B|C))').nodes[0]!.labels)).toEqual(and(label('A'), or(label('B'), label('C'))))
})

test('a shortest path is marked as such', () => {
  const path = firstPath('p = allShortestPaths((a)-[*]->(b))')
  expect(path.shortest).toBe('all')
  expect(path.variable?.text).toBe('p')
  expect(path.nodes).toHaveLength(2)
})

test.each([
  ['CALL { RETURN 1 }', null],
  ['CALL () { RETURN 1 }', []],
  ['CALL (*) { RETURN 1 }', '*'],
])('%s imports %s', (text, imports) => {
  const clause = read(text).parts[0]!.clauses[0]!
  expect(clause.kind === 'call' && clause.imports).toEqual(imports)
})

// ---------------------------------------------------------------- precedence

/** Every operation in parentheses. */
function shape(expression: Expression): string {
  switch (expression.kind) {
    case 'variable':
      return expression.name
    case 'integer':
      return String(expression.value)
    case 'binary':
      return `(${shape(expression.left)} ${expression.operator} ${shape(expression.right)})`
    case 'unary':
      return `(${expression.operator} ${shape(expression.operand)})`
    case 'comparison':
      return `(${shape(expression.first)}${expression.rest.map((r) => ` ${r.operator} ${shape(r.operand)}`).join('')})`
    case 'null-test':
      return `(${shape(expression.operand)} IS ${expression.negated ? 'NOT ' : ''}NULL)`
    case 'property':
      return `(${shape(expression.target)}.${expression.key.text})`
    case 'index':
      return `(${shape(expression.target)}[${shape(expression.index)}])`
    case 'label-test':
      return `(${shape(expression.target)}:${expression.labels.kind === 'label' ? expression.labels.name : '?'})`
    default:
      return expression.kind
  }
}

test.each([
  ['a OR b XOR c AND NOT d = e', '(a OR (b XOR (c AND (NOT (d = e)))))'],
  ['a AND b OR c', '((a AND b) OR c)'],
  ['a XOR b OR c XOR d', '((a XOR b) OR (c XOR d))'],
  ['NOT a AND b', '((NOT a) AND b)'],
  ['NOT NOT a = b', '(NOT (NOT (a = b)))'],
  ['a < b <= c <> d', '(a < b <= c <> d)'],
  ['a = b IN c', '(a = (b IN c))'],
  ['a IN b + c', '(a IN (b + c))'],
  ['a IN b IN c', '((a IN b) IN c)'],
  ['a = b IS NULL', '(a = (b IS NULL))'],
  ['a + b IS NOT NULL AND c', '(((a + b) IS NOT NULL) AND c)'],
  ['a STARTS WITH b + c = d', '((a STARTS WITH (b + c)) = d)'],
  ['a CONTAINS b ENDS WITH c =~ d', '(((a CONTAINS b) ENDS WITH c) =~ d)'],
  ['a + b * c - d', '((a + (b * c)) - d)'],
  ['a * b / c % d', '(((a * b) / c) % d)'],
  ['a * b ^ c ^ d', '(a * ((b ^ c) ^ d))'],
  ['-a ^ b', '((- a) ^ b)'],
  ['- 2 ^ 3', '(-2 ^ 3)'],
  ['a - -b', '(a - (- b))'],
  ['-a.b[c]', '(- ((a.b)[c]))'],
  ['-1[0]', '(- (1[0]))'],
  ['NOT a.b:C', '(NOT ((a.b):C))'],
  ['a:B = c:D', '((a:B) = (c:D))'],
])('%s binds as %s', (text, expected) => {
  expect(shape(readExpression(text))).toBe(expected)
})

// ---------------------------------------------------------------- a pattern or an expression

test.each([
  ['(a)-[:R]->(b)', 'pattern-predicate'],
  ['(a)--(b)', 'pattern-predicate'],
  ['(a)-[x]-(b)', 'pattern-predicate'],
  ['()<-[:R*2]-(:A {x: 1})', 'pattern-predicate'],
  ['(a)-->+(b)', 'pattern-predicate'],
  ['((a)-->(b))', 'pattern-predicate'],
  ['(a)', 'variable'],
  ['(a:A)', 'label-test'],
  ['(a)-1', 'binary'],
  ['(a)-[1]', 'binary'],
  ['(a)-[x]', 'binary'],
  ['(a.x)-(b.y)', 'binary'],
  ['(a)--(b.y)', 'binary'],
  ['(a)<-(b)', 'comparison'],
])('in a condition, %s is a %s', (text, kind) => {
  const clause = read(`MATCH (n) WHERE ${text}`).parts[0]!.clauses[0] as MatchClause
  expect(clause.where?.kind).toBe(kind)
})

test('the bar of a comprehension ends its condition, but the bar of labels does not', () => {
  expect(bareExpression('[x IN xs WHERE x:A | x]')).toMatchObject({
    where: { kind: 'label-test', labels: { kind: 'label', name: 'A' } },
    projection: { kind: 'variable', name: 'x' },
  })
  expect(bareExpression('[x IN xs WHERE x:(A|B)]')).toMatchObject({
    where: { labels: { kind: 'label-or' } },
    projection: null,
  })
  expect(bareExpression('[(a)-[:IN|OF]->(b) | b]')).toMatchObject({
    pattern: { relationships: [{ types: { kind: 'label-or' } }] },
  })
  // After the bar of the comprehension, another one is of labels or types.
  expect(bareExpression('[x IN xs | CASE WHEN x:A|B THEN 1 END]')).toMatchObject({
    projection: { kind: 'case', branches: [{ when: [{ kind: 'label-test', labels: { kind: 'label-or' } }] }] },
  })
  expect(bareExpression('[x IN xs WHERE x:A | x IS :: INTEGER | FLOAT]')).toMatchObject({
    where: { labels: { kind: 'label' } },
    projection: { kind: 'value-test' },
  })
})

// ---------------------------------------------------------------- literals and places

test.each([
  ['-9223372036854775808', -(2n ** 63n)],
  ['9223372036854775807', 2n ** 63n - 1n],
  ['9007199254740991', 9007199254740991],
  ['9007199254740992', 9007199254740992n],
  ['-9007199254740991', -9007199254740991],
  ['0x7FFFFFFFFFFFFFFF', 2n ** 63n - 1n],
  ['-0o1000000000000000000000', -(2n ** 63n)],
  ['0x000000000000000000000000001', 1],
  ['-0', 0],
])('the integer %s is %s', (text, value) => {
  const literal = readExpression(text)
  expect(literal.kind === 'integer' && literal.value).toBe(value)
})

test.each([
  ['-0.0', -0],
  ['.5', 0.5],
  ['1e9', 1e9],
  ['1.5E-3', 0.0015],
])('the float %s is %s', (text, value) => {
  const literal = readExpression(text)
  expect(literal.kind === 'float' && literal.value).toBe(value)
})

test('strings are parsed with their escapes, including surrogate pairs', () => {
  const literal = readExpression(String.raw`'\\ \' \" \b\f\n\r\t \u00e9 \uD83D\uDE00 \U0001F600'`)
  expect(literal.kind === 'string' && literal.value).toBe('\\ \' " \b\f\n\r\t é 😀 😀')
})

test('the text of a projected expression is the original text, including parentheses and comments', () => {
  const clause = read('RETURN  ( n . x+1 ) /* c */ * 2  AS y, count( * )').parts[0]!.clauses[0]!
  expect(clause.kind === 'return' && clause.items.map((item) => item.text)).toEqual([
    '( n . x+1 ) /* c */ * 2',
    'count( * )',
  ])
})

test('spans cover the text of a node', () => {
  const text = 'MATCH (n:A)-[r]->(m) WHERE n.x = -1 AND f.g(m) RETURN n'
  const at = (span: { start: number; end: number }) => text.slice(span.start, span.end)
  const [match, result] = read(text).parts[0]!.clauses as [MatchClause, { span: { start: number; end: number } }]
  expect(at(match.span)).toBe('MATCH (n:A)-[r]->(m) WHERE n.x = -1 AND f.g(m)')
  expect(at(result.span)).toBe('RETURN n')
  expect(at(match.patterns[0]!.nodes[0]!.span)).toBe('(n:A)')
  expect(at(match.patterns[0]!.nodes[0]!.variable!.span)).toBe('n')
  expect(at(match.patterns[0]!.relationships[0]!.span)).toBe('-[r]->')
  const condition = match.where
  if (condition?.kind !== 'binary' || condition.right.kind !== 'function') throw new Error('not an AND of a call')
  expect(at(condition.left.span)).toBe('n.x = -1')
  expect(at(condition.right.name.span)).toBe('f.g')
})
