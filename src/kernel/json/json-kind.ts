// Classifies JSON values.
import { Float } from '../float.ts'

/** The JSON kind of a value, for messages of the form `expected …, found …`. */
export function jsonKindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'bigint' || value instanceof Float) return 'number'
  return typeof value
}

/** Whether the value is a JSON object. A boxed float is a number. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Float)
}
