// The parts of one temporal that another is made of: its day, its time of day, its zone.
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { invalidTemporalError } from './errors.ts'
import { DateTimeValue, DateValue, isTemporal, LocalDateTimeValue, LocalTimeValue, TimeValue } from './temporal.ts'
import { parseZone, type Zone, zoneOfDateTime } from './zones.ts'

/** Null where the value has no day. */
export function dayOf(value: Value): number | null {
  const hasDay = value instanceof DateValue || value instanceof LocalDateTimeValue || value instanceof DateTimeValue
  return hasDay ? value.day : null
}

/** Null where the value has no time of day. */
export function nanosOfDayOf(value: Value): number | null {
  const hasTime = isTemporal(value) && !(value instanceof DateValue) && value.kind !== 'duration'
  return hasTime ? value.nanos : null
}

/** Null where the value stands in no zone. */
export function zoneOfValue(value: Value): Zone | null {
  if (value instanceof DateTimeValue) return zoneOfDateTime(value)
  return value instanceof TimeValue ? value.offset : null
}

export function isInstant(value: Value): value is Exclude<Extract<Value, { kind: string }>, { kind: 'duration' }> {
  return (
    value instanceof DateValue ||
    value instanceof LocalTimeValue ||
    value instanceof TimeValue ||
    value instanceof LocalDateTimeValue ||
    value instanceof DateTimeValue
  )
}

export function requireZone(value: Value | undefined): Zone | null {
  if (value === undefined) return null
  if (typeof value !== 'string') throw invalidTemporalError(`a time zone is a string, not ${kindName(value)}`)
  return parseZone(value)
}

/** The part that a member such as `date: other` selects. */
export function selectPart<T>(
  fields: ReadonlyMap<string, Value>,
  member: string,
  part: (value: Value) => T | null,
): T | null {
  const value = fields.get(member)
  if (value === undefined) return null
  const found = part(value)
  if (found === null) throw invalidTemporalError(`\`${member}\` cannot be taken from ${kindName(value)}`)
  return found
}
