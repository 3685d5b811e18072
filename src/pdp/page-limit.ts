// Reads the page limit as a number: request bodies are parsed with exact numbers, where 1.0 and long integers are
// boxed.
import { Float } from '../kernel/float.ts'

/** Returns null if the value is not an integer of at least 0. */
export function readPageLimit(value: unknown): number | null {
  const number = value instanceof Float ? value.value : typeof value === 'bigint' ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : null
}
