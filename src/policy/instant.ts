// Moments in filters: RFC 3339 text, or seconds since the epoch as tokens write them (RFC 7519, NumericDate).
import { isNumber } from '../engine/value/compare.ts'
import type { Value } from '../engine/value/value.ts'
import { Float } from '../kernel/float.ts'

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Milliseconds since the epoch; null for what is no moment. */
export function instantMs(value: Value): number | null {
  if (typeof value === 'string') {
    const ms = RFC_3339.test(value) ? Date.parse(value) : Number.NaN
    return Number.isNaN(ms) ? null : ms
  }
  if (!isNumber(value)) return null
  const seconds = value instanceof Float ? value.value : Number(value)
  return Number.isFinite(seconds) ? seconds * 1000 : null
}
