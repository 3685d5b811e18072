// `+` and `-` with durations. Months are added first, clamped to the last day of a shorter month, then days, then time.
import { plusMonths } from './calendar.ts'
import { checkDay, checkDuration } from './errors.ts'
import { NANOS_PER_DAY } from './format.ts'
import {
  type AnyTemporal,
  DateValue,
  DurationValue,
  isTemporal,
  LocalDateTimeValue,
  LocalTimeValue,
  TimeValue,
} from './temporal.ts'
import { fromInstant, fromWallClock, instantOf, zoneOfDateTime } from './zones.ts'

const NANOS_PER_DAY_BIGINT = BigInt(NANOS_PER_DAY)

/** `value + by` or, with sign -1, `value - by`. Throws ExecutionError if the result is out of range. */
export function addDuration(value: AnyTemporal, by: DurationValue, sign: 1 | -1): AnyTemporal {
  const nanos = sign === 1 ? by.nanos : -by.nanos
  switch (value.kind) {
    case 'date':
      // A date drops less than a day.
      return new DateValue(checkDay(addDaysAndMonths(value.day, by, sign) + Number(nanos / NANOS_PER_DAY_BIGINT)))
    case 'localtime':
      return new LocalTimeValue(addNanosToTimeOfDay(value.nanos, nanos).nanos)
    case 'time':
      return new TimeValue(addNanosToTimeOfDay(value.nanos, nanos).nanos, value.offset)
    case 'localdatetime': {
      const { days, nanos: rest } = addNanosToTimeOfDay(value.nanos, nanos)
      return new LocalDateTimeValue(checkDay(addDaysAndMonths(value.day, by, sign) + days), rest)
    }
    case 'datetime': {
      // Months and days are calendar arithmetic in local time. Hours are elapsed time, also across a clock change.
      const there = fromWallClock(
        addDaysAndMonths(value.day, by, sign),
        value.nanos,
        zoneOfDateTime(value),
        value.offset,
      )
      if (nanos === 0n) return there
      const utc = instantOf(there)
      const { days, nanos: rest } = addNanosToTimeOfDay(utc.nanos, nanos)
      return fromInstant(checkDay(utc.day + days), rest, zoneOfDateTime(value))
    }
    case 'duration':
      return checkDuration(
        BigInt(value.months) + BigInt(sign * by.months),
        BigInt(value.days) + BigInt(sign * by.days),
        value.nanos + nanos,
      )
  }
}

function addDaysAndMonths(day: number, by: DurationValue, sign: 1 | -1): number {
  const inMonth = by.months === 0 ? day : checkDay(plusMonths(day, sign * by.months))
  return checkDay(inMonth + sign * by.days)
}

/** Returns whole days and the remaining nanoseconds of the day, which are never negative. */
function addNanosToTimeOfDay(nanosOfDay: number, by: bigint): { readonly days: number; readonly nanos: number } {
  const total = BigInt(nanosOfDay) + by
  const nanos = ((total % NANOS_PER_DAY_BIGINT) + NANOS_PER_DAY_BIGINT) % NANOS_PER_DAY_BIGINT
  return { days: Number((total - nanos) / NANOS_PER_DAY_BIGINT), nanos: Number(nanos) }
}

/** `a + b`; null if the operands cannot be added. */
export function addTemporals(a: unknown, b: unknown): AnyTemporal | null {
  if (b instanceof DurationValue) return isTemporal(a) ? addDuration(a, b, 1) : null
  return a instanceof DurationValue && isTemporal(b) ? addDuration(b, a, 1) : null
}

/** `a - b`; null if the operands cannot be subtracted. */
export function subtractTemporals(a: unknown, b: unknown): AnyTemporal | null {
  return isTemporal(a) && b instanceof DurationValue ? addDuration(a, b, -1) : null
}
