// Components of durations, against a model that counts by repeated subtraction and does not divide negative numbers. The
// rule is that of Neo4j: seconds are rounded down, the fraction of a second is never negative, and what is larger than a second is
// rounded towards zero.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { normalizeInteger } from '../../../../../src/engine/value/arithmetic.ts'
import { DurationValue } from '../../../../../src/engine/value/temporal/temporal.ts'
import type { Value } from '../../../../../src/engine/value/value.ts'
import { evaluate } from '../../../../support/evaluate-expression.ts'

const SECOND = 10n ** 9n

/** Quotient and rest of the sizes, with the sign given back. */
function split(value: bigint, by: bigint): readonly [whole: bigint, rest: bigint] {
  const size = value < 0n ? -value : value
  const rest = size % by
  const whole = (size - rest) / by
  return value < 0n ? [-whole, -rest] : [whole, rest]
}

/** Moves whole seconds from one to the other until the fraction is at least 0 and less than a second. */
function secondsAndFraction(nanos: bigint): readonly [seconds: bigint, fraction: bigint] {
  const [seconds, fraction] = split(nanos, SECOND)
  return fraction < 0n ? [seconds - 1n, fraction + SECOND] : [seconds, fraction]
}

function expectedComponents(months: bigint, days: bigint, nanos: bigint): Readonly<Record<string, bigint>> {
  const [seconds, fraction] = secondsAndFraction(nanos)
  const [hours] = split(seconds, 3600n)
  const [minutes, secondsOfMinute] = split(seconds, 60n)
  const [quarters, monthsOfQuarter] = split(months, 3n)
  return {
    years: split(months, 12n)[0],
    quarters,
    months,
    weeks: split(days, 7n)[0],
    days,
    quartersOfYear: split(quarters, 4n)[1],
    monthsOfYear: split(months, 12n)[1],
    monthsOfQuarter,
    daysOfWeek: split(days, 7n)[1],
    hours,
    minutes,
    seconds,
    milliseconds: seconds * 1000n + split(fraction, 1_000_000n)[0],
    microseconds: seconds * 1_000_000n + split(fraction, 1000n)[0],
    nanoseconds: nanos,
    minutesOfHour: split(minutes, 60n)[1],
    secondsOfMinute,
    millisecondsOfSecond: split(fraction, 1_000_000n)[0],
    microsecondsOfSecond: split(fraction, 1000n)[0],
    nanosecondsOfSecond: fraction,
  }
}

function component(value: DurationValue, name: string): Value {
  return evaluate(`$value.${name}`, { parameters: { value } })
}

describe('components of a duration', () => {
  it('agree with the model for both signs of months, days and time', () => {
    const amount = (bound: bigint) => fc.oneof(fc.bigInt(-bound, bound), fc.bigInt(-100n, 100n))
    const nanos = fc.oneof(
      amount(10n ** 18n),
      amount(SECOND),
      fc.bigInt(-100n, 100n).map((count) => count * SECOND),
    )
    fc.assert(
      fc.property(amount(10n ** 9n), amount(10n ** 9n), nanos, (months, days, time) => {
        const value = new DurationValue(Number(months), Number(days), time)
        for (const [name, expected] of Object.entries(expectedComponents(months, days, time))) {
          expect(component(value, name), `${value}.${name}`).toBe(normalizeInteger(expected))
        }
      }),
      { numRuns: 300 },
    )
  })

  it('together give the duration again', () => {
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 15n), 10n ** 15n), (nanos) => {
        const value = new DurationValue(0, 0, nanos)
        const read = (name: string): bigint => BigInt(component(value, name) as number | bigint)
        expect(read('seconds') * SECOND + read('nanosecondsOfSecond')).toBe(nanos)
        expect(read('hours') * 3600n + read('minutesOfHour') * 60n + read('secondsOfMinute')).toBe(read('seconds'))
        expect(read('seconds') * 1000n + read('millisecondsOfSecond')).toBe(read('milliseconds'))
        expect(read('seconds') * 1_000_000n + read('microsecondsOfSecond')).toBe(read('microseconds'))
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    ['2018-01-01T12:00', '2018-01-02T10:00', 0, 79200, 0],
    ['2018-01-02T10:00', '2018-01-01T12:00', 0, -79200, 0],
    ['2018-01-01T10:00:00.2', '2018-01-02T10:00:00.1', 0, 86399, 900_000_000],
    ['2018-01-02T10:00:00.1', '2018-01-01T10:00:00.2', 0, -86400, 100_000_000],
  ])('of duration.between %s and %s', (from, to, days, seconds, nanos) => {
    const between = `duration.between(localdatetime('${from}'), localdatetime('${to}'))`
    const read = ['days', 'seconds', 'nanosecondsOfSecond'].map((name) => evaluate(`${between}.${name}`))
    expect(read).toEqual([days, seconds, nanos])
  })
})
