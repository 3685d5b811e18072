// What can be read off a temporal by name: `d.year`, `t.offsetMinutes`, `p.minutesOfHour`.
import { integer } from '../arithmetic.ts'
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { calendarDate, dayOfYear, quarterOf, quarterStart, weekDate, weekDay } from './calendar.ts'
import { epochNanos } from './epoch.ts'
import { invalid } from './faults.ts'
import type { AnyTemporal, DateTimeValue, DurationValue, TemporalKind, TimeValue } from './temporal.ts'
import { NANOS_PER_SECOND, offsetText } from './text.ts'

type Components<T> = readonly (readonly [name: string, read: (value: T) => Value])[]

const ofDay: Components<{ readonly day: number }> = [
  ['year', ({ day }) => calendarDate(day).year],
  ['quarter', ({ day }) => quarterOf(calendarDate(day).month)],
  ['month', ({ day }) => calendarDate(day).month],
  ['week', ({ day }) => weekDate(day).week],
  ['weekYear', ({ day }) => weekDate(day).weekYear],
  ['day', ({ day }) => calendarDate(day).day],
  ['ordinalDay', ({ day }) => dayOfYear(day)],
  ['weekDay', ({ day }) => weekDay(day)],
  ['dayOfWeek', ({ day }) => weekDay(day)],
  [
    'dayOfQuarter',
    ({ day }) => {
      const { year, month } = calendarDate(day)
      return day - quarterStart(year, quarterOf(month)) + 1
    },
  ],
]

const ofClock: Components<{ readonly nanos: number }> = [
  ['hour', ({ nanos }) => Math.floor(nanos / (3600 * NANOS_PER_SECOND))],
  ['minute', ({ nanos }) => Math.floor(nanos / (60 * NANOS_PER_SECOND)) % 60],
  ['second', ({ nanos }) => Math.floor(nanos / NANOS_PER_SECOND) % 60],
  ['millisecond', ({ nanos }) => Math.floor((nanos % NANOS_PER_SECOND) / 1_000_000)],
  ['microsecond', ({ nanos }) => Math.floor((nanos % NANOS_PER_SECOND) / 1_000)],
  ['nanosecond', ({ nanos }) => nanos % NANOS_PER_SECOND],
]

const ofOffset: Components<TimeValue | DateTimeValue> = [
  ['timezone', (value) => (value.kind === 'datetime' ? value.zone : null) ?? offsetText(value.offset)],
  ['offset', ({ offset }) => offsetText(offset)],
  ['offsetMinutes', ({ offset }) => whole(offset / 60)],
  ['offsetSeconds', ({ offset }) => offset],
]

const ofInstant: Components<DateTimeValue> = [
  ['epochSeconds', (value) => integer(floored(epochNanos(value), 1_000_000_000n))],
  ['epochMillis', (value) => integer(floored(epochNanos(value), 1_000_000n))],
]

function floored(value: bigint, by: bigint): bigint {
  return (value - (((value % by) + by) % by)) / by
}

// Each group counts by itself; what is left over in a coarser unit is cut off towards zero.
const ofDuration: Components<DurationValue> = [
  ['years', ({ months }) => whole(months / 12)],
  ['quarters', ({ months }) => whole(months / 3)],
  ['months', ({ months }) => months],
  ['weeks', ({ days }) => whole(days / 7)],
  ['days', ({ days }) => days],
  ['quartersOfYear', ({ months }) => whole(whole(months / 3) % 4)],
  ['monthsOfYear', ({ months }) => whole(months % 12)],
  ['monthsOfQuarter', ({ months }) => whole(months % 3)],
  ['daysOfWeek', ({ days }) => whole(days % 7)],
  ...inUnits([
    ['hours', 3_600_000_000_000n, null],
    ['minutes', 60_000_000_000n, null],
    ['seconds', 1_000_000_000n, null],
    ['milliseconds', 1_000_000n, null],
    ['microseconds', 1_000n, null],
    ['nanoseconds', 1n, null],
    ['minutesOfHour', 60_000_000_000n, 60n],
    ['secondsOfMinute', 1_000_000_000n, 60n],
    ['millisecondsOfSecond', 1_000_000n, 1_000n],
    ['microsecondsOfSecond', 1_000n, 1_000_000n],
    ['nanosecondsOfSecond', 1n, 1_000_000_000n],
  ]),
]

/** Towards zero. `+ 0`: there is only one integer zero. */
function whole(value: number): number {
  return Math.trunc(value) + 0
}

function inUnits(
  units: readonly (readonly [name: string, size: bigint, within: bigint | null])[],
): Components<DurationValue> {
  return units.map(([name, size, within]) => [
    name,
    ({ nanos }) => integer(within === null ? nanos / size : (nanos / size) % within),
  ])
}

const components: Readonly<Record<TemporalKind, ReadonlyMap<string, (value: never) => Value>>> = {
  date: new Map(ofDay),
  localtime: new Map(ofClock),
  time: new Map([...ofClock, ...ofOffset] as Components<TimeValue>),
  localdatetime: new Map([...ofDay, ...ofClock] as Components<never>),
  datetime: new Map([...ofDay, ...ofClock, ...ofOffset, ...ofInstant] as Components<DateTimeValue>),
  duration: new Map(ofDuration),
}

export function componentOf(value: AnyTemporal, name: string): Value {
  const known = components[value.kind]
  const read = known.get(name)
  if (!read) throw invalid(`${kindName(value)} has no \`${name}\`; it has ${[...known.keys()].join(', ')}`)
  return read(value as never)
}
