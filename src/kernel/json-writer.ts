// Values → JSON in which 1 and 1.0 stay apart and long integers stay exact (ruling G5).
// What holds no such number goes through the runtime's own writer.
import { Float } from './float.ts'

/**
 * Floats with a `.` or an exponent, bigints as digits, Maps as objects; a number that JSON cannot write (NaN, infinite)
 * is null. Members that are undefined are left out.
 */
export function writeJson(value: unknown): string {
  return isPlain(value) ? (JSON.stringify(value) ?? 'null') : write(value)
}

/** Nothing in it that the runtime's own writer would get wrong. */
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

/** A date, for one. A member of that name in somebody's data is data. */
function hasToJson(value: object): boolean {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}

function writeFloat(value: number): string {
  if (!Number.isFinite(value)) return 'null'
  if (Object.is(value, -0)) return '-0.0'
  const text = String(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}
