// `+` and `-` with durations: months first, at the end of a shorter month if need be, then days, then time.
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

/** `value + duration` or, with sign -1, `value - duration`. */
export function addDuration(value: AnyTemporal, by: DurationValue, sign: 1 | -1): AnyTemporal {
  const nanos = sign === 1 ? by.nanos : -by.nanos
  switch (value.kind) {
    case 'date':
      // A date has no room for less than a day.
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
      // Months and days by the calendar on the wall, time as it passes: an hour is an hour when clocks are changed.
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

/** Days and nanoseconds of the day, the latter never negative. */
function addNanosToTimeOfDay(nanosOfDay: number, by: bigint): { readonly days: number; readonly nanos: number } {
  const total = BigInt(nanosOfDay) + by
  const nanos = ((total % NANOS_PER_DAY_BIGINT) + NANOS_PER_DAY_BIGINT) % NANOS_PER_DAY_BIGINT
  return { days: Number((total - nanos) / NANOS_PER_DAY_BIGINT), nanos: Number(nanos) }
}

/** Null where `+` has no meaning. */
export function addTemporals(a: unknown, b: unknown): AnyTemporal | null {
  if (b instanceof DurationValue) return isTemporal(a) ? addDuration(a, b, 1) : null
  return a instanceof DurationValue && isTemporal(b) ? addDuration(b, a, 1) : null
}

/** Null where `-` has no meaning. */
export function subtractTemporals(a: unknown, b: unknown): AnyTemporal | null {
  return isTemporal(a) && b instanceof DurationValue ? addDuration(a, b, -1) : null
}
