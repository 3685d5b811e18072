import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unlimitedBudget } from '../../../../src/engine/budget.ts'
import {
  compareNumbers,
  compareStrings,
  contains,
  equals,
  equivalent,
  groupingKey,
  lessOrEqual,
  lessThan,
  order,
} from '../../../../src/engine/value/compare.ts'
import { NodeValue, PathValue, RelationshipValue, type Truth, type Value } from '../../../../src/engine/value/value.ts'
import { Float } from '../../../../src/kernel/float.ts'
import { anyValue, show } from '../../../generate/any-value.ts'

const budget = unlimitedBudget()

const f = (value: number): Float => new Float(value)
const map = (entries: Record<string, Value>): ReadonlyMap<string, Value> => new Map(Object.entries(entries))

describe('equality', () => {
  const table: [string, Value, Value, Truth][] = [
    ['null is not even null', null, null, null],
    ['null against a value is unknown', null, 1, null],
    ['an integer equals the float of its value', 1, f(1), true],
    ['beyond 2^53 an integer keeps its last digit', 9007199254740993n, f(9007199254740992), false],
    ['a bigint equals the float of its value', 9007199254740992n, f(9007199254740992), true],
    ['NaN is not NaN', f(Number.NaN), f(Number.NaN), false],
    ['0.0 is -0.0', f(0), f(-0), true],
    ['kinds do not mix', '1', 1, false],
    ['a boolean is no number', true, 1, false],
    ['lists of other length differ', [1], [1, null], false],
    ['a null item leaves it open', [1, 2], [null, 2], null],
    ['unless another item decides', [1, 2], [null, 3], false],
    [
      'nested lists too',
      [
        [1, 2],
        ['a', 'b'],
      ],
      [
        [1, 2],
        [null, 'b'],
      ],
      null,
    ],
    ['a list is no scalar', [1], 1, false],
    ['maps by key', map({ k: 1 }), map({ k: f(1) }), true],
    ['maps with other keys differ', map({ k: null }), map({ l: null }), false],
    ['a key with null is a key', map({ k: 1 }), map({ k: 1, l: null }), false],
    ['a null under a key leaves it open', map({ k: null }), map({ k: null }), null],
    ['nodes by identity', new NodeValue(0, 7), new NodeValue(0, 7), true],
    ['nodes of other graphs differ', new NodeValue(0, 7), new NodeValue(1, 7), false],
    ['a node is no relationship', new NodeValue(0, 7), new RelationshipValue(0, 7), false],
    ['paths by their parts', path(1, 2), path(1, 2), true],
    ['a longer path differs', path(1, 2), path(1, 2, 3), false],
  ]
  for (const [name, a, b, expected] of table) it(name, () => expect(equals(budget, a, b)).toBe(expected))

  it('is symmetric', () => {
    fc.assert(fc.property(anyValue, anyValue, (a, b) => equals(budget, a, b) === equals(budget, b, a)))
  })
})

describe('IN', () => {
  const table: [Value, readonly Value[], Truth][] = [
    [1, [2, 1], true],
    [1, [2, null], null],
    [1, [1, null], true],
    [null, [], false],
    [null, [1], null],
    [
      [1, 2],
      [
        [null, 2],
        [1, 3],
      ],
      null,
    ],
    [
      [1, 2],
      [
        [null, 2],
        [1, 2],
      ],
      true,
    ],
  ]
  for (const [value, list, expected] of table) {
    it(`${show(value)} IN ${show(list)} is ${expected}`, () => expect(contains(budget, list, value)).toBe(expected))
  }
})

describe('comparability', () => {
  const table: [Value, Value, Truth, Truth][] = [
    [1, f(1.5), true, true],
    [1, f(1), false, true],
    [f(9007199254740992), 9007199254740993n, true, true],
    [1, 'a', null, null],
    [1, null, null, null],
    [f(Number.NaN), 1, false, false],
    [f(Number.NaN), 'a', null, null],
    [false, true, true, true],
    ['a', 'b', true, true],
    [[1], [1, 0], true, true],
    [[1], [1, null], true, true],
    [[1, 2], [1, null], null, null],
    [[1, 2], [3, null], true, true],
    [map({}), map({}), null, null],
    [new NodeValue(0, 1), new NodeValue(0, 2), null, null],
  ]
  for (const [a, b, less, lessOrSame] of table) {
    it(`${show(a)} < ${show(b)} is ${less}`, () => {
      expect(lessThan(budget, a, b)).toBe(less)
      expect(lessOrEqual(budget, a, b)).toBe(lessOrSame)
    })
  }
})

describe('orderability', () => {
  it('orders the types as openCypher does, null last', () => {
    const ascending: Value[] = [
      map({}),
      map({ a: 2 }),
      map({ b: 1 }),
      new NodeValue(0, 1),
      new NodeValue(0, 2),
      new RelationshipValue(0, 1),
      [],
      ['a'],
      ['a', 1],
      [1],
      [1, 'a'],
      [1, null],
      [null],
      path(1),
      path(1, 2),
      '',
      'a',
      'b',
      false,
      true,
      f(Number.NEGATIVE_INFINITY),
      -5,
      f(1.5),
      2,
      9007199254740993n,
      f(9007199254740994),
      f(Number.POSITIVE_INFINITY),
      f(Number.NaN),
      null,
    ]
    for (let i = 0; i < ascending.length; i++) {
      for (let j = 0; j < ascending.length; j++) {
        expect(Math.sign(order(budget, ascending[i]!, ascending[j]!)), `${i} against ${j}`).toBe(Math.sign(i - j))
      }
    }
  })

  it('is a total order', () => {
    fc.assert(
      fc.property(anyValue, anyValue, anyValue, (a, b, c) => {
        expect(order(budget, a, a)).toBe(0)
        expect(Math.sign(order(budget, a, b))).toBe(0 - Math.sign(order(budget, b, a)))
        const [x, y, z] = [a, b, c].sort((a, b) => order(budget, a, b)) as [Value, Value, Value]
        expect(order(budget, x, y)).toBeLessThanOrEqual(0)
        expect(order(budget, y, z)).toBeLessThanOrEqual(0)
        expect(order(budget, x, z)).toBeLessThanOrEqual(0)
      }),
    )
  })

  it('agrees with < wherever < has a result', () => {
    fc.assert(
      fc.property(anyValue, anyValue, (a, b) => {
        if (lessThan(budget, a, b) === true) expect(order(budget, a, b)).toBeLessThan(0)
      }),
    )
  })

  it('orders strings by code point, not by UTF-16 unit', () => {
    expect(compareStrings(budget, '\u{1F600}', '\uFF5E')).toBe(1)
    expect(compareStrings(budget, 'a\u{1F600}', 'a\u{1F601}')).toBe(-1)
    expect(compareStrings(budget, 'a', 'ab')).toBe(-1)
  })
})

describe('equivalence', () => {
  it('treats null as null and NaN as NaN', () => {
    expect(equivalent(budget, null, null)).toBe(true)
    expect(equivalent(budget, [f(Number.NaN), null], [f(Number.NaN), null])).toBe(true)
    expect(equivalent(budget, map({ k: null }), map({ k: null }))).toBe(true)
  })

  it('holds if two values are equal', () => {
    fc.assert(
      fc.property(anyValue, anyValue, (a, b) => {
        if (equals(budget, a, b) === true) expect(equivalent(budget, a, b)).toBe(true)
      }),
    )
  })

  it('matches grouping keys: equal keys exactly for equivalent values', () => {
    fc.assert(
      fc.property(anyValue, anyValue, (a, b) => {
        expect(new Set([groupingKey(budget, a), groupingKey(budget, b)]).size === 1).toBe(equivalent(budget, a, b))
      }),
      { numRuns: 2000 },
    )
  })

  it('does not mistake a crafted string for a list', () => {
    const key = groupingKey(budget, [1, 'a']) as string
    expect(groupingKey(budget, key)).not.toBe(key)
    expect(groupingKey(budget, ['a', 'b'])).not.toBe(groupingKey(budget, ['as1:b']))
  })
})

it('compares integers with floats by exact value', () => {
  expect(compareNumbers(9007199254740993n, f(9007199254740992))).toBe(1)
  expect(compareNumbers(9223372036854775807n, f(2 ** 63))).toBe(-1)
  expect(compareNumbers(-1, f(Number.NEGATIVE_INFINITY))).toBe(1)
  expect(compareNumbers(1, f(Number.NaN))).toBeNaN()
})

function path(...ids: number[]): PathValue {
  return new PathValue(
    ids.map((id) => new NodeValue(0, id)),
    ids.slice(1).map((id) => new RelationshipValue(0, id)),
  )
}
