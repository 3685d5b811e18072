// The duration from one temporal to another. What one of them lacks it takes from the other: a time of day stands on the
// other's day, what has no zone in the other's zone; a date is its midnight.
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { monthsBetween, plusMonths } from './calendar.ts'
import { epochNanos } from './epoch.ts'
import { checkedDuration, invalid } from './faults.ts'
import { dayIn, isInstantKind, nanosIn, zoneIn } from './select.ts'
import { DateTimeValue, type DurationValue } from './temporal.ts'
import { atWall, inZone, UTC, type Zone } from './zones.ts'

interface Pair {
  readonly from: DateTimeValue
  readonly to: DateTimeValue
  /** Both have a day of their own. */
  readonly dated: boolean
}

/** Both on the wall clock of one zone, which is `from`'s where it has one. */
function paired(name: string, from: Value, to: Value): Pair {
  for (const value of [from, to]) {
    if (!isInstantKind(value)) throw invalid(`${name}() takes two points in time, not ${kindName(value)}`)
  }
  const zone = zoneIn(from) ?? zoneIn(to) ?? UTC
  const [fromDay, toDay] = [dayIn(from), dayIn(to)]
  const start = standing(from, fromDay ?? toDay ?? 0, zone)
  return {
    from: start,
    to: inZone(standing(to, toDay ?? fromDay ?? 0, zoneIn(to) ?? zone), zone),
    dated: fromDay !== null && toDay !== null,
  }
}

function standing(value: Value, day: number, zone: Zone): DateTimeValue {
  return value instanceof DateTimeValue ? value : atWall(day, nanosIn(value) ?? 0, zone)
}

/** The day up to which whole days have passed on the wall clock. */
function lastWholeDay(from: DateTimeValue, to: DateTimeValue): number {
  if (to.day > from.day && to.nanos < from.nanos) return to.day - 1
  return to.day < from.day && to.nanos > from.nanos ? to.day + 1 : to.day
}

const measures: Readonly<Record<string, (pair: Pair) => DurationValue>> = {
  between: ({ from, to, dated }) => {
    if (!dated) return checkedDuration(0n, 0n, epochNanos(to) - epochNanos(from))
    const zone = from.zone ?? from.offset
    const months = monthsBetween(from.day, lastWholeDay(from, to))
    const afterMonths = atWall(plusMonths(from.day, months), from.nanos, zone, from.offset)
    const days = lastWholeDay(afterMonths, to) - afterMonths.day
    const afterDays = atWall(afterMonths.day + days, afterMonths.nanos, zone, afterMonths.offset)
    return checkedDuration(BigInt(months), BigInt(days), epochNanos(to) - epochNanos(afterDays))
  },
  inMonths: ({ from, to }) => checkedDuration(BigInt(monthsBetween(from.day, lastWholeDay(from, to))), 0n, 0n),
  inDays: ({ from, to }) => checkedDuration(0n, BigInt(lastWholeDay(from, to) - from.day), 0n),
  inSeconds: ({ from, to }) => checkedDuration(0n, 0n, epochNanos(to) - epochNanos(from)),
}

/** As functions of two values. */
export const durationMeasures: readonly (readonly [
  name: string,
  measure: (from: Value, to: Value) => DurationValue,
])[] = Object.entries(measures).map(([name, measure]) => {
  const full = `duration.${name}`
  return [full, (from, to) => measure(paired(full, from, to))]
})
