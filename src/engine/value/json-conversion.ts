// JSON-like JavaScript data ↔ Cypher values: where data from outside becomes values, and where values leave.
import { Float } from '../../kernel/float.ts'
import { ExecutionError } from '../errors.ts'
import { fitsInt64, normalizeInteger } from './arithmetic.ts'
import { isTemporal } from './temporal/temporal.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from './value.ts'

// As deep as JSON text may be; data that was not read from text must not end the stack either.
const DEPTH_MAX = 200

/**
 * A number that is a safe integer is an INTEGER, any other a FLOAT (kernel/json keeps 1.0 apart from 1 and long integers
 * exact before they come here). Undefined is null as a value and absent as a member. Throws a RunFault `argument` for what
 * is no data: an integer beyond 64 bits, a function, a symbol, too deep a nesting.
 */
export function fromJson(data: unknown): Value {
  return fromData(data, 0)
}

function fromData(data: unknown, depth: number): Value {
  switch (typeof data) {
    case 'string':
    case 'boolean':
      return data
    case 'number':
      // `+ 0`: there is only one integer zero.
      return Number.isSafeInteger(data) ? data + 0 : new Float(data)
    case 'bigint':
      if (!fitsInt64(data)) throw invalidDataError(`the integer ${data} does not fit 64 bits`)
      return normalizeInteger(data)
    case 'undefined':
      return null
    case 'object':
      break
    default:
      throw invalidDataError(`a ${typeof data} is not data`)
  }
  if (data === null || data instanceof Float) return data
  if (depth >= DEPTH_MAX) throw invalidDataError(`a value is nested deeper than ${DEPTH_MAX} levels`)
  if (Array.isArray(data)) return data.map((item) => fromData(item, depth + 1))
  const map = new Map<string, Value>()
  const entries = data instanceof Map ? (data as Map<unknown, unknown>) : Object.entries(data)
  for (const [key, member] of entries) if (member !== undefined) map.set(String(key), fromData(member, depth + 1))
  return map
}

/** What stands for an element in data: its id, its record, whatever the caller tells. */
export type ElementToJson = (element: NodeValue | RelationshipValue | PathValue) => unknown

/**
 * Plain data for kernel/json to write: floats stay boxed and long integers bigints, so that they are written as they are;
 * temporals become their ISO text.
 * Maps become objects without a prototype, so that a key such as `__proto__` is a key like any other.
 */
export function toJson(value: Value, element: ElementToJson): unknown {
  if (value === null || typeof value !== 'object' || value instanceof Float) return value
  if (value instanceof NodeValue || value instanceof RelationshipValue || value instanceof PathValue)
    return element(value)
  if (isTemporal(value)) return String(value)
  if (value instanceof Map) {
    const object = Object.create(null) as Record<string, unknown>
    for (const [key, member] of value as ReadonlyMap<string, Value>) object[key] = toJson(member, element)
    return object
  }
  return (value as readonly Value[]).map((item) => toJson(item, element))
}

function invalidDataError(message: string): ExecutionError {
  return new ExecutionError('argument', message)
}
