// Truncation to the start of a millennium, week, hour, …, after which members of a map are set.
import type { ExecutionError } from '../../errors.ts'
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { calendarDate, dayNumber, quarterOf, quarterStart, weekDate, weekDay, weekYearStart } from './calendar.ts'
import { construct } from './construct.ts'
import { checkDay, invalidTemporalError } from './errors.ts'
import type { TemporalFields } from './fields.ts'
import { NANOS_PER_DAY, NANOS_PER_SECOND } from './format.ts'
import { dayOf, nanosOfDayOf, requireZone, zoneOfValue } from './select.ts'
import {
  type AnyTemporal,
  DateTimeValue,
  DateValue,
  LocalDateTimeValue,
  LocalTimeValue,
  type TemporalKind,
  TimeValue,
} from './temporal.ts'
import { fromWallClock, UTC, type Zone } from './zones.ts'

const yearUnit =
  (count: number) =>
  (day: number): number =>
    dayNumber(Math.floor(calendarDate(day).year / count) * count, 1, 1)

/** Returns the first day of the unit that contains a day. */
const dayUnitStarts: ReadonlyMap<string, (day: number) => number> = new Map(
  Object.entries({
    millennium: yearUnit(1000),
    century: yearUnit(100),
    decade: yearUnit(10),
    year: yearUnit(1),
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

/** Nanoseconds per unit. */
const timeUnitNanos: ReadonlyMap<string, number> = new Map(
  Object.entries({
    day: NANOS_PER_DAY,
    hour: 3600 * NANOS_PER_SECOND,
    minute: 60 * NANOS_PER_SECOND,
    second: NANOS_PER_SECOND,
    millisecond: 1_000_000,
    microsecond: 1_000,
  }),
)

/** The member by which a constructor receives its base value. */
const baseMembers: Readonly<Record<InstantKind, string>> = {
  date: 'date',
  localtime: 'time',
  time: 'time',
  localdatetime: 'datetime',
  datetime: 'datetime',
}

/** A temporal kind other than duration. */
export type InstantKind = Exclude<TemporalKind, 'duration'>

/**
 * Truncates a value to a unit and sets the members of `fields`. Returns null if a member is null. Throws ExecutionError.
 */
export function truncate(kind: InstantKind, unit: string, value: Value, fields: TemporalFields): AnyTemporal | null {
  for (const member of fields.values()) if (member === null) return null
  const set = new Map(fields)
  const inZone = kind === 'time' || kind === 'datetime'
  const zone = inZone ? requireZone(fields.get('timezone')) : null
  // Local time is truncated, so an explicit time zone is the zone of that local time.
  if (inZone) set.delete('timezone')
  const name = unit.toLowerCase()
  const base = startOfUnit(kind, name, value, zone)
  if (set.size === 0) return base
  const member = baseMembers[kind]
  if (set.has(member)) throw invalidTemporalError(`${kind}.truncate() does not accept \`${member}\``)
  return construct(kind, new Map<string, Value>([[member, base], ...retainedFraction(name, base, set), ...set]))
}

/** Units below a second keep their truncated value: {nanosecond: 2} is added to the milliseconds. */
function retainedFraction(unit: string, base: AnyTemporal, set: TemporalFields): [string, Value][] {
  const isFiner = set.has('nanosecond') || (unit === 'millisecond' && set.has('microsecond'))
  const size = timeUnitNanos.get(unit)
  if (!isFiner || size === undefined || size >= NANOS_PER_SECOND) return []
  return [[unit, Math.floor(((nanosOfDayOf(base) ?? 0) % NANOS_PER_SECOND) / size)]]
}

function startOfUnit(kind: InstantKind, unit: string, value: Value, zone: Zone | null): AnyTemporal {
  switch (kind) {
    case 'date':
      return new DateValue(startDayOfUnit(kind, unit, value))
    case 'localtime':
      return new LocalTimeValue(startTimeOfUnit(kind, unit, value))
    case 'time': {
      if (typeof zone === 'string')
        throw invalidTemporalError('a time has an offset such as `+01:00`, not a named time zone')
      const own = value instanceof DateTimeValue || value instanceof TimeValue ? value.offset : UTC
      return new TimeValue(startTimeOfUnit(kind, unit, value), zone ?? own)
    }
    case 'localdatetime': {
      const { day, nanos } = startOfLocalDateTime(kind, unit, value)
      return new LocalDateTimeValue(day, nanos)
    }
    case 'datetime': {
      const { day, nanos } = startOfLocalDateTime(kind, unit, value)
      const offset = value instanceof DateTimeValue ? value.offset : null
      return fromWallClock(day, nanos, zone ?? zoneOfValue(value) ?? UTC, offset)
    }
  }
}

function startDayOfUnit(kind: InstantKind, unit: string, value: Value): number {
  const day = dayOf(value)
  const start = dayUnitStarts.get(unit)
  if (start === undefined) throw unknownUnitError(kind, unit, [...dayUnitStarts.keys()])
  if (day === null) throw invalidTemporalError(`${kind}.truncate() needs a value with a date, not ${kindName(value)}`)
  return checkDay(start(day))
}

function startTimeOfUnit(kind: InstantKind, unit: string, value: Value): number {
  const nanos = nanosOfDayOf(value)
  const size = timeUnitNanos.get(unit)
  if (size === undefined) throw unknownUnitError(kind, unit, [...timeUnitNanos.keys()])
  if (nanos === null)
    throw invalidTemporalError(`${kind}.truncate() needs a value with a time of day, not ${kindName(value)}`)
  return nanos - (nanos % size)
}

function startOfLocalDateTime(
  kind: InstantKind,
  unit: string,
  value: Value,
): { readonly day: number; readonly nanos: number } {
  if (dayUnitStarts.has(unit)) return { day: startDayOfUnit(kind, unit, value), nanos: 0 }
  if (!timeUnitNanos.has(unit))
    throw unknownUnitError(kind, unit, [...new Set([...dayUnitStarts.keys(), ...timeUnitNanos.keys()])])
  const nanos = startTimeOfUnit(kind, unit, value)
  return { day: startDayOfUnit(kind, 'day', value), nanos }
}

function unknownUnitError(kind: InstantKind, unit: string, known: readonly string[]): ExecutionError {
  const accepted = `${kind}.truncate() accepts the units ${known.join(', ')}`
  return invalidTemporalError(`${accepted}, not \`${unit}\``, `${accepted} and no other`)
}
