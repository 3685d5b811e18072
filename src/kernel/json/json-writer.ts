// Writes JSON in which 1 and 1.0 stay distinct and long integers stay exact
// (docs/decisions/0004-element-fields-and-values.md). Values without such numbers go through the runtime's writer.
import { Float } from '../float.ts'

/**
 * Serializes a value. Floats get a `.` or an exponent, bigints are digits, Maps are objects. NaN and infinities become
 * null. Undefined members are omitted.
 */
export function writeJson(value: unknown): string {
  return isPlain(value) ? (JSON.stringify(value) ?? 'null') : write(value)
}

/** Whether the runtime's writer serializes the value correctly. */
function isPlain(value: unknown): boolean {
  if (typeof value === 'bigint') return false
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isPlain)
  if (value instanceof Float || value instanceof Map) return false
  for (const key in value) if (!isPlain((value as Record<string, unknown>)[key])) return false
  return true
}

function write(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Float) return writeFloat(value.value)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (typeof value !== 'object' || value === null || hasToJson(value)) return JSON.stringify(value) ?? 'null'
  const members: string[] = []
  for (const [key, member] of value instanceof Map ? value : Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(String(key))}:${write(member)}`)
  }
  return `{${members.join(',')}}`
}

/** Whether the value has a method `toJSON`, as a Date has. A member of that name that is not a function is plain data. */
function hasToJson(value: object): boolean {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}

function writeFloat(value: number): string {
  if (!Number.isFinite(value)) return 'null'
  if (Object.is(value, -0)) return '-0.0'
  const text = String(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}
