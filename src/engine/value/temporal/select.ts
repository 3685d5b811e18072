// The parts of one temporal that another is made of: its day, its time of day, its zone.
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { invalid } from './faults.ts'
import { DateTimeValue, DateValue, isTemporal, LocalDateTimeValue, LocalTimeValue, TimeValue } from './temporal.ts'
import { type Zone, zoneNamed, zoneOf } from './zones.ts'

/** Null where the value has no day. */
export function dayIn(value: Value): number | null {
  const hasDay = value instanceof DateValue || value instanceof LocalDateTimeValue || value instanceof DateTimeValue
  return hasDay ? value.day : null
}

/** Null where the value has no time of day. */
export function nanosIn(value: Value): number | null {
  const hasTime = isTemporal(value) && !(value instanceof DateValue) && value.kind !== 'duration'
  return hasTime ? value.nanos : null
}

/** Null where the value stands in no zone. */
export function zoneIn(value: Value): Zone | null {
  if (value instanceof DateTimeValue) return zoneOf(value)
  return value instanceof TimeValue ? value.offset : null
}

export function isInstantKind(value: Value): value is Exclude<Extract<Value, { kind: string }>, { kind: 'duration' }> {
  return (
    value instanceof DateValue ||
    value instanceof LocalTimeValue ||
    value instanceof TimeValue ||
    value instanceof LocalDateTimeValue ||
    value instanceof DateTimeValue
  )
}

export function zoneFrom(value: Value | undefined): Zone | null {
  if (value === undefined) return null
  if (typeof value !== 'string') throw invalid(`a time zone is a string, not ${kindName(value)}`)
  return zoneNamed(value)
}

/** The part that a member such as `date: other` selects. */
export function selected<T>(
  fields: ReadonlyMap<string, Value>,
  member: string,
  part: (value: Value) => T | null,
): T | null {
  const value = fields.get(member)
  if (value === undefined) return null
  const found = part(value)
  if (found === null) throw invalid(`\`${member}\` cannot be taken from ${kindName(value)}`)
  return found
}
