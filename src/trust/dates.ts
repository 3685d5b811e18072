// Reads dates of properties and metadata. The usual forms are read digit by digit: a pass reads several dates of each node.
import type { PropertyValue } from '../engine/value/value.ts'
import { isTimestamp } from '../kernel/element-rules.ts'

const DAY_MS = 86_400_000

/** The first and the last millisecond of a date. */
export interface DateRange {
  readonly firstMs: number
  readonly lastMs: number
}

const DATE = /^\d{4}-\d\d-\d\d$/

/** A day (`2026-11-22`, in UTC) or an RFC 3339 timestamp; null for anything else. */
export function dateOf(value: PropertyValue): DateRange | null {
  if (typeof value !== 'string') return null
  const usualMs = usualTime(value)
  if (!Number.isNaN(usualMs)) return { firstMs: usualMs, lastMs: value.length === 10 ? usualMs + DAY_MS - 1 : usualMs }
  if (DATE.test(value)) {
    if (!isTimestamp(`${value}T00:00:00Z`)) return null
    const firstMs = Date.parse(value)
    return { firstMs, lastMs: firstMs + DAY_MS - 1 }
  }
  if (!isTimestamp(value)) return null
  const ms = Date.parse(value)
  return { firstMs: ms, lastMs: ms }
}

/** The time of an RFC 3339 timestamp, in milliseconds since the epoch. NaN if the text is not a time. */
export function timestampMs(text: string): number {
  const ms = text.length === 20 ? usualTime(text) : Number.NaN
  return Number.isNaN(ms) ? Date.parse(text) : ms
}

const T = 0x54
const Z = 0x5a
const DASH = 0x2d
const COLON = 0x3a
/** All months have these days; for others the regular expression decides. */
const DAYS_MIN = 28

/** The time of a text of the form `2026-11-22` or `2026-11-22T10:00:00Z`; NaN for any other text, and for some rare days. */
function usualTime(text: string): number {
  const { length } = text
  if (length !== 10 && length !== 20) return Number.NaN
  if (text.charCodeAt(4) !== DASH || text.charCodeAt(7) !== DASH) return Number.NaN
  const year = digits(text, 0) * 100 + digits(text, 2)
  const month = digits(text, 5)
  const day = digits(text, 8)
  if (!(year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= DAYS_MIN)) return Number.NaN
  const dayMs = dayNumber(year, month, day) * DAY_MS
  if (length === 10) return dayMs
  if (text.charCodeAt(10) !== T || text.charCodeAt(19) !== Z) return Number.NaN
  if (text.charCodeAt(13) !== COLON || text.charCodeAt(16) !== COLON) return Number.NaN
  const hour = digits(text, 11)
  const minute = digits(text, 14)
  const second = digits(text, 17)
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return Number.NaN
  return dayMs + ((hour * 60 + minute) * 60 + second) * 1000
}

/** Days since 1970-01-01, in a third of the time of `Date.UTC`. The year begins in March, so that the leap day is its last. */
function dayNumber(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const dayOfYear = Math.floor((153 * (month <= 2 ? month + 9 : month - 3) + 2) / 5) + day - 1
  return y * 365 + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + dayOfYear - DAYS_TO_1970
}

/** From 1 March of the year 0. */
const DAYS_TO_1970 = 719_468

/** The number that two digits form; NaN if they are not digits. */
function digits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 0x30
  const ones = text.charCodeAt(at + 1) - 0x30
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}
