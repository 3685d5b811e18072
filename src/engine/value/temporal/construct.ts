// One constructor for each temporal kind: from text, from a map of members, from another temporal. Where no zone is
// named, it is UTC.
import type { Float } from '../../../kernel/float.ts'
import { isMap, isNumber } from '../compare.ts'
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { decimalOf } from './decimal.ts'
import { durationFrom, durationMembers, readDuration } from './duration.ts'
import { fromEpochFields } from './epoch.ts'
import { checkedDay, invalid, unreadable } from './faults.ts'
import { checkMembers, dayOf, type Fields, hasAny, hasTime, membersOf, nanosOfDay } from './fields.ts'
import { readDate, readDateTime, readTime, readZonedTime } from './parse.ts'
import { dayIn, nanosIn, selected, zoneFrom, zoneIn } from './select.ts'
import {
  type AnyTemporal,
  DateTimeValue,
  DateValue,
  DurationValue,
  LocalDateTimeValue,
  LocalTimeValue,
  type TemporalKind,
  TimeValue,
} from './temporal.ts'
import { atWall, inZone, movedBy, regionNamed, UTC, type Zone } from './zones.ts'

interface Sources {
  text(text: string): AnyTemporal
  /** Without null members. */
  fields(fields: Fields): AnyTemporal
  /** Null where the other kind does not hold what this one needs. */
  other(value: Value): AnyTemporal | null
}

const sources: Readonly<Record<TemporalKind, Sources>> = {
  date: {
    text: (text) => new DateValue(readDate(text)),
    fields: (fields) => new DateValue(checkedDay(dayOf(fields, selected(fields, 'date', dayIn), false))),
    other: (value) => whenGiven(dayIn(value), (day) => new DateValue(day)),
  },
  localtime: {
    text: (text) => new LocalTimeValue(readTime(text)),
    fields: (fields) => new LocalTimeValue(nanosOfDay(fields, selected(fields, 'time', nanosIn))),
    other: (value) => whenGiven(nanosIn(value), (nanos) => new LocalTimeValue(nanos)),
  },
  time: { text: timeFromText, fields: timeFromFields, other: timeFromOther },
  localdatetime: {
    text: localDateTimeFromText,
    fields: (fields) => {
      const { day, nanos } = wallFrom(fields)
      return new LocalDateTimeValue(checkedDay(day), nanos)
    },
    other: (value) => whenGiven(dayIn(value), (day) => new LocalDateTimeValue(day, nanosIn(value) ?? 0)),
  },
  datetime: {
    text: dateTimeFromText,
    fields: dateTimeFromFields,
    other: (value) =>
      value instanceof DateTimeValue
        ? value
        : whenGiven(dayIn(value), (day) => atWall(day, nanosIn(value) ?? 0, zoneIn(value) ?? UTC)),
  },
  duration: {
    text: readDuration,
    fields: durationFromFields,
    other: (value) => (value instanceof DurationValue ? value : null),
  },
}

/** Null for null, and for a map with a null in it: a part that is unknown makes the whole unknown. */
export function construct(kind: TemporalKind, value: Value): AnyTemporal | null {
  if (value === null) return null
  const from = sources[kind]
  if (typeof value === 'string') return from.text(value)
  if (!isMap(value)) {
    const made = from.other(value)
    if (made === null) throw invalid(`${kind}() cannot be made of ${kindName(value)}`)
    return made
  }
  checkMembers(value, kind, kind === 'duration' ? durationMembers : membersOf[kind])
  for (const member of value.values()) if (member === null) return null
  if (value.size === 0) throw invalid(`${kind}() takes a map with members`)
  return from.fields(value)
}

function whenGiven(part: number | null, make: (part: number) => AnyTemporal): AnyTemporal | null {
  return part === null ? null : make(part)
}

// ---------------------------------------------------------------- with a zone

function timeFromText(text: string): TimeValue {
  const { nanos, offset, region } = readZonedTime(text)
  if (region !== null) throw unreadable(text, 'time: a time stands in an offset, not in a region')
  return new TimeValue(nanos, offset ?? 0)
}

function timeFromOther(value: Value): TimeValue | null {
  const nanos = nanosIn(value)
  const offset = value instanceof DateTimeValue || value instanceof TimeValue ? value.offset : 0
  return nanos === null ? null : new TimeValue(nanos, offset)
}

function timeFromFields(fields: Fields): TimeValue {
  const other = selected(fields, 'time', timeFromOther)
  const nanos = nanosOfDay(fields, other === null ? null : other.nanos)
  const zone = zoneFrom(fields.get('timezone'))
  if (typeof zone === 'string') throw invalid('a time stands in an offset such as `+01:00`, not in a region')
  if (zone === null) return new TimeValue(nanos, other?.offset ?? 0)
  const keepsInstant = other !== null && zoneIn(fields.get('time')!) !== null
  return new TimeValue(keepsInstant ? movedBy(0, nanos, zone - other.offset).nanos : nanos, zone)
}

function localDateTimeFromText(text: string): LocalDateTimeValue {
  const { day, nanos, offset, region } = readDateTime(text)
  if (offset !== null || region !== null) throw unreadable(text, 'local date and time: it names a zone')
  return new LocalDateTimeValue(day, nanos)
}

function dateTimeFromText(text: string): DateTimeValue {
  const { day, nanos, offset, region } = readDateTime(text)
  if (region === null) return atWall(day, nanos, offset ?? UTC)
  const value = atWall(day, nanos, regionNamed(region), offset)
  if (offset !== null && value.offset !== offset) throw unreadable(text, 'date and time: offset and zone disagree')
  return value
}

/** Day and time of day from the members, and the zone of what the time was selected from. */
function wallFrom(fields: Fields): { day: number; nanos: number; zone: Zone | null; offset: number | null } {
  if (fields.has('datetime') && (fields.has('date') || fields.has('time'))) {
    throw invalid('`datetime` already holds what `date` and `time` name')
  }
  const whole = selected(fields, 'datetime', (value) => (nanosIn(value) === null ? null : dayIn(value)))
  const other = fields.get('datetime') ?? fields.get('time') ?? null
  const nanos = nanosOfDay(fields, fields.has('datetime') ? nanosIn(other) : selected(fields, 'time', nanosIn))
  const day = dayOf(fields, whole ?? selected(fields, 'date', dayIn), hasTime(fields))
  return { day, nanos, zone: zoneIn(other), offset: other instanceof DateTimeValue ? other.offset : null }
}

function dateTimeFromFields(fields: Fields): DateTimeValue {
  const wanted = zoneFrom(fields.get('timezone'))
  if (hasAny(fields, ['epochSeconds', 'epochMillis'])) return inZone(fromEpochFields(fields), wanted ?? UTC)
  const { day, nanos, zone, offset } = wallFrom(fields)
  if (zone === null) return atWall(day, nanos, wanted ?? UTC)
  const there = atWall(day, nanos, zone, offset)
  return wanted === null ? there : inZone(there, wanted)
}

// ---------------------------------------------------------------- durations

function durationFromFields(fields: Fields): DurationValue {
  return durationFrom(
    [...fields].map(([member, value]) => {
      if (!isNumber(value)) throw invalid(`\`${member}\` takes a number, not ${kindName(value)}`)
      return [member, decimalOf(value as number | bigint | Float)] as const
    }),
  )
}
