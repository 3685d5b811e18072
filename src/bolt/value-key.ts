// A text for each value of the engine, equal only for equal values of one kind: 1, 1.0, '1' and true differ, as do 0.0 and -0.0.
import { isTemporal } from '../engine/value/temporal/temporal.ts'
import type { Value } from '../engine/value/value.ts'
import { Float } from '../kernel/float.ts'

/** The text of a value. Elements of a graph are no parameters. */
export function valueKey(value: Value): string {
  if (value === null) return 'n'
  if (typeof value === 'string') return `s${JSON.stringify(value)}`
  if (typeof value === 'boolean') return `b${value}`
  if (typeof value === 'number' || typeof value === 'bigint') return `i${value}`
  if (value instanceof Float) return `f${Object.is(value.value, -0) ? '-0' : value.value}`
  if (isTemporal(value)) return `t${value.kind}${JSON.stringify(String(value))}`
  if (Array.isArray(value)) return `l[${(value as readonly Value[]).map(valueKey).join(',')}]`
  if (value instanceof Map) {
    const entries = [...(value as ReadonlyMap<string, Value>)].map(
      ([key, item]) => `${JSON.stringify(key)}:${valueKey(item)}`,
    )
    return `m{${entries.join(',')}}`
  }
  throw new TypeError('an element of a graph cannot be a parameter')
}
