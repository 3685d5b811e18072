// Normalizes request bodies and compares sets of fields.
import type { DocumentFields } from './kind.ts'

/**
 * Returns the body without null and undefined members, in nested objects too: null means absent
 * (docs/decisions/0012-configuration-resources.md).
 */
export function withoutNulls(body: DocumentFields): DocumentFields {
  return Object.fromEntries(
    Object.entries(body)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [name, withoutNullsIn(value)]),
  )
}

function withoutNullsIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullsIn)
  return typeof value === 'object' && value !== null ? withoutNulls(value as DocumentFields) : value
}

/** Deep equality of JSON values; the order of members does not matter. */
export function equalFields(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const names = Object.keys(left)
  return (
    names.length === Object.keys(right).length &&
    names.every(
      (name) =>
        Object.hasOwn(right, name) && equalFields((left as DocumentFields)[name], (right as DocumentFields)[name]),
    )
  )
}
