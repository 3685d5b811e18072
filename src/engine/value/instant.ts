// Moments as filters compare them: RFC 3339 text, or seconds since the epoch as tokens write them (RFC 7519, NumericDate).

import { Float } from '../../kernel/float.ts'
import { isNumber } from './compare.ts'
import type { Value } from './value.ts'

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](?!24)\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Milliseconds since the epoch; null for what is no moment. */
export function instantMs(value: Value): number | null {
  if (typeof value === 'string') {
    const [, year, month, day] = RFC_3339.exec(value) ?? []
    // The runtime takes the 30th of February for a day in March.
    if (Number(day) > daysIn(Number(year), Number(month))) return null
    const ms = day === undefined ? Number.NaN : Date.parse(value)
    return Number.isNaN(ms) ? null : ms
  }
  if (!isNumber(value)) return null
  const seconds = value instanceof Float ? value.value : Number(value)
  return Number.isFinite(seconds) ? seconds * 1000 : null
}

function daysIn(year: number, month: number): number {
  // The calendar repeats after 400 years, and the runtime takes the years before 100 for those of another century.
  return new Date(Date.UTC(year + 400, month, 0)).getUTCDate()
}
