// Components of temporal values by name: `d.year`, `t.offsetMinutes`, `p.minutesOfHour`.
import { normalizeInteger } from '../arithmetic.ts'
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { calendarDate, dayOfYear, quarterOf, quarterStart, weekDate, weekDay } from './calendar.ts'
import { epochNanos } from './epoch.ts'
import { invalidTemporalError } from './errors.ts'
import { formatOffset, NANOS_PER_SECOND } from './format.ts'
import type { AnyTemporal, DateTimeValue, DurationValue, TemporalKind, TimeValue } from './temporal.ts'

type Components<T> = readonly (readonly [name: string, read: (value: T) => Value])[]

const dayComponents: Components<{ readonly day: number }> = [
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

const timeOfDayComponents: Components<{ readonly nanos: number }> = [
  ['hour', ({ nanos }) => Math.floor(nanos / (3600 * NANOS_PER_SECOND))],
  ['minute', ({ nanos }) => Math.floor(nanos / (60 * NANOS_PER_SECOND)) % 60],
  ['second', ({ nanos }) => Math.floor(nanos / NANOS_PER_SECOND) % 60],
  ['millisecond', ({ nanos }) => Math.floor((nanos % NANOS_PER_SECOND) / 1_000_000)],
  ['microsecond', ({ nanos }) => Math.floor((nanos % NANOS_PER_SECOND) / 1_000)],
  ['nanosecond', ({ nanos }) => nanos % NANOS_PER_SECOND],
]

const offsetComponents: Components<TimeValue | DateTimeValue> = [
  ['timezone', (value) => (value.kind === 'datetime' ? value.zone : null) ?? formatOffset(value.offset)],
  ['offset', ({ offset }) => formatOffset(offset)],
  ['offsetMinutes', ({ offset }) => truncate(offset / 60)],
  ['offsetSeconds', ({ offset }) => offset],
]

const instantComponents: Components<DateTimeValue> = [
  ['epochSeconds', (value) => normalizeInteger(floorDivide(epochNanos(value), 1_000_000_000n))],
  ['epochMillis', (value) => normalizeInteger(floorDivide(epochNanos(value), 1_000_000n))],
]

function floorDivide(value: bigint, by: bigint): bigint {
  return (value - floorModulo(value, by)) / by
}

function floorModulo(value: bigint, by: bigint): bigint {
  return ((value % by) + by) % by
}

const NANOS_OF_SECOND = 1_000_000_000n

// Months, days and time are separate groups. As in Neo4j (`DurationFields`), the time is whole seconds, rounded down, and a
// fraction of a second that is never negative: `PT-0.1S` has -1 seconds and 900 milliseconds of the second. Larger units are
// rounded towards zero.
const durationComponents: Components<DurationValue> = [
  ['years', ({ months }) => truncate(months / 12)],
  ['quarters', ({ months }) => truncate(months / 3)],
  ['months', ({ months }) => months],
  ['weeks', ({ days }) => truncate(days / 7)],
  ['days', ({ days }) => days],
  ['quartersOfYear', ({ months }) => truncate(truncate(months / 3) % 4)],
  ['monthsOfYear', ({ months }) => truncate(months % 12)],
  ['monthsOfQuarter', ({ months }) => truncate(months % 3)],
  ['daysOfWeek', ({ days }) => truncate(days % 7)],
  ...wholeUnits([
    ['hours', 3600n, null],
    ['minutes', 60n, null],
    ['seconds', 1n, null],
    ['minutesOfHour', 60n, 60n],
    ['secondsOfMinute', 1n, 60n],
  ]),
  ...fractions([
    ['milliseconds', 'millisecondsOfSecond', 1_000_000n],
    ['microseconds', 'microsecondsOfSecond', 1_000n],
    ['nanoseconds', 'nanosecondsOfSecond', 1n],
  ]),
]

/** Rounds towards zero. `+ 0` turns -0 into 0: there is one integer zero. */
function truncate(value: number): number {
  return Math.trunc(value) + 0
}

/** Units of whole seconds. */
function wholeUnits(
  units: readonly (readonly [name: string, seconds: bigint, within: bigint | null])[],
): Components<DurationValue> {
  return units.map(([name, size, within]) => [
    name,
    ({ nanos }) => {
      const count = floorDivide(nanos, NANOS_OF_SECOND) / size
      return normalizeInteger(within === null ? count : count % within)
    },
  ])
}

function fractions(
  units: readonly (readonly [name: string, ofSecond: string, nanos: bigint])[],
): Components<DurationValue> {
  return units.flatMap(
    ([name, ofSecond, size]): Components<DurationValue> => [
      [name, ({ nanos }) => normalizeInteger(floorDivide(nanos, size))],
      [ofSecond, ({ nanos }) => normalizeInteger(floorModulo(nanos, NANOS_OF_SECOND) / size)],
    ],
  )
}

const components: Readonly<Record<TemporalKind, ReadonlyMap<string, (value: never) => Value>>> = {
  date: new Map(dayComponents),
  localtime: new Map(timeOfDayComponents),
  time: new Map([...timeOfDayComponents, ...offsetComponents] as Components<TimeValue>),
  localdatetime: new Map([...dayComponents, ...timeOfDayComponents] as Components<never>),
  datetime: new Map([
    ...dayComponents,
    ...timeOfDayComponents,
    ...offsetComponents,
    ...instantComponents,
  ] as Components<DateTimeValue>),
  duration: new Map(durationComponents),
}

/** Returns a component of a temporal value. Throws ExecutionError if its kind has no such component. */
export function getComponent(value: AnyTemporal, name: string): Value {
  const known = components[value.kind]
  const read = known.get(name)
  if (!read) throw invalidTemporalError(`${kindName(value)} has no \`${name}\`; it has ${[...known.keys()].join(', ')}`)
  return read(value as never)
}
