// `+` and `-` with durations: months first, at the end of a shorter month if need be, then days, then time.
import { plusMonths } from './calendar.ts'
import { checkedDay, checkedDuration } from './faults.ts'
import {
  type AnyTemporal,
  DateValue,
  DurationValue,
  isTemporal,
  LocalDateTimeValue,
  LocalTimeValue,
  TimeValue,
} from './temporal.ts'
import { NANOS_PER_DAY } from './text.ts'
import { atInstant, atWall, instantOf, zoneOf } from './zones.ts'

const NANOS = BigInt(NANOS_PER_DAY)

/** `value + duration` or, with sign -1, `value - duration`. */
export function shifted(value: AnyTemporal, by: DurationValue, sign: 1 | -1): AnyTemporal {
  const nanos = sign === 1 ? by.nanos : -by.nanos
  switch (value.kind) {
    case 'date':
      // A date has no room for less than a day.
      return new DateValue(checkedDay(shiftedDay(value.day, by, sign) + Number(nanos / NANOS)))
    case 'localtime':
      return new LocalTimeValue(carried(value.nanos, nanos).nanos)
    case 'time':
      return new TimeValue(carried(value.nanos, nanos).nanos, value.offset)
    case 'localdatetime': {
      const { days, nanos: rest } = carried(value.nanos, nanos)
      return new LocalDateTimeValue(checkedDay(shiftedDay(value.day, by, sign) + days), rest)
    }
    case 'datetime': {
      // Months and days by the calendar on the wall, time as it passes: an hour is an hour when clocks are changed.
      const there = atWall(shiftedDay(value.day, by, sign), value.nanos, zoneOf(value), value.offset)
      if (nanos === 0n) return there
      const utc = instantOf(there)
      const { days, nanos: rest } = carried(utc.nanos, nanos)
      return atInstant(checkedDay(utc.day + days), rest, zoneOf(value))
    }
    case 'duration':
      return checkedDuration(
        BigInt(value.months) + BigInt(sign * by.months),
        BigInt(value.days) + BigInt(sign * by.days),
        value.nanos + nanos,
      )
  }
}

function shiftedDay(day: number, by: DurationValue, sign: 1 | -1): number {
  const inMonth = by.months === 0 ? day : checkedDay(plusMonths(day, sign * by.months))
  return checkedDay(inMonth + sign * by.days)
}

/** Days and nanoseconds of the day, the latter never negative. */
function carried(nanosOfDay: number, by: bigint): { readonly days: number; readonly nanos: number } {
  const total = BigInt(nanosOfDay) + by
  const nanos = ((total % NANOS) + NANOS) % NANOS
  return { days: Number((total - nanos) / NANOS), nanos: Number(nanos) }
}

/** Null where `+` has no meaning. */
export function sumOf(a: unknown, b: unknown): AnyTemporal | null {
  if (b instanceof DurationValue) return isTemporal(a) ? shifted(a, b, 1) : null
  return a instanceof DurationValue && isTemporal(b) ? shifted(b, a, 1) : null
}

/** Null where `-` has no meaning. */
export function differenceOf(a: unknown, b: unknown): AnyTemporal | null {
  return isTemporal(a) && b instanceof DurationValue ? shifted(a, b, -1) : null
}
