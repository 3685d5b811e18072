import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ExecutionError } from '../../../../src/engine/errors.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { Float } from '../../../../src/kernel/float.ts'
import { evaluate, type Surroundings } from '../../../support/evaluate-expression.ts'

const f = (value: number): Float => new Float(value)
const map = (entries: Record<string, Value>): ReadonlyMap<string, Value> => new Map(Object.entries(entries))

function faultOf(text: string, around: Surroundings = {}): string {
  try {
    evaluate(text, around)
  } catch (fault) {
    if (fault instanceof ExecutionError) return `${fault.code} ${fault.detail ?? fault.subject}`
    throw fault
  }
  return 'no fault'
}

describe('an expression from text', () => {
  const table: [string, Value][] = [
    // literals and arithmetic
    ['1 + 2 * 3', 7],
    ['2 ^ 3 - 1', f(7)],
    ['-(3 - 5)', 2],
    ['+1.5', f(1.5)],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['12 / 4 * 3 - 2 * 4', 1],
    ["'a' + 'b' + 1", 'ab1'],
    ['[1] + [2] + 3', [1, 2, 3]],
    ["{a: 1, b: [true, null], c: 'x'}", map({ a: 1, b: [true, null], c: 'x' })],
    // three-valued logic
    ['true AND null', null],
    ['false AND null', false],
    ['true OR null', true],
    ['false OR null', null],
    ['true XOR null', null],
    ['true XOR true', false],
    ['NOT null', null],
    ['NOT false', true],
    ['null AND null AND false', false],
    ['true AND true AND true AND true', true],
    ['(true OR false) AND NOT (false OR null)', null],
    // comparison
    ['1 = 1.0', true],
    ['1 <> 2', true],
    ['null <> 1', null],
    ["'1' < 1", null],
    ['1 < 2 <= 2 < 3', true],
    ['1 < null', null],
    ['[1, null] = [1, 2]', null],
    ['[1, null] = [2, 2]', false],
    ['1 IS NULL', false],
    ['null IS NULL', true],
    ['null IS NOT NULL', false],
    // strings
    ["'abc' STARTS WITH 'ab'", true],
    ["'abc' ENDS WITH 'ab'", false],
    ["'abc' CONTAINS 'b'", true],
    ["'abc' CONTAINS null", null],
    ["1 STARTS WITH 'a'", null],
    // lists and maps
    ['3 IN [1, 2, 3]', true],
    ['3 IN [1, null]', null],
    ['null IN []', false],
    ['1 IN null', null],
    ['[1, 2, 3][0]', 1],
    ['[1, 2, 3][-1]', 3],
    ['[1, 2, 3][5]', null],
    ['[1, 2, 3][null]', null],
    ['[1, 2, 3, 4][1..3]', [2, 3]],
    ['[1, 2, 3, 4][..-1]', [1, 2, 3]],
    ['[1, 2, 3, 4][2..]', [3, 4]],
    ['[1, 2, 3][null..2]', null],
    ['{a: {b: 2}}.a.b', 2],
    ["{a: 1}['a']", 1],
    ['{a: 1}.b', null],
    ['null.a', null],
    ['{`__proto__`: 1}.`__proto__`', 1],
    ['{a: 1}.constructor', null],
    // CASE
    ["CASE WHEN false THEN 'a' WHEN null THEN 'b' ELSE 'c' END", 'c'],
    ["CASE WHEN true THEN 'a' END", 'a'],
    ["CASE WHEN false THEN 'a' END", null],
    ["CASE 2 WHEN 1 THEN 'one' WHEN 2.0 THEN 'two' END", 'two'],
    ["CASE null WHEN null THEN 'same' ELSE 'unknown' END", 'unknown'],
    // comprehensions, quantifiers, reduce
    ['[x IN [1, 2, 3] WHERE x > 1 | x * 10]', [20, 30]],
    ['[x IN [1, 2, 3]]', [1, 2, 3]],
    ['[x IN [1, null, 3] WHERE x > 1]', [3]],
    ['[x IN null | x]', null],
    [
      '[x IN [1, 2] | [y IN [10, 20] | x + y]]',
      [
        [11, 21],
        [12, 22],
      ],
    ],
    [
      '[x IN [1, 2] | [x IN [x, x + 1] | x]]',
      [
        [1, 2],
        [2, 3],
      ],
    ],
    ['all(x IN [1, 2] WHERE x > 0)', true],
    ['all(x IN [1, null] WHERE x > 0)', null],
    ['all(x IN [0, null] WHERE x > 0)', false],
    ['all(x IN [] WHERE false)', true],
    ['any(x IN [null, 1] WHERE x > 0)', true],
    ['any(x IN [null, 0] WHERE x > 0)', null],
    ['any(x IN [] WHERE true)', false],
    ['none(x IN [0, 1] WHERE x > 0)', false],
    ['none(x IN [0, null] WHERE x > 0)', null],
    ['single(x IN [1, 2, 0] WHERE x > 1)', true],
    ['single(x IN [1, 2] WHERE x > 0)', false],
    ['single(x IN [1, null] WHERE x > 0)', null],
    ['single(x IN [2, 2, null] WHERE x > 0)', false],
    ['any(x IN null WHERE true)', null],
    ['reduce(sum = 0, x IN [1, 2, 3] | sum + x)', 6],
    ["reduce(s = '', x IN ['a', 'b'] | s + reduce(t = '', y IN [1, 2] | t + x + y))", 'a1a2b1b2'],
    ['reduce(s = 0, x IN null | s)', null],
    // calls
    ["coalesce(null, null, 'x', 1 / 0)", 'x'],
    ['TOUPPER(toString(1 < 2))', 'TRUE'],
    ['size([1, 2]) + size("abc")', 5],
    ['substring(null, 1)', null],
    ["round(2.555, 2, 'HALF_EVEN')", f(2.56)],
  ]
  for (const [text, expected] of table) it(text, () => expect(evaluate(text)).toStrictEqual(expected))

  it('long chains of AND and OR do not overflow the stack', () => {
    expect(evaluate(Array(900).fill('true').join(' AND '))).toBe(true)
    expect(evaluate(Array(900).fill('false').join(' OR '))).toBe(false)
  })

  it('agrees with the tables of three-valued logic in any nesting', () => {
    type Tree = { text: string; truth: boolean | null }
    const leaf = fc.constantFrom<Tree>(
      { text: 'true', truth: true },
      { text: '(1 = 2)', truth: false },
      { text: '(1 = null)', truth: null },
    )
    const tree = fc.letrec<{ tree: Tree }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        tie('tree').map(({ text, truth }): Tree => ({ text: `NOT ${text}`, truth: truth === null ? null : !truth })),
        fc
          .tuple(tie('tree'), fc.constantFrom('AND', 'OR', 'XOR'), tie('tree'))
          .map(
            ([a, word, b]): Tree => ({ text: `(${a.text} ${word} ${b.text})`, truth: combine(word, a.truth, b.truth) }),
          ),
      ),
    })).tree
    fc.assert(
      fc.property(tree, ({ text, truth }) => {
        expect(evaluate(text)).toBe(truth)
      }),
    )
  })
})

describe('run-time errors', () => {
  const table: [string, string][] = [
    ['1 / 0', 'arithmetic DivisionByZero'],
    ['9223372036854775807 + 1', 'arithmetic IntegerOverflow'],
    ['[x IN [true, 1] WHERE x]', 'type InvalidArgumentType'],
    ['[1, 2][[0, true][1]]', 'type ListElementAccessByNonInteger'],
    ['{a: 1}[[0][0]]', 'type MapElementAccessByNonString'],
    ['[1][0][0]', 'type InvalidArgumentType'],
    ["[x IN [1, 'a'] | x.name]", 'type InvalidArgumentType'],
    ['[x IN [1, [1]] | 1 IN x]', 'type InvalidArgumentType'],
    ['range(true, 1)', 'argument InvalidArgumentType'],
    ['range(1, 10, 0)', 'argument NumberOutOfRange'],
    ['[x IN [1.0, []] | toFloat(x)]', 'type InvalidArgumentValue'],
    ['$missing', 'missing-parameter missing'],
    ['range(1, 100000000)', 'budget valueItemsMax'],
    ["reduce(s = 'ab', x IN range(1, 40) | s + s)", 'budget textLengthMax'],
    ['reduce(l = [1], x IN range(1, 60) | [l, l])', 'budget valueItemsMax'],
    ['reduce(m = {a: 1}, x IN range(1, 60) | {a: m, b: m})', 'budget valueItemsMax'],
    ['reduce(l = [], x IN range(1, 100000) | [l]) = [1]', 'budget valueDepthMax'],
    ['reduce(m = {}, x IN range(1, 100000) | {a: m}) = {}', 'budget valueDepthMax'],
    ['valueType(reduce(l = [], x IN range(1, 10000) | [l]))', 'budget valueDepthMax'],
    ['coll.flatten([reduce(l = [], x IN range(1, 10000) | [l])], 100000)', 'budget valueDepthMax'],
  ]
  for (const [text, fault] of table) it(`${text} fails with ${fault}`, () => expect(faultOf(text)).toBe(fault))

  it('compares, flattens and names the type of lists in lists to the limit of levels', () => {
    const deep = 'reduce(l = [], x IN range(1, 999) | [l])'
    expect(evaluate(`${deep} = ${deep}`)).toBe(true)
    expect(evaluate(`coll.flatten(${deep}, 1000)`)).toEqual([])
    expect(evaluate(`size(coll.distinct([${deep.replace('999', '998')}]))`)).toBe(1)
    expect(faultOf(`valueType(${deep})`, { stepsMax: 5000 })).toBe('budget traversalStepsMax')
  })

  it('counts the items of lists as steps', () => {
    const around = { parameters: { list: Array(100).fill(1) }, stepsMax: 5000 }
    expect(faultOf('[a IN $list | [b IN $list | b]]', around)).toBe('budget traversalStepsMax')
    expect(faultOf('[a IN $list | a IN $list]', around)).toBe('budget traversalStepsMax')
    expect(faultOf('all(a IN $list WHERE all(b IN $list WHERE true))', around)).toBe('budget traversalStepsMax')
  })
})

describe('parameters', () => {
  const token = map({ sub: 'ann', act: map({ sub: 'app' }), roles: ['a', 'b'] })
  const around: Surroundings = { parameters: { token, n: 3, nothing: null } }

  it('are read by name and dotted path', () => {
    expect(evaluate('$n + 1', around)).toBe(4)
    expect(evaluate('$token.act.sub', around)).toBe('app')
    expect(evaluate("'b' IN $token.roles", around)).toBe(true)
    expect(evaluate('$token.roles[0]', around)).toBe('a')
  })

  it('are null if a step of the path is missing', () => {
    expect(evaluate('$token.act.missing', around)).toBe(null)
    expect(evaluate('$token.missing.sub', around)).toBe(null)
    expect(evaluate('$nothing.x', around)).toBe(null)
    expect(evaluate("$token.missing = 'ann'", around)).toBe(null)
  })

  it('fail if a step of the path is not a map', () => {
    expect(faultOf('$n.x', around)).toBe('type InvalidArgumentType')
    expect(faultOf('$token.sub.x', around)).toBe('type InvalidArgumentType')
  })
})

it('compares with constants of every type as with computed values', () => {
  const values: Value[] = [null, true, false, 0, 1, f(1), f(1.5), 9007199254740993n, 'a', '', [1], [null]]
  const constants = ['true', "'a'", '1', '1.0', '1.5', '9007199254740993', '[1]', '[null]', 'null']
  for (const x of values) {
    for (const constant of constants) {
      for (const operator of ['=', '<>', '<', '<=', '>', '>=']) {
        const around = { parameters: { x, y: evaluate(constant) } }
        const computed = evaluate(`$x ${operator} $y`, around)
        expect(evaluate(`$x ${operator} ${constant}`, around), `${Bun.inspect(x)} ${operator} ${constant}`).toBe(
          computed,
        )
        const mirrored = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' }[operator] ?? operator
        expect(evaluate(`${constant} ${mirrored} $x`, around)).toBe(computed)
      }
    }
  }
})

function combine(word: string, a: boolean | null, b: boolean | null): boolean | null {
  if (word === 'AND') return a === false || b === false ? false : a === null || b === null ? null : true
  if (word === 'OR') return a === true || b === true ? true : a === null || b === null ? null : false
  return a === null || b === null ? null : a !== b
}
