import { describe, expect, it } from 'vitest'
import { unlimitedBudget } from '../../../../src/engine/budget.ts'
import { ExecutionError } from '../../../../src/engine/errors.ts'
import { accumulatorFactory } from '../../../../src/engine/exec/aggregate-functions.ts'
import { aggregateNames, findAggregate } from '../../../../src/engine/value/aggregate-signatures.ts'
import { DurationValue } from '../../../../src/engine/value/temporal/temporal.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { Float } from '../../../../src/kernel/float.ts'
import { show } from '../../../generate/any-value.ts'

const f = (value: number): Float => new Float(value)
const MAX = 2n ** 63n - 1n

const days = (months: number, count: number): DurationValue => new DurationValue(months, count, 0n)

interface AggregateCall {
  readonly distinct?: boolean
  readonly parameter?: Value
}

function over(
  name: string,
  values: readonly Value[],
  { distinct = false, parameter = null }: AggregateCall = {},
): Value {
  const accumulator = accumulatorFactory(name, distinct)(unlimitedBudget())
  for (const value of values) accumulator.add(value, parameter)
  return accumulator.result()
}

describe('an aggregate', () => {
  const table: [string, readonly Value[], Value, AggregateCall?][] = [
    ['count', [1, null, 'a'], 2],
    ['count', [], 0],
    ['count', [1, f(1), null, 1, 2], 2, { distinct: true }],
    ['collect', [1, null, [2]], [1, [2]]],
    ['collect', [], []],
    ['collect', [1, 1, f(1), null, null], [1], { distinct: true }],
    [
      'collect',
      [
        [1, null],
        [1, null],
      ],
      [[1, null]],
      { distinct: true },
    ],
    ['sum', [1, 2, null], 3],
    ['sum', [], 0],
    ['sum', [1, f(2)], f(3)],
    ['sum', [9007199254740991, 1], 9007199254740992n],
    // An intermediate value exceeds 64 bits, the result does not.
    ['sum', [MAX, 1, -1], MAX],
    ['sum', [2, 2, 3], 5, { distinct: true }],
    ['avg', [1, 2], f(1.5)],
    ['avg', [1, f(2), null], f(1.5)],
    ['avg', [null], null],
    ['min', [2, null, f(0.5), 5], f(0.5)],
    ['max', [2, null, f(0.5), 5], 5],
    ['max', [], null],
    ['min', [1, 'a', null, [1, 2], f(0.2), 'b'], [1, 2]],
    ['max', [1, 'a', null, [1, 2], f(0.2), 'b'], 1],
    ['max', ['a', 'b', 'B', null, 'abc'], 'b'],
    ['stDev', [1, 2, 3, 4], f(1.2909944487358056)],
    ['stDevP', [1, 2, 3, 4], f(1.118033988749895)],
    ['stDev', [1], f(0)],
    ['stDevP', [], null],
    ['stDev', [null], null],
    ['sum', [days(1, 2), null, days(0, 3)], days(1, 5)],
    // A third of a month is 10 days, 3 hours, 29 minutes and 42 seconds.
    ['avg', [days(1, 0), days(0, 3), days(0, 0)], new DurationValue(0, 11, 12_582n * 1_000_000_000n)],
    // A naive sum of squares gives 0 or NaN here.
    ['stDevP', [f(1e9), f(1e9 + 1), f(1e9 + 2)], f(0.816496580927726)],
    ['percentileDisc', [f(10), f(20), f(30)], f(10), { parameter: f(0) }],
    ['percentileDisc', [f(30), f(10), f(20)], f(20), { parameter: f(0.5) }],
    ['percentileDisc', [f(10), null, f(30), f(20)], f(30), { parameter: 1 }],
    ['percentileCont', [f(10), f(20), f(30)], f(20), { parameter: f(0.5) }],
    ['percentileCont', [10, 20], f(12.5), { parameter: f(0.25) }],
    ['percentileCont', [null], null, { parameter: f(0.25) }],
    ['percentileCont', [f(Infinity)], f(Infinity), { parameter: f(0.5) }],
    ['percentileCont', [f(-Infinity), f(-Infinity)], f(-Infinity), { parameter: f(0.5) }],
    ['percentileCont', [f(1), f(Infinity)], f(Infinity), { parameter: f(1) }],
    ['percentileCont', [f(1), f(Infinity)], f(1), { parameter: f(0) }],
    ['percentileCont', [f(-1e308), f(1e308)], f(0), { parameter: f(0.5) }],
  ]
  for (const [name, values, result, call] of table) {
    it(`${name} ${show(values)} ${show((call ?? {}) as never)} is ${show(result)}`, () => {
      expect(over(name, values, call)).toStrictEqual(result)
    })
  }

  const faults: [string, readonly Value[], string, AggregateCall?][] = [
    ['sum', [MAX, 1], 'arithmetic IntegerOverflow'],
    ['sum', ['a'], 'type InvalidArgumentType'],
    ['avg', [true], 'type InvalidArgumentType'],
    ['stDev', [[1]], 'type InvalidArgumentType'],
    ['sum', [1, days(1, 0)], 'type InvalidArgumentType'],
    ['sum', [days(1, 0), 1], 'type InvalidArgumentType'],
    ['avg', [f(1), days(1, 0)], 'type InvalidArgumentType'],
    ['avg', [days(1, 0), 1], 'type InvalidArgumentType'],
    ['percentileCont', [1], 'argument NumberOutOfRange', { parameter: f(1.1) }],
    ['percentileDisc', [1], 'argument NumberOutOfRange', { parameter: -1 }],
    ['percentileDisc', [1], 'argument NumberOutOfRange', { parameter: f(Number.NaN) }],
    ['percentileDisc', [1], 'argument InvalidArgumentType', { parameter: 'a' }],
  ]
  for (const [name, values, fault, call] of faults) {
    it(`${name} ${show(values)} fails with ${fault}`, () => {
      let found = 'none'
      try {
        over(name, values, call)
      } catch (thrown) {
        if (!(thrown instanceof ExecutionError)) throw thrown
        found = `${thrown.code} ${thrown.detail}`
      }
      expect(found).toBe(fault)
    })
  }
})

it('is found in any letter case and created under every name', () => {
  expect(findAggregate('PERCENTILEcont')).toEqual({ name: 'percentileCont', argCount: 2 })
  expect(findAggregate('constructor')).toBe(undefined)
  for (const name of aggregateNames())
    expect(accumulatorFactory(name, false)(unlimitedBudget()).result).toBeTypeOf('function')
})
