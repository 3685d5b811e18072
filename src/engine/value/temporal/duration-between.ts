// The duration between two temporal values. A missing part comes from the other value: the day for a time of day, and
// the time zone for a local value. The time of day of a date is midnight.
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { monthsBetween, plusMonths } from './calendar.ts'
import { epochNanos } from './epoch.ts'
import { checkDuration, invalidTemporalError } from './errors.ts'
import { dayOf, isInstant, nanosOfDayOf, zoneOfValue } from './select.ts'
import { DateTimeValue, type DurationValue } from './temporal.ts'
import { fromWallClock, UTC, withZone, type Zone } from './zones.ts'

interface InstantPair {
  readonly from: DateTimeValue
  readonly to: DateTimeValue
  /** Both values have a day of their own. */
  readonly bothHaveDates: boolean
}

/** Converts both values to local time in one time zone: that of `from` if it has one. */
function alignInstants(name: string, from: Value, to: Value): InstantPair {
  for (const value of [from, to]) {
    if (!isInstant(value)) throw invalidTemporalError(`${name}() needs two instants, not ${kindName(value)}`)
  }
  const zone = zoneOfValue(from) ?? zoneOfValue(to) ?? UTC
  const [fromDay, toDay] = [dayOf(from), dayOf(to)]
  const start = onWallClock(from, fromDay ?? toDay ?? 0, zone)
  return {
    from: start,
    to: withZone(onWallClock(to, toDay ?? fromDay ?? 0, zoneOfValue(to) ?? zone), zone),
    bothHaveDates: fromDay !== null && toDay !== null,
  }
}

function onWallClock(value: Value, day: number, zone: Zone): DateTimeValue {
  return value instanceof DateTimeValue ? value : fromWallClock(day, nanosOfDayOf(value) ?? 0, zone)
}

/** The day until which whole days have passed in local time. */
function lastFullDay(from: DateTimeValue, to: DateTimeValue): number {
  if (to.day > from.day && to.nanos < from.nanos) return to.day - 1
  return to.day < from.day && to.nanos > from.nanos ? to.day + 1 : to.day
}

const measures: Readonly<Record<string, (pair: InstantPair) => DurationValue>> = {
  between: ({ from, to, bothHaveDates }) => {
    if (!bothHaveDates) return checkDuration(0n, 0n, epochNanos(to) - epochNanos(from))
    const zone = from.zone ?? from.offset
    const months = monthsBetween(from.day, lastFullDay(from, to))
    const afterMonths = fromWallClock(plusMonths(from.day, months), from.nanos, zone, from.offset)
    const days = lastFullDay(afterMonths, to) - afterMonths.day
    const afterDays = fromWallClock(afterMonths.day + days, afterMonths.nanos, zone, afterMonths.offset)
    return checkDuration(BigInt(months), BigInt(days), epochNanos(to) - epochNanos(afterDays))
  },
  inMonths: ({ from, to }) => checkDuration(BigInt(monthsBetween(from.day, lastFullDay(from, to))), 0n, 0n),
  inDays: ({ from, to }) => checkDuration(0n, BigInt(lastFullDay(from, to) - from.day), 0n),
  inSeconds: ({ from, to }) => checkDuration(0n, 0n, epochNanos(to) - epochNanos(from)),
}

/** `duration.between`, `.inMonths`, `.inDays` and `.inSeconds` as functions of two values. They throw ExecutionError. */
export const durationMeasures: readonly (readonly [
  name: string,
  measure: (from: Value, to: Value) => DurationValue,
])[] = Object.entries(measures).map(([name, measure]) => {
  const full = `duration.${name}`
  return [full, (from, to) => measure(alignInstants(full, from, to))]
})
