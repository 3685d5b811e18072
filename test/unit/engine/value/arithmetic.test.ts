import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unlimitedBudget } from '../../../../src/engine/budget.ts'
import { ExecutionError } from '../../../../src/engine/errors.ts'
import {
  add,
  divide,
  modulo,
  multiply,
  negate,
  normalizeInteger,
  numberText,
  power,
  subtract,
} from '../../../../src/engine/value/arithmetic.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { TEXT_LENGTH_MAX } from '../../../../src/engine/value/value-size.ts'
import { Float } from '../../../../src/kernel/float.ts'
import { show } from '../../../generate/any-value.ts'

const budget = unlimitedBudget()

const f = (value: number): Float => new Float(value)
const MAX = 2n ** 63n - 1n
const MIN = -(2n ** 63n)

const operators = {
  '+': (a: Value, b: Value) => add(budget, a, b),
  '-': subtract,
  '*': multiply,
  '/': divide,
  '%': modulo,
  '^': power,
} as const
type ArithmeticOperator = keyof typeof operators

describe('arithmetic', () => {
  const table: [Value, ArithmeticOperator, Value, Value][] = [
    [1, '+', 2, 3],
    [1, '+', f(2), f(3)],
    [1, '+', null, null],
    [null, '/', 0, null],
    [9007199254740991, '+', 1, 9007199254740992n],
    [9007199254740992n, '-', 1, 9007199254740991],
    [MAX, '-', MAX, 0],
    [3037000500, '*', 3037000499, 9223372033963249500n],
    [0, '*', -5, 0],
    [7, '/', 2, 3],
    [-7, '/', 2, -3],
    [9007199254740991, '/', 9007199254740990, 1],
    [7, '/', f(2), f(3.5)],
    [1, '/', f(0), f(Number.POSITIVE_INFINITY)],
    [MIN, '/', 2, -4611686018427387904n],
    [7, '%', 3, 1],
    [-4, '%', 2, 0],
    [-7, '%', 3, -1],
    [f(5.5), '%', 2, f(1.5)],
    [2, '^', 3, f(8)],
    ['a', '+', 'b', 'ab'],
    ['a', '+', 1, 'a1'],
    [f(1), '+', 'a', '1.0a'],
    [[1], '+', [2, 3], [1, 2, 3]],
    [[1], '+', 2, [1, 2]],
    [1, '+', [2], [1, 2]],
    [[1], '+', null, null],
  ]
  for (const [a, operator, b, expected] of table) {
    it(`${show(a)} ${operator} ${show(b)} is ${show(expected)}`, () => {
      expect(operators[operator](a, b)).toStrictEqual(expected)
    })
  }

  const faults: [Value, ArithmeticOperator, Value, string, string | null][] = [
    [MAX, '+', 1, 'arithmetic', 'IntegerOverflow'],
    [MIN, '-', 1, 'arithmetic', 'IntegerOverflow'],
    [MAX, '*', 2, 'arithmetic', 'IntegerOverflow'],
    [MIN, '/', -1, 'arithmetic', 'IntegerOverflow'],
    [1, '/', 0, 'arithmetic', 'DivisionByZero'],
    [1, '%', 0, 'arithmetic', 'DivisionByZero'],
    [true, '+', 1, 'type', 'InvalidArgumentType'],
    ['a', '-', 'b', 'type', 'InvalidArgumentType'],
    [new Map(), '*', 1, 'type', 'InvalidArgumentType'],
    ['a', '%', 2, 'type', 'InvalidArgumentType'],
    [[1], '^', 2, 'type', 'InvalidArgumentType'],
  ]
  for (const [a, operator, b, code, detail] of faults) {
    it(`${show(a)} ${operator} ${show(b)} is an error`, () => {
      const fault = faultOf(() => operators[operator](a, b))
      expect([fault.code, fault.detail]).toEqual([code, detail])
    })
  }

  it('agrees with 64-bit arithmetic on integers of any size', () => {
    const int64 = fc.oneof(fc.bigInt(MIN, MAX), fc.bigInt(-(2n ** 54n), 2n ** 54n), fc.bigInt(-20n, 20n))
    fc.assert(
      fc.property(int64, int64, (x, y) => {
        const [a, b] = [normalizeInteger(x), normalizeInteger(y)]
        const exact: [ArithmeticOperator, bigint][] = [
          ['+', x + y],
          ['-', x - y],
          ['*', x * y],
        ]
        if (y !== 0n) exact.push(['/', x / y], ['%', x % y])
        for (const [operator, result] of exact) {
          if (result < MIN || result > MAX) expect(faultOf(() => operators[operator](a, b)).code).toBe('arithmetic')
          else expect(operators[operator](a, b)).toBe(normalizeInteger(result))
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('negates within 64 bits', () => {
    expect(negate(0)).toBe(0)
    expect(negate(-9007199254740992n)).toBe(9007199254740992n)
    expect(negate(f(0))).toStrictEqual(f(-0))
    expect(negate(null)).toBe(null)
    expect(faultOf(() => negate(MIN)).code).toBe('arithmetic')
    expect(faultOf(() => negate('a')).detail).toBe('InvalidArgumentType')
  })

  it('limits the size of strings and lists', () => {
    const half = 'x'.repeat(TEXT_LENGTH_MAX / 2)
    expect(faultOf(() => add(budget, add(budget, half, half), 'x')).code).toBe('budget')
    let shared: Value = [1]
    expect(
      faultOf(() => {
        for (let i = 0; i < 60; i++) shared = add(budget, [shared], [shared])
      }).code,
    ).toBe('budget')
  })
})

it('prints numbers as Cypher does', () => {
  const table: [number | bigint | Float, string][] = [
    [1, '1'],
    [9223372036854775807n, '9223372036854775807'],
    [f(1), '1.0'],
    [f(-0), '-0.0'],
    [f(0.1), '0.1'],
    [f(1e7), '1.0E7'],
    [f(123456789.5), '1.234567895E8'],
    [f(0.00015), '1.5E-4'],
    [f(0.001), '0.001'],
    [f(Number.NaN), 'NaN'],
    [f(Number.NEGATIVE_INFINITY), '-Infinity'],
  ]
  for (const [value, text] of table) expect(numberText(value)).toBe(text)
})

function faultOf(body: () => unknown): ExecutionError {
  try {
    body()
  } catch (fault) {
    if (fault instanceof ExecutionError) return fault
    throw fault
  }
  throw new Error('there was no fault')
}
