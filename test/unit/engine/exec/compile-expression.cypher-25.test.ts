// Expressions of Cypher 5 and Cypher 25 that openCypher lacks: their values, and how wrong texts are refused.
import { describe, expect, it } from 'vitest'
import { renderDiagnostic } from '../../../../grammar/diagnostic.ts'
import { compileCondition } from '../../../../src/engine/conditions.ts'
import { ExecutionError } from '../../../../src/engine/errors.ts'
import { compileRowsQuery } from '../../../../src/engine/rows-query.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { Float } from '../../../../src/kernel/float.ts'
import { formatCypher } from '../../../../src/language/format/format-cypher.ts'
import { evaluate } from '../../../support/evaluate-expression.ts'

const f = (value: number): Float => new Float(value)

const values: readonly (readonly [text: string, value: Value])[] = [
  ["'a' || 'b' || 'c'", 'abc'],
  ['[1] || [2, 3]', [1, 2, 3]],
  ["null || 'a'", null],
  ["'a' || 'b' = 'ab'", true],
  ['1 IS :: INTEGER', true],
  ['1.0 IS :: INTEGER', false],
  ['1 IS NOT :: INTEGER', false],
  ['1 :: FLOAT', false],
  ['1 IS TYPED SIGNED INTEGER', true],
  ['1 IS NOT TYPED STRING', true],
  ['null IS :: INTEGER', true],
  ['null IS :: INTEGER NOT NULL', false],
  ['null IS :: INTEGER!', false],
  ['null IS :: NULL', true],
  ['null IS :: NOTHING', false],
  ['1 IS :: INTEGER | STRING', true],
  ['1 IS :: ANY<BOOL | STRING>', false],
  ['null IS :: INTEGER NOT NULL | STRING NOT NULL', false],
  ['null IS :: NOTHING | INTEGER NOT NULL', false],
  ['[1, null] IS :: LIST<INTEGER>', true],
  ['[1, null] IS :: LIST<INTEGER NOT NULL>', false],
  ['[] IS :: LIST<NOTHING>', true],
  ["[[1], ['a']] IS :: LIST<LIST<INTEGER | STRING>>", true],
  ['[1] IS :: INTEGER LIST NOT NULL', true],
  ['[1, 2] IS :: PROPERTY VALUE', true],
  ["[1, 'a'] IS :: PROPERTY VALUE", false],
  ['{} IS :: MAP', true],
  ["localtime('12:00') IS :: TIME WITHOUT TIME ZONE", true],
  ["datetime('2026-01-01T00:00Z') IS :: TIMESTAMP WITH TIMEZONE", true],
  ["duration('P1D') IS :: DURATION AND date('2026-01-01') IS :: DATE", true],
  ["[x IN [1, 'a'] WHERE x IS :: INTEGER | x]", [1]],
  ["'\\u00c5' IS NORMALIZED", true],
  ["'\\u00c5' IS NFD NORMALIZED", false],
  ["'\\u00c5' IS NOT NFKD NORMALIZED", true],
  ['1 IS NORMALIZED', null],
  ["split('aXbYc', ['X', 'Y'])", ['a', 'b', 'c']],
  ["split('xaby', ['b', 'ab'])", ['x', 'y']],
  ["split('xaby', ['a', 'ab'])", ['x', 'by']],
  ["split('abcabc', ['', 'b'])", ['a', 'c', 'a', 'c']],
  ["split('aba', ['a', '', 'b'])", []],
  ["split('a', ['a', ''])", ['', '']],
  ["split('abc', [])", ['abc']],
  ["split('abc', ['b', null])", null],
  ["normalize('A\\u030a') = '\\u00c5'", true],
  ["size(normalize('\\ufb01', NFKC))", 2],
  ['normalize(null)', null],
  ["trim(BOTH 'x' FROM 'xxaxx')", 'a'],
  ["trim(LEADING 'xy' FROM 'xyax')", 'ax'],
  ["trim(TRAILING FROM 'a  ')", 'a'],
  ["trim('x' FROM trim('y' FROM 'yxax'))", 'a'],
  ["CASE 3 WHEN 1, 2 THEN 'low' WHEN 3, 4 THEN 'high' END", 'high'],
  ["CASE 3 WHEN < 2 THEN 'low' WHEN > 2 THEN 'high' END", 'high'],
  ["CASE null WHEN null THEN 'equal' WHEN IS NULL THEN 'null' END", 'null'],
  ["CASE 'abc' WHEN STARTS WITH 'x', ENDS WITH 'c' THEN 1 ELSE 2 END", 1],
  ["CASE 1 WHEN IS :: STRING THEN 's' WHEN IS NOT :: STRING THEN 'other' END", 'other'],
  ["CASE 5 WHEN IN [1, 5] THEN 'in' END", 'in'],
  ["CASE 'a' WHEN =~ '[b-z]' THEN 1 WHEN CONTAINS 'a' THEN 2 END", 2],
  ["CASE 3 WHEN > 2 THEN CASE 1 WHEN < 2 THEN 'a' END ELSE 'b' END", 'a'],
  ['[x IN [1, 5, null] | CASE x WHEN > 3 THEN 1 WHEN <= 3 THEN 0 END]', [0, 1, null]],
  ['allReduce(sum = 0, x IN [1, 2, 3] | sum + x, sum < 7)', true],
  ['allReduce(sum = 0, x IN [1, 2, 3] | sum + x, sum < 6)', false],
  ['allReduce(sum = 0, x IN [] | sum + x, false)', true],
  ['allReduce(sum = 0, x IN [1, null] | sum + x, sum < 6)', null],
  ['allReduce(sum = 0, x IN null | sum + x, sum < 6)', null],
  ['valueType(1)', 'INTEGER NOT NULL'],
  ['valueType(null)', 'NULL'],
  ["valueType([true, null, 'a', 1.5])", 'LIST<BOOLEAN | STRING | FLOAT> NOT NULL'],
  ['valueType([])', 'LIST<NOTHING> NOT NULL'],
  ["valueType(duration('P1D'))", 'DURATION NOT NULL'],
  ["valueType([[], ['a']])", 'LIST<LIST<STRING NOT NULL> NOT NULL> NOT NULL'],
  ["valueType([['a', 1], ['a']])", 'LIST<LIST<STRING NOT NULL | INTEGER NOT NULL> NOT NULL> NOT NULL'],
  ['valueType([null, [1], [1, null]])', 'LIST<LIST<INTEGER>> NOT NULL'],
  ["valueType([[null], ['a']])", 'LIST<LIST<NULL> NOT NULL | LIST<STRING NOT NULL> NOT NULL> NOT NULL'],
  ["valueType([[1, null], ['a']])", 'LIST<LIST<STRING NOT NULL> NOT NULL | LIST<INTEGER> NOT NULL> NOT NULL'],
  ['1_000 + 0xF_F + 0o1_7', 1270],
  ['1_0.2_5e0_1', f(102.5)],
  ['INF', f(Number.POSITIVE_INFINITY)],
  ['-Infinity', f(Number.NEGATIVE_INFINITY)],
  ['isNaN(NaN)', true],
  ['isNaN(1)', false],
  ['reduce(nan = 1, x IN [2] | nan + x)', 3],
  ["toIntegerList(['1', 'a', 2.5, null])", [1, null, 2, null]],
  ["toFloatList([1, '2.5', []])", [f(1), f(2.5), null]],
  ["toBooleanList(['true', 0, 'a'])", [true, false, null]],
  ['toStringList([1, true, {}])', ['1', 'true', null]],
  ['coll.sort([3, 1, null, 2])', [1, 2, 3, null]],
  ['coll.distinct([1, 1.0, null, null, [1], [1]])', [1, null, [1]]],
  ['coll.flatten([1, [2, [3]]])', [1, 2, [3]]],
  ['coll.flatten([1, [2, [3]]], 2)', [1, 2, 3]],
  ['coll.indexOf([1, 2], 2.0)', 1],
  ["coll.indexOf([1, 2], 'a')", -1],
  ['coll.insert([1, 3], 2, null)', [1, 3, null]],
  ['coll.remove([1, 2, 3], 0)', [2, 3]],
  ['coll.max([1, null, 3, 2])', 3],
  ["coll.min([2, 'a', 1])", 'a'],
  ['coll.max([])', null],
  ['coll.max(null)', null],
  ['ceiling(1.2)', f(2)],
  ['ln(1)', f(0)],
  ['sinh(0) + cosh(0) + tanh(0)', f(1)],
  ['size(randomUUID())', 36],
  ["duration_between(date('2026-01-01'), date('2026-01-03')).days", 2],
]

describe('an expression of Cypher 25', () => {
  it.each(values)('%s is %j', (text, value) => {
    expect(evaluate(text)).toEqual(value)
  })

  it.each(values.map(([text]) => text))('%s stays the same when it is formatted twice', (text) => {
    const once = formatCypher(`RETURN ${text} AS value`)
    if (!once.ok) throw new Error(once.error[0]!.message)
    expect(evaluate(once.value.replace(/^RETURN\s+/, '').replace(/\s+AS value$/, ''))).toBeDefined()
    expect(formatCypher(once.value)).toEqual(once)
  })

  it.each([
    ['RETURN x::list<integer|string>is not null AS v', 'RETURN x :: list<integer | string> IS NOT NULL AS v'],
    ['return 1 is not typed integer as v', 'RETURN 1 IS NOT TYPED integer AS v'],
    ["return trim(both 'x' from 'xax')as v", "RETURN trim(BOTH 'x' FROM 'xax') AS v"],
    ['return case x when>2,is null then 1 end as v', 'RETURN CASE x WHEN > 2, IS NULL THEN 1 END AS v'],
    ['return ALLREDUCE(a=0,x in [1]|a+x,a<2)as v', 'RETURN allReduce(a = 0, x IN [1] | a + x, a < 2) AS v'],
    ["return 'a'||'b' as v", "RETURN 'a' || 'b' AS v"],
  ])('%s is formatted', (text, formatted) => {
    expect(formatCypher(text)).toEqual({ ok: true, value: formatted })
  })

  it.each([
    ["'a' || 1", 'line 1, column 8: `||` takes a string, not an integer', '^^^^^^^^'],
    ['1 IS :: FOO', 'line 1, column 16: unknown type `FOO`', '^^^'],
    [
      '1 IS :: INT | STRING NOT NULL',
      'line 1, column 16: either all types of a union have `NOT NULL`, or none of them',
      '^^^^^^^^^^^^^^^^^^^^^',
    ],
    [
      '[1] IS :: LIST<NULL | INT!>',
      'line 1, column 23: either all types of a union have `NOT NULL`, or none of them',
      '^^^^^^^^^^^',
    ],
    ['1 IS :: INTEGR', 'line 1, column 16: unknown type `INTEGR`; did you mean `INTEGER`?', '^^^^^^'],
    ['1 IS :: LIST', 'line 1, column 16: a list type names the type of its items: `LIST<INTEGER>`', '^^^^'],
    ['1 IS :: VECTOR', 'line 1, column 16: the type `VECTOR` is not supported: values have no vectors', '^^^^^^'],
    ['1__0', 'line 1, column 8: invalid number `1__0`', '^^^^'],
    ['vector([1], 1, FLOAT)', 'line 1, column 8: vector() is not supported: values have no vectors', '^^^^^^'],
    ['file()', 'line 1, column 8: file() is not supported: LOAD CSV is not allowed', '^^^^'],
    ['coll.srot([1])', 'line 1, column 8: unknown function `coll.srot`; did you mean `coll.sort`?', '^^^^^^^^^'],
  ])('%s is refused with a message and a caret', (text, message, caret) => {
    const query = `RETURN ${text} AS value`
    const compiled = compileRowsQuery(query)
    if (compiled.ok) throw new Error(`is not refused: ${query}`)
    const [first, , marks] = renderDiagnostic(query, compiled.error[0]!).split('\n')
    expect(first).toBe(message)
    expect(marks!.trim()).toBe(caret)
  })

  it.each([
    ['coll.remove([1, 2], 5)', 'coll.remove() takes an index from 0 to 1, not 5'],
    ['coll.insert([1], -1, 2)', 'coll.insert() takes an index from 0 to 1, not -1'],
    ['coll.flatten([1], -1)', 'coll.flatten() does not accept a negative depth'],
    ["normalize('a', 'NFX')", 'normalize() takes NFC, NFD, NFKC or NFKD'],
    ["'a' || head([1])", '`||` does not accept a string and an integer'],
    ['toIntegerList(head([1]))', 'toIntegerList() takes a list, not an integer'],
  ])('%s fails at run time', (text, message) => {
    expect(() => evaluate(text)).toThrow(ExecutionError)
    expect(() => evaluate(text)).toThrow(message)
  })
})

describe('a decision', () => {
  const refusal = (dialect: '2.0-kbac' | '3.0-kbac' | '1.0-ciq' | 'open', condition: string): string | null => {
    const text = `MATCH (subject)-[:OWNS]->(resource) WHERE ${condition}`
    const compiled = compileCondition({ text, dialect, subjectType: 'Person', resourceType: 'Car' })
    return compiled.ok ? null : compiled.error[0]!.message
  }

  it.each(['rand() < 0.5', "randomUUID() = 'a'", 'datetime.realtime() > resource.until'])(
    'refuses %s, whose value differs for the same input',
    (condition) => {
      const name = condition.slice(0, condition.indexOf('('))
      const message = `${name}() is not allowed in a decision: its value differs for the same input`
      expect(refusal('3.0-kbac', condition)).toBe(message)
      expect(refusal('2.0-kbac', condition)).toBe(message)
      expect(refusal('1.0-ciq', condition)).toBe(message)
      expect(refusal('open', condition)).toBeNull()
    },
  )

  it.each(['timestamp() > 0', 'date() > resource.until', 'datetime.statement() > resource.until'])(
    'accepts %s, which reads the clock of the decision',
    (condition) => {
      expect(refusal('3.0-kbac', condition)).toBeNull()
    },
  )
})
