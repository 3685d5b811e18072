// Constructors of the temporal kinds: from text, from a map of members, and from another temporal value. The default
// time zone is UTC.
import type { Float } from '../../../kernel/float.ts'
import { isMap, isNumber } from '../compare.ts'
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { toDecimal } from './decimal.ts'
import { durationFromAmounts, durationMembers, parseDuration } from './duration.ts'
import { fromEpochFields } from './epoch.ts'
import { checkDay, invalidTemporalError, unparsableError } from './errors.ts'
import {
  checkMemberNames,
  dayFromFields,
  hasAnyMember,
  hasTimeMember,
  membersByKind,
  nanosOfDayFromFields,
  type TemporalFields,
} from './fields.ts'
import { parseDate, parseDateTime, parseTime, parseZonedTime } from './parse.ts'
import { dayOf, nanosOfDayOf, requireZone, selectPart, zoneOfValue } from './select.ts'
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
import { addSeconds, fromWallClock, parseRegion, UTC, withZone, type Zone } from './zones.ts'

interface TemporalConstructor {
  fromText(text: string): AnyTemporal
  /** No member of the map is null. */
  fromFields(fields: TemporalFields): AnyTemporal
  /** Null if the other kind lacks a part that this kind needs. */
  fromOther(value: Value): AnyTemporal | null
}

const constructors: Readonly<Record<TemporalKind, TemporalConstructor>> = {
  date: {
    fromText: (text) => new DateValue(parseDate(text)),
    fromFields: (fields) => new DateValue(checkDay(dayFromFields(fields, selectPart(fields, 'date', dayOf), false))),
    fromOther: (value) => mapNotNull(dayOf(value), (day) => new DateValue(day)),
  },
  localtime: {
    fromText: (text) => new LocalTimeValue(parseTime(text)),
    fromFields: (fields) => new LocalTimeValue(nanosOfDayFromFields(fields, selectPart(fields, 'time', nanosOfDayOf))),
    fromOther: (value) => mapNotNull(nanosOfDayOf(value), (nanos) => new LocalTimeValue(nanos)),
  },
  time: { fromText: timeFromText, fromFields: timeFromFields, fromOther: timeFromOther },
  localdatetime: {
    fromText: localDateTimeFromText,
    fromFields: (fields) => {
      const { day, nanos } = wallClockFields(fields)
      return new LocalDateTimeValue(checkDay(day), nanos)
    },
    fromOther: (value) => mapNotNull(dayOf(value), (day) => new LocalDateTimeValue(day, nanosOfDayOf(value) ?? 0)),
  },
  datetime: {
    fromText: dateTimeFromText,
    fromFields: dateTimeFromFields,
    fromOther: (value) =>
      value instanceof DateTimeValue
        ? value
        : mapNotNull(dayOf(value), (day) => fromWallClock(day, nanosOfDayOf(value) ?? 0, zoneOfValue(value) ?? UTC)),
  },
  duration: {
    fromText: parseDuration,
    fromFields: durationFromFields,
    fromOther: (value) => (value instanceof DurationValue ? value : null),
  },
}

/**
 * Constructs a temporal value from a string, a map or another temporal value. Returns null for null and for a map with a
 * null member. Throws ExecutionError for invalid input.
 */
export function construct(kind: TemporalKind, value: Value): AnyTemporal | null {
  if (value === null) return null
  const from = constructors[kind]
  if (typeof value === 'string') return from.fromText(value)
  if (!isMap(value)) {
    const made = from.fromOther(value)
    if (made === null) throw invalidTemporalError(`${kind}() does not accept ${kindName(value)}`)
    return made
  }
  checkMemberNames(value, kind, kind === 'duration' ? durationMembers : membersByKind[kind])
  for (const member of value.values()) if (member === null) return null
  if (value.size === 0) throw invalidTemporalError(`${kind}() needs a map with members`)
  return from.fromFields(value)
}

function mapNotNull(part: number | null, make: (part: number) => AnyTemporal): AnyTemporal | null {
  return part === null ? null : make(part)
}

// ---------------------------------------------------------------- with a zone

function timeFromText(text: string): TimeValue {
  const { nanos, offset, region } = parseZonedTime(text)
  if (region !== null) throw unparsableError(text, 'time: a time has an offset, not a named time zone')
  return new TimeValue(nanos, offset ?? 0)
}

function timeFromOther(value: Value): TimeValue | null {
  const nanos = nanosOfDayOf(value)
  const offset = value instanceof DateTimeValue || value instanceof TimeValue ? value.offset : 0
  return nanos === null ? null : new TimeValue(nanos, offset)
}

function timeFromFields(fields: TemporalFields): TimeValue {
  const other = selectPart(fields, 'time', timeFromOther)
  const nanos = nanosOfDayFromFields(fields, other === null ? null : other.nanos)
  const zone = requireZone(fields.get('timezone'))
  if (typeof zone === 'string')
    throw invalidTemporalError('a time has an offset such as `+01:00`, not a named time zone')
  if (zone === null) return new TimeValue(nanos, other?.offset ?? 0)
  const keepsInstant = other !== null && zoneOfValue(fields.get('time')!) !== null
  return new TimeValue(keepsInstant ? addSeconds(0, nanos, zone - other.offset).nanos : nanos, zone)
}

function localDateTimeFromText(text: string): LocalDateTimeValue {
  const { day, nanos, offset, region } = parseDateTime(text)
  if (offset !== null || region !== null) throw unparsableError(text, 'local date and time: it names a zone')
  return new LocalDateTimeValue(day, nanos)
}

function dateTimeFromText(text: string): DateTimeValue {
  const { day, nanos, offset, region } = parseDateTime(text)
  if (region === null) return fromWallClock(day, nanos, offset ?? UTC)
  const value = fromWallClock(day, nanos, parseRegion(region), offset)
  if (offset !== null && value.offset !== offset) throw unparsableError(text, 'date and time: offset and zone disagree')
  return value
}

/** Day and time of day from the members, with the time zone of the value that the time was selected from. */
function wallClockFields(fields: TemporalFields): {
  day: number
  nanos: number
  zone: Zone | null
  offset: number | null
} {
  if (fields.has('datetime') && (fields.has('date') || fields.has('time'))) {
    throw invalidTemporalError('`datetime` excludes `date` and `time`')
  }
  const whole = selectPart(fields, 'datetime', (value) => (nanosOfDayOf(value) === null ? null : dayOf(value)))
  const other = fields.get('datetime') ?? fields.get('time') ?? null
  const nanos = nanosOfDayFromFields(
    fields,
    fields.has('datetime') ? nanosOfDayOf(other) : selectPart(fields, 'time', nanosOfDayOf),
  )
  const day = dayFromFields(fields, whole ?? selectPart(fields, 'date', dayOf), hasTimeMember(fields))
  return { day, nanos, zone: zoneOfValue(other), offset: other instanceof DateTimeValue ? other.offset : null }
}

function dateTimeFromFields(fields: TemporalFields): DateTimeValue {
  const wanted = requireZone(fields.get('timezone'))
  if (hasAnyMember(fields, ['epochSeconds', 'epochMillis'])) return withZone(fromEpochFields(fields), wanted ?? UTC)
  const { day, nanos, zone, offset } = wallClockFields(fields)
  if (zone === null) return fromWallClock(day, nanos, wanted ?? UTC)
  const there = fromWallClock(day, nanos, zone, offset)
  return wanted === null ? there : withZone(there, wanted)
}

// ---------------------------------------------------------------- durations

function durationFromFields(fields: TemporalFields): DurationValue {
  return durationFromAmounts(
    [...fields].map(([member, value]) => {
      if (!isNumber(value)) throw invalidTemporalError(`\`${member}\` takes a number, not ${kindName(value)}`)
      return [member, toDecimal(value as number | bigint | Float)] as const
    }),
  )
}
