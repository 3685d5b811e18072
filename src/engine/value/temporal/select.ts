// Parts of a temporal value from which another one is constructed: day, time of day and time zone.
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { invalidTemporalError } from './errors.ts'
import { DateTimeValue, DateValue, isTemporal, LocalDateTimeValue, LocalTimeValue, TimeValue } from './temporal.ts'
import { parseZone, type Zone, zoneOfDateTime } from './zones.ts'

/** Returns the day number; null if the value has no day. */
export function dayOf(value: Value): number | null {
  const hasDay = value instanceof DateValue || value instanceof LocalDateTimeValue || value instanceof DateTimeValue
  return hasDay ? value.day : null
}

/** Returns nanoseconds since midnight; null if the value has no time of day. */
export function nanosOfDayOf(value: Value): number | null {
  const hasTime = isTemporal(value) && !(value instanceof DateValue) && value.kind !== 'duration'
  return hasTime ? value.nanos : null
}

/** Returns the time zone; null if the value has none. */
export function zoneOfValue(value: Value): Zone | null {
  if (value instanceof DateTimeValue) return zoneOfDateTime(value)
  return value instanceof TimeValue ? value.offset : null
}

/** Whether a value is a temporal value other than a duration. */
export function isInstant(value: Value): value is Exclude<Extract<Value, { kind: string }>, { kind: 'duration' }> {
  return (
    value instanceof DateValue ||
    value instanceof LocalTimeValue ||
    value instanceof TimeValue ||
    value instanceof LocalDateTimeValue ||
    value instanceof DateTimeValue
  )
}

/** Parses a time zone; null if the argument is undefined. Throws ExecutionError. */
export function requireZone(value: Value | undefined): Zone | null {
  if (value === undefined) return null
  if (typeof value !== 'string') throw invalidTemporalError(`a time zone is a string, not ${kindName(value)}`)
  return parseZone(value)
}

/**
 * Returns the part that a member such as `date: other` selects; null if there is no such member. Throws ExecutionError if
 * the value lacks the part.
 */
export function selectPart<T>(
  fields: ReadonlyMap<string, Value>,
  member: string,
  part: (value: Value) => T | null,
): T | null {
  const value = fields.get(member)
  if (value === undefined) return null
  const found = part(value)
  if (found === null) throw invalidTemporalError(`\`${member}\` does not accept ${kindName(value)}`)
  return found
}
