// Durations from members, from text and by multiplication. A fraction of a month carries into days and a fraction of a
// day into time, at the average length of a Gregorian month. Time never carries into days, nor days into months.
import type { Float } from '../../../kernel/float.ts'
import { ExecutionError } from '../../errors.ts'
import { type Decimal, parseDecimal, scaleTo, toDecimal } from './decimal.ts'
import { checkDuration, unparsableError } from './errors.ts'
import type { DurationValue } from './temporal.ts'

/** The average length of a Gregorian month. */
export const NANOS_PER_MONTH = 2_629_746n * 1_000_000_000n
/** Nanoseconds of 24 hours. */
export const NANOS_PER_DAY = 86_400n * 1_000_000_000n

type DurationGroup = 'months' | 'days' | 'nanos'

/** By member: its group, and its size in the unit of the group. */
const units: Readonly<Record<string, readonly [group: DurationGroup, size: bigint]>> = {
  years: ['months', 12n],
  quarters: ['months', 3n],
  months: ['months', 1n],
  weeks: ['days', 7n],
  days: ['days', 1n],
  hours: ['nanos', 3_600_000_000_000n],
  minutes: ['nanos', 60_000_000_000n],
  seconds: ['nanos', 1_000_000_000n],
  milliseconds: ['nanos', 1_000_000n],
  microseconds: ['nanos', 1_000n],
  nanoseconds: ['nanos', 1n],
}

/** Members of the map that `duration()` accepts. */
export const durationMembers = Object.keys(units)

/** The duration of numerators over `per`, which is positive. Throws ExecutionError if it is out of range. */
export function normalizeDuration(months: bigint, days: bigint, nanos: bigint, per: bigint): DurationValue {
  const day = NANOS_PER_DAY * per
  const inDays = days * NANOS_PER_DAY + (months % per) * NANOS_PER_MONTH
  return checkDuration(months / per, inDays / day, ((inDays % day) + nanos) / per)
}

/** Returns the sum of amounts by member. Throws ExecutionError if it is out of range. */
export function durationFromAmounts(amounts: Iterable<readonly [member: string, amount: Decimal]>): DurationValue {
  const given = [...amounts]
  const scale = Math.max(0, ...given.map(([, amount]) => amount.scale))
  const sums: Record<DurationGroup, bigint> = { months: 0n, days: 0n, nanos: 0n }
  for (const [member, amount] of given) {
    const [group, size] = units[member]!
    sums[group] += scaleTo(amount, scale) * size
  }
  return normalizeDuration(sums.months, sums.days, sums.nanos, 10n ** BigInt(scale))
}

/** Multiplies a duration by a number. */
export function multiplyDuration(
  { months, days, nanos }: DurationValue,
  factor: number | bigint | Float,
): DurationValue {
  const { digits, scale } = toDecimal(factor)
  return normalizeDuration(BigInt(months) * digits, BigInt(days) * digits, nanos * digits, 10n ** BigInt(scale))
}

/** Divides a duration by a number. Throws ExecutionError for zero. */
export function divideDuration(
  { months, days, nanos }: DurationValue,
  divisor: number | bigint | Float,
): DurationValue {
  const { digits, scale } = toDecimal(divisor)
  if (digits === 0n) throw new ExecutionError('arithmetic', '/ by zero', null, 'DivisionByZero')
  const factor = 10n ** BigInt(scale) * (digits < 0n ? -1n : 1n)
  return normalizeDuration(
    BigInt(months) * factor,
    BigInt(days) * factor,
    nanos * factor,
    digits < 0n ? -digits : digits,
  )
}

// ---------------------------------------------------------------- text

const LENGTH_MAX = 200
const amountPattern = (letter: string): string => `(?:([+-]?\\d+(?:[.,]\\d+)?)${letter})?`
const UNITS_PATTERN = new RegExp(
  `^([+-]?)P${['Y', 'M', 'W', 'D'].map(amountPattern).join('')}(?:(T)${['H', 'M', 'S'].map(amountPattern).join('')})?$`,
)
/** P2012-02-02T14:37:21.545 */
const EXTENDED_DATE_PATTERN = /^([+-]?)P(\d{4})-(\d\d)-(\d\d)(T)(\d\d):(\d\d):(\d\d(?:[.,]\d{1,9})?)$/
const BASIC_DATE_PATTERN = /^([+-]?)P(\d{4})(\d\d)(\d\d)(T)(\d\d)(\d\d)(\d\d(?:[.,]\d{1,9})?)$/

/** Parses an ISO 8601 duration, such as `P1Y2M3DT4H5M6.789S` or `P2012-02-02T14:37:21.545`. Throws ExecutionError. */
export function parseDuration(text: string): DurationValue {
  const amounts = text.length > LENGTH_MAX ? null : (amountsByUnits(text) ?? amountsByDate(text))
  if (amounts === null) throw unparsableError(text, 'duration')
  const negative = text.startsWith('-')
  return durationFromAmounts(
    amounts.flatMap(([member, given]) => {
      if (given === undefined) return []
      const { digits, scale } = parseDecimal(given)
      return [[member, { digits: negative ? -digits : digits, scale }] as const]
    }),
  )
}

type Amounts = readonly (readonly [member: string, text: string | undefined])[]

function amountsByUnits(text: string): Amounts | null {
  const found = UNITS_PATTERN.exec(text)
  if (!found) return null
  const [, , years, months, weeks, days, t, hours, minutes, seconds] = found
  const time: Amounts = [
    ['hours', hours],
    ['minutes', minutes],
    ['seconds', seconds],
  ]
  const date: Amounts = [
    ['years', years],
    ['months', months],
    ['weeks', weeks],
    ['days', days],
  ]
  const isThere = (part: Amounts): boolean => part.some(([, given]) => given !== undefined)
  // At least one amount must follow the `P`, and at least one must follow a `T`.
  return (t === undefined ? isThere(date) : isThere(time)) ? [...date, ...time] : null
}

function amountsByDate(text: string): Amounts | null {
  const found = EXTENDED_DATE_PATTERN.exec(text) ?? BASIC_DATE_PATTERN.exec(text)
  if (!found) return null
  const [, , years, months, days, , hours, minutes, seconds] = found
  return [
    ['years', years],
    ['months', months],
    ['days', days],
    ['hours', hours],
    ['minutes', minutes],
    ['seconds', seconds],
  ]
}
