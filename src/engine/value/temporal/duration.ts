// Durations from their members, from text and by numbers. A fraction of a month spills into days and one of a day into
// time, at the average length of a Gregorian month; nothing ever flows back.
import type { Float } from '../../../kernel/float.ts'
import { RunFault } from '../../errors.ts'
import { type Decimal, decimalOf, decimalText, scaledTo } from './decimal.ts'
import { checkedDuration, unreadable } from './faults.ts'
import type { DurationValue } from './temporal.ts'

export const NANOS_PER_MONTH = 2_629_746n * 1_000_000_000n
export const NANOS_PER_DAY = 86_400n * 1_000_000_000n

type Group = 'months' | 'days' | 'nanos'

/** What a member counts, in the unit of its group. */
const units: Readonly<Record<string, readonly [group: Group, size: bigint]>> = {
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

export const durationMembers = Object.keys(units)

/** Numerators over `per`, which is positive. */
function settled(months: bigint, days: bigint, nanos: bigint, per: bigint): DurationValue {
  const day = NANOS_PER_DAY * per
  const inDays = days * NANOS_PER_DAY + (months % per) * NANOS_PER_MONTH
  return checkedDuration(months / per, inDays / day, ((inDays % day) + nanos) / per)
}

export function durationFrom(amounts: Iterable<readonly [member: string, amount: Decimal]>): DurationValue {
  const given = [...amounts]
  const scale = Math.max(0, ...given.map(([, amount]) => amount.scale))
  const sums: Record<Group, bigint> = { months: 0n, days: 0n, nanos: 0n }
  for (const [member, amount] of given) {
    const [group, size] = units[member]!
    sums[group] += scaledTo(amount, scale) * size
  }
  return settled(sums.months, sums.days, sums.nanos, 10n ** BigInt(scale))
}

export function multiplied({ months, days, nanos }: DurationValue, factor: number | bigint | Float): DurationValue {
  const { digits, scale } = decimalOf(factor)
  return settled(BigInt(months) * digits, BigInt(days) * digits, nanos * digits, 10n ** BigInt(scale))
}

export function divided({ months, days, nanos }: DurationValue, divisor: number | bigint | Float): DurationValue {
  const { digits, scale } = decimalOf(divisor)
  if (digits === 0n) throw new RunFault('arithmetic', '/ by zero', null, 'DivisionByZero')
  const factor = 10n ** BigInt(scale) * (digits < 0n ? -1n : 1n)
  return settled(BigInt(months) * factor, BigInt(days) * factor, nanos * factor, digits < 0n ? -digits : digits)
}

// ---------------------------------------------------------------- text

const LENGTH_MAX = 200
const amount = (letter: string): string => `(?:([+-]?\\d+(?:[.,]\\d+)?)${letter})?`
const BY_UNITS = new RegExp(
  `^([+-]?)P${['Y', 'M', 'W', 'D'].map(amount).join('')}(?:(T)${['H', 'M', 'S'].map(amount).join('')})?$`,
)
/** P2012-02-02T14:37:21.545 */
const BY_DATE = /^([+-]?)P(\d{4})-(\d\d)-(\d\d)(T)(\d\d):(\d\d):(\d\d(?:[.,]\d{1,9})?)$/
const BASIC_DATE = /^([+-]?)P(\d{4})(\d\d)(\d\d)(T)(\d\d)(\d\d)(\d\d(?:[.,]\d{1,9})?)$/

export function readDuration(text: string): DurationValue {
  const amounts = text.length > LENGTH_MAX ? null : (byUnits(text) ?? byDate(text))
  if (amounts === null) throw unreadable(text, 'duration')
  const negative = text.startsWith('-')
  return durationFrom(
    amounts.flatMap(([member, given]) => {
      if (given === undefined) return []
      const { digits, scale } = decimalText(given)
      return [[member, { digits: negative ? -digits : digits, scale }] as const]
    }),
  )
}

type Amounts = readonly (readonly [member: string, text: string | undefined])[]

function byUnits(text: string): Amounts | null {
  const found = BY_UNITS.exec(text)
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
  // A `T` must be followed by something, and something must follow the `P`.
  return (t === undefined ? isThere(date) : isThere(time)) ? [...date, ...time] : null
}

function byDate(text: string): Amounts | null {
  const found = BY_DATE.exec(text) ?? BASIC_DATE.exec(text)
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
