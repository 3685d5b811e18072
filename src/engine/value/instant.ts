// Moments as filters compare them: RFC 3339 text, or seconds since the epoch as tokens write them (RFC 7519, NumericDate).

import { Float } from '../../kernel/float.ts'
import { isNumber } from './compare.ts'
import type { Value } from './value.ts'

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
