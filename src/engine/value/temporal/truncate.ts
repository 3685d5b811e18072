// The beginning of the millennium, week, hour, … in which a temporal lies, with members of a map set on top.
import type { RunFault } from '../../errors.ts'
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { calendarDate, dayNumber, quarterOf, quarterStart, weekDate, weekDay, weekYearStart } from './calendar.ts'
import { construct } from './construct.ts'
import { checkedDay, invalid } from './faults.ts'
import type { Fields } from './fields.ts'
import { dayIn, nanosIn, zoneFrom, zoneIn } from './select.ts'
import {
  type AnyTemporal,
  DateTimeValue,
  DateValue,
  LocalDateTimeValue,
  LocalTimeValue,
  type TemporalKind,
  TimeValue,
} from './temporal.ts'
import { NANOS_PER_DAY, NANOS_PER_SECOND } from './text.ts'
import { atWall, UTC, type Zone } from './zones.ts'

const years =
  (count: number) =>
  (day: number): number =>
    dayNumber(Math.floor(calendarDate(day).year / count) * count, 1, 1)

/** The first day of what a day lies in. */
const dayUnits: ReadonlyMap<string, (day: number) => number> = new Map(
  Object.entries({
    millennium: years(1000),
    century: years(100),
    decade: years(10),
    year: years(1),
    weekyear: (day: number) => weekYearStart(weekDate(day).weekYear),
    quarter: (day: number) => {
      const { year, month } = calendarDate(day)
      return quarterStart(year, quarterOf(month))
    },
    month: (day: number) => {
      const { year, month } = calendarDate(day)
      return dayNumber(year, month, 1)
    },
    week: (day: number) => day - weekDay(day) + 1,
    day: (day: number) => day,
  }),
)

/** Nanoseconds. */
const timeUnits: ReadonlyMap<string, number> = new Map(
  Object.entries({
    day: NANOS_PER_DAY,
    hour: 3600 * NANOS_PER_SECOND,
    minute: 60 * NANOS_PER_SECOND,
    second: NANOS_PER_SECOND,
    millisecond: 1_000_000,
    microsecond: 1_000,
  }),
)

/** The member under which a constructor takes what it builds on. */
const baseMember: Readonly<Record<InstantKind, string>> = {
  date: 'date',
  localtime: 'time',
  time: 'time',
  localdatetime: 'datetime',
  datetime: 'datetime',
}

export type InstantKind = Exclude<TemporalKind, 'duration'>

export function truncate(kind: InstantKind, unit: string, value: Value, fields: Fields): AnyTemporal | null {
  for (const member of fields.values()) if (member === null) return null
  const set = new Map(fields)
  const inZone = kind === 'time' || kind === 'datetime'
  const zone = inZone ? zoneFrom(fields.get('timezone')) : null
  // The wall clock is truncated, so a zone that is given names the place of that clock.
  if (inZone) set.delete('timezone')
  const name = unit.toLowerCase()
  const base = beginning(kind, name, value, zone)
  if (set.size === 0) return base
  const member = baseMember[kind]
  if (set.has(member)) throw invalid(`${kind}.truncate() takes no \`${member}\``)
  return construct(kind, new Map<string, Value>([[member, base], ...keptFraction(name, base, set), ...set]))
}

/** Below a millisecond, {nanosecond: 2} is set beside the milliseconds that truncation has left. */
function keptFraction(unit: string, base: AnyTemporal, set: Fields): [string, Value][] {
  const isFiner = set.has('nanosecond') || (unit === 'millisecond' && set.has('microsecond'))
  const size = timeUnits.get(unit)
  if (!isFiner || size === undefined || size >= NANOS_PER_SECOND) return []
  return [[unit, Math.floor(((nanosIn(base) ?? 0) % NANOS_PER_SECOND) / size)]]
}

function beginning(kind: InstantKind, unit: string, value: Value, zone: Zone | null): AnyTemporal {
  switch (kind) {
    case 'date':
      return new DateValue(startDay(kind, unit, value))
    case 'localtime':
      return new LocalTimeValue(startOfTime(kind, unit, value))
    case 'time': {
      if (typeof zone === 'string') throw invalid('a time stands in an offset such as `+01:00`, not in a region')
      const own = value instanceof DateTimeValue || value instanceof TimeValue ? value.offset : UTC
      return new TimeValue(startOfTime(kind, unit, value), zone ?? own)
    }
    case 'localdatetime': {
      const { day, nanos } = startOfBoth(kind, unit, value)
      return new LocalDateTimeValue(day, nanos)
    }
    case 'datetime': {
      const { day, nanos } = startOfBoth(kind, unit, value)
      const offset = value instanceof DateTimeValue ? value.offset : null
      return atWall(day, nanos, zone ?? zoneIn(value) ?? UTC, offset)
    }
  }
}

function startDay(kind: InstantKind, unit: string, value: Value): number {
  const day = dayIn(value)
  const start = dayUnits.get(unit)
  if (start === undefined) throw noUnit(kind, unit, [...dayUnits.keys()])
  if (day === null) throw invalid(`${kind}.truncate() takes a value with a date, not ${kindName(value)}`)
  return checkedDay(start(day))
}

function startOfTime(kind: InstantKind, unit: string, value: Value): number {
  const nanos = nanosIn(value)
  const size = timeUnits.get(unit)
  if (size === undefined) throw noUnit(kind, unit, [...timeUnits.keys()])
  if (nanos === null) throw invalid(`${kind}.truncate() takes a value with a time of day, not ${kindName(value)}`)
  return nanos - (nanos % size)
}

function startOfBoth(kind: InstantKind, unit: string, value: Value): { readonly day: number; readonly nanos: number } {
  if (dayUnits.has(unit)) return { day: startDay(kind, unit, value), nanos: 0 }
  if (!timeUnits.has(unit)) throw noUnit(kind, unit, [...new Set([...dayUnits.keys(), ...timeUnits.keys()])])
  const nanos = startOfTime(kind, unit, value)
  return { day: startDay(kind, 'day', value), nanos }
}

function noUnit(kind: InstantKind, unit: string, known: readonly string[]): RunFault {
  const knows = `${kind}.truncate() knows the units ${known.join(', ')}`
  return invalid(`${knows}, not \`${unit}\``, `${knows} and no other`)
}
