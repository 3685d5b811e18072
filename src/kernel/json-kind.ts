// Names the JSON kind of a value for messages of the form `expected …, found …`.
import { Float } from './float.ts'

export function jsonKindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'bigint' || value instanceof Float) return 'number'
  return typeof value
}

/** A JSON object; a boxed float is a number. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Float)
}
