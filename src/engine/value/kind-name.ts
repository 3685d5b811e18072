// Names of value kinds for error messages.
import { Float } from '../../kernel/float.ts'
import { isTemporal, type TemporalKind } from './temporal/temporal.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from './value.ts'

const temporalNames: Readonly<Record<TemporalKind, string>> = {
  date: 'a date',
  localtime: 'a local time',
  time: 'a time',
  localdatetime: 'a local date and time',
  datetime: 'a date and time',
  duration: 'a duration',
}

/** Returns the kind of a value with its article, for example `a list`. */
export function kindName(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return 'a string'
  if (typeof value === 'boolean') return 'a boolean'
  if (typeof value === 'number' || typeof value === 'bigint') return 'an integer'
  if (value instanceof Float) return 'a float'
  if (value instanceof NodeValue) return 'a node'
  if (value instanceof RelationshipValue) return 'a relationship'
  if (value instanceof PathValue) return 'a path'
  if (isTemporal(value)) return temporalNames[value.kind]
  return Array.isArray(value) ? 'a list' : 'a map'
}
