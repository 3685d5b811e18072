// The proleptic Gregorian calendar and the ISO week over days counted from 1970-01-01, for every year that Cypher knows.

/** As far as Cypher's dates go; four thousand times further than the runtime's own. */
export const YEAR_MAX = 999_999_999

const DAYS_PER_400_YEARS = 146_097
/** From 0000-03-01, where the 400 years begin, to 1970-01-01. */
const EPOCH_SHIFT = 719_468

export interface CalendarDate {
  readonly year: number
  readonly month: number
  readonly day: number
}

/** Years are counted from March, so that the leap day is a year's last. */
export function dayNumber(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year
  const cycle = Math.floor(marchYear / 400)
  const yearOfCycle = marchYear - cycle * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const dayOfCycle = yearOfCycle * 365 + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100) + dayOfYear
  return cycle * DAYS_PER_400_YEARS + dayOfCycle - EPOCH_SHIFT
}

export function calendarDate(dayNumber: number): CalendarDate {
  const shifted = dayNumber + EPOCH_SHIFT
  const cycle = Math.floor(shifted / DAYS_PER_400_YEARS)
  const dayOfCycle = shifted - cycle * DAYS_PER_400_YEARS
  const leapDays =
    Math.floor(dayOfCycle / 1460) - Math.floor(dayOfCycle / 36_524) + Math.floor(dayOfCycle / (DAYS_PER_400_YEARS - 1))
  const yearOfCycle = Math.floor((dayOfCycle - leapDays) / 365)
  const dayOfYear = dayOfCycle - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100))
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  const year = yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0)
  return { year, month, day: dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1 }
}

export const DAY_MIN = dayNumber(-YEAR_MAX, 1, 1)
export const DAY_MAX = dayNumber(YEAR_MAX, 12, 31)

export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

export function daysInYear(year: number): number {
  return isLeapYear(year) ? 366 : 365
}

export function dayOfYear(day: number): number {
  return day - dayNumber(calendarDate(day).year, 1, 1) + 1
}

// ---------------------------------------------------------------- quarters

export function quarterOf(month: number): number {
  return Math.ceil(month / 3)
}

export function quarterStart(year: number, quarter: number): number {
  return dayNumber(year, quarter * 3 - 2, 1)
}

export function daysInQuarter(year: number, quarter: number): number {
  return quarter === 4 ? 92 : quarterStart(year, quarter + 1) - quarterStart(year, quarter)
}

// ---------------------------------------------------------------- weeks

/** Monday is 1. */
export function weekDay(day: number): number {
  // 1970-01-01 was a Thursday.
  return ((((day + 3) % 7) + 7) % 7) + 1
}

export interface WeekDate {
  readonly weekYear: number
  readonly week: number
  readonly weekDay: number
}

/** A week belongs to the year of its Thursday. */
export function weekDate(day: number): WeekDate {
  const today = weekDay(day)
  const thursday = day - today + 4
  const { year } = calendarDate(thursday)
  return { weekYear: year, week: Math.floor((thursday - dayNumber(year, 1, 1)) / 7) + 1, weekDay: today }
}

/** The Monday of the first week, which is the week of 4 January. */
export function weekYearStart(weekYear: number): number {
  const fourth = dayNumber(weekYear, 1, 4)
  return fourth - weekDay(fourth) + 1
}

export function weeksInYear(weekYear: number): number {
  return (weekYearStart(weekYear + 1) - weekYearStart(weekYear)) / 7
}

// ---------------------------------------------------------------- months

/** The same day of another month, or that month's last where it is shorter. */
export function plusMonths(day: number, months: number): number {
  const from = calendarDate(day)
  const total = from.year * 12 + from.month - 1 + months
  const year = Math.floor(total / 12)
  const month = total - year * 12 + 1
  return dayNumber(year, month, Math.min(from.day, daysInMonth(year, month)))
}

/** Whole months, towards zero. */
export function monthsBetween(from: number, to: number): number {
  // 32 stands above every day of a month: what is left of a month never makes up a whole one.
  return Math.trunc((inMonths(to) - inMonths(from)) / 32)
}

function inMonths(day: number): number {
  const { year, month, day: dayOfMonth } = calendarDate(day)
  return (year * 12 + month - 1) * 32 + dayOfMonth
}
