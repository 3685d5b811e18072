// Computes a date from the members of a map: month and day, week and day of the week, quarter and day of the quarter, or
// day of the year. A missing member comes from the base date. Without a base date it is 1, but a year must be given.
import {
  calendarDate,
  dayNumber,
  dayOfYear,
  daysInMonth,
  daysInQuarter,
  daysInYear,
  quarterOf,
  quarterStart,
  weekDate,
  weeksInYear,
  weekYearStart,
  YEAR_MAX,
} from './calendar.ts'
import { invalidTemporalError } from './errors.ts'

/** Integers by member name; a missing member is undefined. */
export type IntegerFields = Readonly<Record<string, number | undefined>>

interface DateSystem {
  /** From coarse to fine: without a base date, each member needs the one before it. */
  readonly members: readonly string[]
  /** Returns a day number. `base`: the day number of the base date, or null. */
  resolve(parts: IntegerFields, base: number | null): number
}

/** The four ways to give a date. */
export const dateSystems: readonly DateSystem[] = [
  { members: ['month', 'day'], resolve: byMonth },
  { members: ['week', 'dayOfWeek'], resolve: byWeek },
  { members: ['quarter', 'dayOfQuarter'], resolve: byQuarter },
  { members: ['ordinalDay'], resolve: byDayOfYear },
]

/** Returns the member, or `otherwise` if it is missing. Throws ExecutionError if it is not between `min` and `max`. */
export function requireWithin(parts: IntegerFields, name: string, min: number, max: number, otherwise: number): number {
  const value = parts[name]
  if (value === undefined) return otherwise
  if (value >= min && value <= max) return value
  const wanted = `not between ${min} and ${max}`
  throw invalidTemporalError(`\`${name}\` is ${value}, ${wanted}`, `\`${name}\` is ${wanted}`)
}

function requireYear(parts: IntegerFields, otherwise: number | undefined): number {
  if (parts.year === undefined && otherwise === undefined) throw invalidTemporalError('a date needs a `year`')
  return requireWithin(parts, 'year', -YEAR_MAX, YEAR_MAX, otherwise ?? 0)
}

function byMonth(parts: IntegerFields, base: number | null): number {
  const from = base === null ? null : calendarDate(base)
  const year = requireYear(parts, from?.year)
  const month = requireWithin(parts, 'month', 1, 12, from?.month ?? 1)
  const days = daysInMonth(year, month)
  return dayNumber(year, month, requireWithin(parts, 'day', 1, days, Math.min(from?.day ?? 1, days)))
}

function byWeek(parts: IntegerFields, base: number | null): number {
  const from = base === null ? null : weekDate(base)
  const year = requireYear(parts, from?.weekYear)
  const weeks = weeksInYear(year)
  const week = requireWithin(parts, 'week', 1, weeks, Math.min(from?.week ?? 1, weeks))
  const day = requireWithin(parts, 'dayOfWeek', 1, 7, from?.weekDay ?? 1)
  return weekYearStart(year) + (week - 1) * 7 + day - 1
}

function byQuarter(parts: IntegerFields, base: number | null): number {
  const from = base === null ? null : calendarDate(base)
  const year = requireYear(parts, from?.year)
  const quarter = requireWithin(parts, 'quarter', 1, 4, from === null ? 1 : quarterOf(from.month))
  if (parts.dayOfQuarter === undefined && from !== null) {
    // Keeps the position of the month within the quarter, and the day of the month.
    const month = quarter * 3 - 2 + ((from.month - 1) % 3)
    return dayNumber(year, month, Math.min(from.day, daysInMonth(year, month)))
  }
  return quarterStart(year, quarter) + requireWithin(parts, 'dayOfQuarter', 1, daysInQuarter(year, quarter), 1) - 1
}

function byDayOfYear(parts: IntegerFields, base: number | null): number {
  const year = requireYear(parts, base === null ? undefined : calendarDate(base).year)
  const otherwise = base === null ? 1 : dayOfYear(base)
  return dayNumber(year, 1, 1) + requireWithin(parts, 'ordinalDay', 1, daysInYear(year), otherwise) - 1
}
