// The proleptic Gregorian calendar and ISO 8601 weeks over day numbers, for every year that Cypher supports. A day
// number counts days from 1970-01-01.
/** The last year of Cypher dates; the native Date of the runtime ends at about year 275,760. */
export const YEAR_MAX = 999_999_999

const DAYS_PER_400_YEARS = 146_097
/** Days from 0000-03-01, where a cycle of 400 years starts, to 1970-01-01. */
const EPOCH_SHIFT = 719_468

/** A date by year, month (1 to 12) and day of the month. */
interface CalendarDate {
  readonly year: number
  readonly month: number
  readonly day: number
}

/** Returns the day number of a date. Years start in March, so that the leap day is the last day of a year. */
export function dayNumber(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year
  const cycle = Math.floor(marchYear / 400)
  const yearOfCycle = marchYear - cycle * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const dayOfCycle = yearOfCycle * 365 + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100) + dayOfYear
  return cycle * DAYS_PER_400_YEARS + dayOfCycle - EPOCH_SHIFT
}

/** Returns the date of a day number. */
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

/** Day number of the first date. */
export const DAY_MIN = dayNumber(-YEAR_MAX, 1, 1)
/** Day number of the last date. */
export const DAY_MAX = dayNumber(YEAR_MAX, 12, 31)

/** Whether a year has 366 days. */
function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** Returns the number of days of a month (1 to 12). */
export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Returns 365 or 366. */
export function daysInYear(year: number): number {
  return isLeapYear(year) ? 366 : 365
}

/** Returns the day of the year, from 1. */
export function dayOfYear(day: number): number {
  return day - dayNumber(calendarDate(day).year, 1, 1) + 1
}

// ---------------------------------------------------------------- quarters

/** Returns the quarter (1 to 4) of a month (1 to 12). */
export function quarterOf(month: number): number {
  return Math.ceil(month / 3)
}

/** Returns the day number of the first day of a quarter. */
export function quarterStart(year: number, quarter: number): number {
  return dayNumber(year, quarter * 3 - 2, 1)
}

/** Returns the number of days of a quarter. */
export function daysInQuarter(year: number, quarter: number): number {
  return quarter === 4 ? 92 : quarterStart(year, quarter + 1) - quarterStart(year, quarter)
}

// ---------------------------------------------------------------- weeks

/** Returns the ISO day of the week: Monday is 1. */
export function weekDay(day: number): number {
  // 1970-01-01 was a Thursday.
  return ((((day + 3) % 7) + 7) % 7) + 1
}

/** An ISO week date. */
interface WeekDate {
  readonly weekYear: number
  readonly week: number
  readonly weekDay: number
}

/** Returns the ISO week date of a day number. A week belongs to the year of its Thursday. */
export function weekDate(day: number): WeekDate {
  const today = weekDay(day)
  const thursday = day - today + 4
  const { year } = calendarDate(thursday)
  return { weekYear: year, week: Math.floor((thursday - dayNumber(year, 1, 1)) / 7) + 1, weekDay: today }
}

/** Returns the Monday of week 1, which is the week of 4 January. */
export function weekYearStart(weekYear: number): number {
  const fourth = dayNumber(weekYear, 1, 4)
  return fourth - weekDay(fourth) + 1
}

/** Returns 52 or 53. */
export function weeksInYear(weekYear: number): number {
  return (weekYearStart(weekYear + 1) - weekYearStart(weekYear)) / 7
}

// ---------------------------------------------------------------- months

/** Adds months to a day number. The day of the month is clamped to the length of the new month. */
export function plusMonths(day: number, months: number): number {
  const from = calendarDate(day)
  const total = from.year * 12 + from.month - 1 + months
  const year = Math.floor(total / 12)
  const month = total - year * 12 + 1
  return dayNumber(year, month, Math.min(from.day, daysInMonth(year, month)))
}

/** Returns the number of whole months between two day numbers, rounded towards zero. */
export function monthsBetween(from: number, to: number): number {
  // A month counts as 32 units, more than its days, so that the remainder of a month never counts as a whole one.
  return Math.trunc((inMonths(to) - inMonths(from)) / 32)
}

function inMonths(day: number): number {
  const { year, month, day: dayOfMonth } = calendarDate(day)
  return (year * 12 + month - 1) * 32 + dayOfMonth
}
