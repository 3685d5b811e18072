// A date from the members of one of the four ways to name it: by month, week, quarter or day of the year. What is not
// given comes from a base date where there is one, else it is the first.
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
import { invalid } from './faults.ts'

/** Whole numbers by member name; absent members are undefined. */
export type Parts = Readonly<Record<string, number | undefined>>

interface DateSystem {
  /** Coarser first: without a base, each needs the one before it. */
  readonly members: readonly string[]
  resolve(parts: Parts, base: number | null): number
}

export const dateSystems: readonly DateSystem[] = [
  { members: ['month', 'day'], resolve: byMonth },
  { members: ['week', 'dayOfWeek'], resolve: byWeek },
  { members: ['quarter', 'dayOfQuarter'], resolve: byQuarter },
  { members: ['ordinalDay'], resolve: byDayOfYear },
]

/** A given number within its bounds, or what stands for it. */
export function within(parts: Parts, name: string, min: number, max: number, otherwise: number): number {
  const value = parts[name]
  if (value === undefined) return otherwise
  if (value >= min && value <= max) return value
  const wanted = `not between ${min} and ${max}`
  throw invalid(`\`${name}\` is ${value}, ${wanted}`, `\`${name}\` is ${wanted}`)
}

function yearOf(parts: Parts, otherwise: number | undefined): number {
  if (parts.year === undefined && otherwise === undefined) throw invalid('a date needs a `year`')
  return within(parts, 'year', -YEAR_MAX, YEAR_MAX, otherwise ?? 0)
}

function byMonth(parts: Parts, base: number | null): number {
  const from = base === null ? null : calendarDate(base)
  const year = yearOf(parts, from?.year)
  const month = within(parts, 'month', 1, 12, from?.month ?? 1)
  const days = daysInMonth(year, month)
  return dayNumber(year, month, within(parts, 'day', 1, days, Math.min(from?.day ?? 1, days)))
}

function byWeek(parts: Parts, base: number | null): number {
  const from = base === null ? null : weekDate(base)
  const year = yearOf(parts, from?.weekYear)
  const weeks = weeksInYear(year)
  const week = within(parts, 'week', 1, weeks, Math.min(from?.week ?? 1, weeks))
  const day = within(parts, 'dayOfWeek', 1, 7, from?.weekDay ?? 1)
  return weekYearStart(year) + (week - 1) * 7 + day - 1
}

function byQuarter(parts: Parts, base: number | null): number {
  const from = base === null ? null : calendarDate(base)
  const year = yearOf(parts, from?.year)
  const quarter = within(parts, 'quarter', 1, 4, from === null ? 1 : quarterOf(from.month))
  if (parts.dayOfQuarter === undefined && from !== null) {
    // The same day of the same month within the quarter.
    const month = quarter * 3 - 2 + ((from.month - 1) % 3)
    return dayNumber(year, month, Math.min(from.day, daysInMonth(year, month)))
  }
  return quarterStart(year, quarter) + within(parts, 'dayOfQuarter', 1, daysInQuarter(year, quarter), 1) - 1
}

function byDayOfYear(parts: Parts, base: number | null): number {
  const year = yearOf(parts, base === null ? undefined : calendarDate(base).year)
  const otherwise = base === null ? 1 : dayOfYear(base)
  return dayNumber(year, 1, 1) + within(parts, 'ordinalDay', 1, daysInYear(year), otherwise) - 1
}
