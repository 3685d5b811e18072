// The limit of a page as a number: bodies of decisions are read with exact numbers, where 1.0 and long integers come boxed.
import { Float } from '../kernel/float.ts'

/** Null: not an integer of 0 or more. */
export function readPageLimit(value: unknown): number | null {
  const number = value instanceof Float ? value.value : typeof value === 'bigint' ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : null
}
