// Instants as policy filters compare them: RFC 3339 text, or seconds since the epoch as in tokens (NumericDate, RFC 7519
// section 2).
import { Float } from '../../kernel/float.ts'
import { isNumber } from './compare.ts'
import type { Value } from './value.ts'

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](?!24)\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Returns milliseconds since the Unix epoch; null if the value is not an instant. */
export function instantMs(value: Value): number | null {
  if (typeof value === 'string') {
    const [, year, month, day] = RFC_3339.exec(value) ?? []
    // The runtime parses 30 February as a day in March.
    if (Number(day) > daysIn(Number(year), Number(month))) return null
    const ms = day === undefined ? Number.NaN : Date.parse(value)
    return Number.isNaN(ms) ? null : ms
  }
  if (!isNumber(value)) return null
  const seconds = value instanceof Float ? value.value : Number(value)
  return Number.isFinite(seconds) ? seconds * 1000 : null
}

function daysIn(year: number, month: number): number {
  // The calendar repeats after 400 years, and the runtime interprets the years 0 to 99 as 1900 to 1999.
  return new Date(Date.UTC(year + 400, month, 0)).getUTCDate()
}
