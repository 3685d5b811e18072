// Parameters of queries written as JSON.
import type { Value } from '../../src/engine/value/value.ts'
import type { ReferenceValue } from '../oracle/cypher/values.ts'
import { engineParameters } from '../support/convert-graph.ts'

/** Integers become INTEGER, other numbers FLOAT. */
export function readParameters(json: Readonly<Record<string, unknown>>): Map<string, Value> {
  const convert = (value: unknown): ReferenceValue => {
    if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
    if (Array.isArray(value)) return value.map(convert)
    if (value !== null && typeof value === 'object')
      return new Map(Object.entries(value).map(([key, item]) => [key, convert(item)]))
    return value as ReferenceValue
  }
  return engineParameters(new Map(Object.entries(json).map(([name, value]) => [name, convert(value)])))
}
