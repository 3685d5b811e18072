// Accumulators of the aggregate functions. All ignore nulls.
import { assert } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'
import type { Budget } from '../budget.ts'
import { ExecutionError } from '../errors.ts'
import { type AggregateName, findAggregate } from '../value/aggregate-signatures.ts'
import { normalizeInteger, toDouble } from '../value/arithmetic.ts'
import { groupingKey, isNumber, order } from '../value/compare.ts'
import { GroupingKeySet } from '../value/grouping-key-set.ts'
import { kindName } from '../value/kind-name.ts'
import { sortWithCharges } from '../value/list-operations.ts'
import { normalizeDuration } from '../value/temporal/duration.ts'
import { DurationValue } from '../value/temporal/temporal.ts'
import type { Value } from '../value/value.ts'
import { boundedList, estimateBytes, VALUE_ITEMS_MAX } from '../value/value-size.ts'
import { keyBytes } from './row-key.ts'

/** Computes one aggregate for one group. */
export interface Accumulator {
  /** Adds the value of one row. `parameter` is the second argument of the percentiles. Throws ExecutionError. */
  add(value: Value, parameter?: Value): void
  /** Returns the aggregate of the values added so far. Throws ExecutionError. */
  result(): Value
}

const accumulatorFactories: Readonly<Record<AggregateName, AccumulatorFactory>> = {
  count: () => new CountAccumulator(),
  collect: (budget) => new CollectAccumulator(budget),
  sum: () => new SumAccumulator(),
  avg: () => new AverageAccumulator(),
  min: (budget) => new MinMaxAccumulator(budget, -1),
  max: (budget) => new MinMaxAccumulator(budget, 1),
  stDev: () => new StandardDeviationAccumulator('stDev', 1),
  stDevP: () => new StandardDeviationAccumulator('stDevP', 0),
  percentileCont: (budget) => new PercentileAccumulator(budget, 'percentileCont', interpolatedPercentile),
  percentileDisc: (budget) => new PercentileAccumulator(budget, 'percentileDisc', nearestRankPercentile),
}

/** Creates an accumulator for one group. Memory and comparisons are charged to the budget. */
export type AccumulatorFactory = (budget: Budget) => Accumulator

/** Returns the factory of an aggregate function. For `count(*)`, add any value except null once per row. */
export function accumulatorFactory(name: string, distinct: boolean): AccumulatorFactory {
  const aggregate = findAggregate(name)
  assert(aggregate, `the binder rejects unknown aggregates: ${name}`)
  const create = accumulatorFactories[aggregate.name]
  return distinct ? (budget) => new DistinctAccumulator(budget, create(budget)) : create
}

class DistinctAccumulator implements Accumulator {
  private readonly seen = new GroupingKeySet()
  private readonly budget: Budget
  private readonly inner: Accumulator
  constructor(budget: Budget, inner: Accumulator) {
    this.budget = budget
    this.inner = inner
  }
  add(value: Value, parameter?: Value): void {
    const key = groupingKey(this.budget, value)
    if (!this.seen.add(key)) return
    this.budget.retainBytes(keyBytes(key))
    this.inner.add(value, parameter)
  }
  result(): Value {
    return this.inner.result()
  }
}

class CountAccumulator implements Accumulator {
  private count = 0
  add(value: Value): void {
    if (value !== null) this.count += 1
  }
  result(): Value {
    return this.count
  }
}

class CollectAccumulator implements Accumulator {
  private readonly items: Value[] = []
  private readonly budget: Budget
  constructor(budget: Budget) {
    this.budget = budget
  }
  add(value: Value): void {
    if (value === null) return
    this.items.push(value)
    // Checked with each item; the size of the whole list is known at the end.
    if (this.items.length > VALUE_ITEMS_MAX) boundedList(this.budget, this.items)
  }
  result(): Value {
    return boundedList(this.budget, this.items)
  }
}

/** Adds durations, each of their parts exactly. */
class DurationTotal {
  private months = 0n
  private days = 0n
  private nanos = 0n
  add({ months, days, nanos }: DurationValue): void {
    this.months += BigInt(months)
    this.days += BigInt(days)
    this.nanos += nanos
  }
  /** The total divided by `count`. Throws ExecutionError if it is out of range. */
  dividedBy(count: number): DurationValue {
    return normalizeDuration(this.months, this.days, this.nanos, BigInt(count))
  }
}

/**
 * Integers are summed exactly in any order, and only the result must fit 64 bits. One float makes the result a float. Durations are
 * added to durations only.
 */
class SumAccumulator implements Accumulator {
  private durations: DurationTotal | null = null
  private anyNumber = false
  private small = 0
  private large = 0n
  private floats = 0
  private anyFloat = false
  add(value: Value): void {
    if (value === null) return
    if (value instanceof DurationValue) {
      if (this.anyNumber) throw mixedError('sum')
      this.durations ??= new DurationTotal()
      this.durations.add(value)
      return
    }
    if (!isNumber(value)) throw notANumberError('sum', value)
    if (this.durations !== null) throw mixedError('sum')
    this.anyNumber = true
    if (value instanceof Float) {
      this.anyFloat = true
      this.floats += value.value
      return
    }
    const next = typeof value === 'number' ? this.small + value : Number.NaN
    if (Number.isSafeInteger(next)) this.small = next
    else this.large += BigInt(value)
  }
  result(): Value {
    if (this.durations !== null) return this.durations.dividedBy(1)
    const integers = this.large + BigInt(this.small)
    return this.anyFloat ? new Float(Number(integers) + this.floats) : normalizeInteger(integers)
  }
}

/** Of numbers always a float, of durations a duration; null without values. */
class AverageAccumulator implements Accumulator {
  private durations: DurationTotal | null = null
  private integers = 0n
  private floats = 0
  private count = 0
  add(value: Value): void {
    if (value === null) return
    if (value instanceof DurationValue) {
      if (this.durations === null && this.count > 0) throw mixedError('avg')
      this.durations ??= new DurationTotal()
      this.durations.add(value)
      this.count += 1
      return
    }
    if (!isNumber(value)) throw notANumberError('avg', value)
    if (this.durations !== null) throw mixedError('avg')
    this.count += 1
    if (value instanceof Float) this.floats += value.value
    else this.integers += BigInt(value)
  }
  result(): Value {
    if (this.count === 0) return null
    if (this.durations !== null) return this.durations.dividedBy(this.count)
    return new Float((Number(this.integers) + this.floats) / this.count)
  }
}

/** Minimum and maximum by the order of ORDER BY, which is defined for values of different kinds. */
class MinMaxAccumulator implements Accumulator {
  private best: Value = null
  private readonly budget: Budget
  private readonly sign: -1 | 1
  constructor(budget: Budget, sign: -1 | 1) {
    this.budget = budget
    this.sign = sign
  }
  add(value: Value): void {
    if (value === null) return
    if (this.best === null || order(this.budget, value, this.best) * this.sign > 0) this.best = value
  }
  result(): Value {
    return this.best
  }
}

/** Null without values. Welford's method (Technometrics 4(3), 1962): a plain sum of squares loses its digits if the mean is large. */
class StandardDeviationAccumulator implements Accumulator {
  private count = 0
  private mean = 0
  private squares = 0
  private readonly name: string
  private readonly lost: 0 | 1
  /** `lost`: degrees of freedom that the mean uses; 1 for a sample, 0 for a population. */
  constructor(name: string, lost: 0 | 1) {
    this.name = name
    this.lost = lost
  }
  add(value: Value): void {
    if (value === null) return
    if (!isNumber(value)) throw notANumberError(this.name, value)
    const double = toDouble(value)
    this.count += 1
    const before = double - this.mean
    this.mean += before / this.count
    this.squares += before * (double - this.mean)
  }
  result(): Value {
    if (this.count === 0) return null
    const freedom = this.count - this.lost
    return new Float(freedom > 0 ? Math.sqrt(this.squares / freedom) : 0)
  }
}

type SortedNumbers = readonly (number | bigint | Float)[]

class PercentileAccumulator implements Accumulator {
  private readonly values: (number | bigint | Float)[] = []
  private fraction: number | null = null
  private readonly budget: Budget
  private readonly name: string
  private readonly pick: (sorted: SortedNumbers, fraction: number) => Value
  constructor(budget: Budget, name: string, pick: (sorted: SortedNumbers, fraction: number) => Value) {
    this.budget = budget
    this.name = name
    this.pick = pick
  }
  add(value: Value, parameter: Value = null): void {
    if (this.fraction === null) this.fraction = percentileFraction(this.name, parameter)
    if (value === null) return
    if (!isNumber(value)) throw notANumberError(this.name, value)
    this.budget.chargeSteps(1)
    this.budget.retainBytes(estimateBytes(this.budget, value))
    this.values.push(value)
    if (this.values.length > VALUE_ITEMS_MAX) boundedList(this.budget, this.values)
  }
  result(): Value {
    if (this.values.length === 0) return null
    return this.pick(
      sortWithCharges(this.budget, this.values, (a, b) => order(this.budget, a, b)),
      this.fraction!,
    )
  }
}

function percentileFraction(name: string, value: Value): number {
  if (value === null || !isNumber(value)) {
    const message = `${name}() takes a number between 0.0 and 1.0 as its second argument, not ${kindName(value)}`
    throw new ExecutionError('argument', message, null, 'InvalidArgumentType')
  }
  const fraction = toDouble(value)
  if (!(fraction >= 0 && fraction <= 1)) {
    const message = `${name}() takes a number between 0.0 and 1.0 as its second argument, not ${fraction}`
    throw new ExecutionError('argument', message, null, 'NumberOutOfRange')
  }
  return fraction
}

function nearestRankPercentile(sorted: SortedNumbers, fraction: number): Value {
  return sorted[Math.max(0, Math.ceil(fraction * sorted.length) - 1)]!
}

function interpolatedPercentile(sorted: SortedNumbers, fraction: number): Value {
  const position = fraction * (sorted.length - 1)
  const [before, after] = [Math.floor(position), Math.ceil(position)]
  const below = toDouble(sorted[before]!)
  if (before === after) return new Float(below)
  // The difference of both numbers is NaN if both are infinite, and infinite if it overflows.
  return new Float(below * (after - position) + toDouble(sorted[after]!) * (position - before))
}

function mixedError(name: string): ExecutionError {
  return new ExecutionError(
    'type',
    `${name}() takes either numbers or durations, not both`,
    null,
    'InvalidArgumentType',
  )
}

function notANumberError(name: string, value: Value): ExecutionError {
  return new ExecutionError('type', `${name}() takes numbers, not ${kindName(value)}`, null, 'InvalidArgumentType')
}
