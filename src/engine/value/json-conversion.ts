// Conversion between JSON-like JavaScript data and Cypher values.
import { Float } from '../../kernel/float.ts'
import { ExecutionError } from '../errors.ts'
import { fitsInt64, normalizeInteger } from './arithmetic.ts'
import { isTemporal } from './temporal/temporal.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from './value.ts'

// The nesting limit of JSON text. Data that was not parsed from text must not overflow the stack either.
const DEPTH_MAX = 200

/**
 * Converts data to a Cypher value. A number that is a safe integer becomes an INTEGER, any other a FLOAT; in the output of
 * `kernel/json`, 1.0 differs from 1 and long integers are exact. `undefined` becomes null, and a member `undefined` is left
 * out. Throws ExecutionError `argument` for an integer beyond 64 bits, a function, a symbol and nesting of more than 200
 * levels.
 */
export function fromJson(data: unknown): Value {
  return fromData(data, 0)
}

function fromData(data: unknown, depth: number): Value {
  switch (typeof data) {
    case 'string':
      if (!data.isWellFormed()) throw invalidDataError('a text has a lone surrogate')
      return data
    case 'boolean':
      return data
    case 'number':
      // `+ 0`: there is one integer zero.
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
  if (data === null || data instanceof Float || isTemporal(data)) return data
  if (depth >= DEPTH_MAX) throw invalidDataError(`a value is nested deeper than ${DEPTH_MAX} levels`)
  if (Array.isArray(data)) return data.map((item) => fromData(item, depth + 1))
  if (!(data instanceof Map)) {
    const prototype: unknown = Object.getPrototypeOf(data)
    if (prototype !== null && prototype !== Object.prototype) throw instanceError(data)
  }
  const map = new Map<string, Value>()
  const entries = data instanceof Map ? (data as Map<unknown, unknown>) : Object.entries(data)
  for (const [key, member] of entries) if (member !== undefined) map.set(String(key), fromData(member, depth + 1))
  return map
}

/** Converts a node, a relationship or a path to data, for example to its id. */
export type ElementToJson = (element: NodeValue | RelationshipValue | PathValue) => unknown

/**
 * Converts a value to plain data for `kernel/json`. `acceptsItems` is called before each list and map with its items: if it returns
 * false, the list or map is left empty. Floats stay boxed and long integers bigints, so that they are written
 * exactly. Temporals become ISO 8601 text. Maps become objects without a prototype, so that a key `__proto__` is an
 * ordinary key.
 */
export function toJson(
  value: Value,
  element: ElementToJson,
  acceptsItems: (count: number) => boolean = acceptAll,
): unknown {
  if (value === null || typeof value !== 'object' || value instanceof Float) return value
  if (value instanceof NodeValue || value instanceof RelationshipValue || value instanceof PathValue)
    return element(value)
  if (isTemporal(value)) return String(value)
  if (value instanceof Map) {
    const object = Object.create(null) as Record<string, unknown>
    const members = value as ReadonlyMap<string, Value>
    if (!acceptsItems(members.size)) return object
    for (const [key, member] of members) object[key] = toJson(member, element, acceptsItems)
    return object
  }
  const items = value as readonly Value[]
  return acceptsItems(items.length) ? items.map((item) => toJson(item, element, acceptsItems)) : []
}

const acceptAll = (): boolean => true

/** Without this, an instance without members of its own, such as a Date, would be read as an empty map. */
function instanceError(data: object): ExecutionError {
  const hint = data instanceof Date ? ': pass its text, as `toISOString()` returns it' : ''
  return invalidDataError(`an instance of ${data.constructor?.name || 'a class'} is not data${hint}`)
}

function invalidDataError(message: string): ExecutionError {
  return new ExecutionError('argument', message)
}
