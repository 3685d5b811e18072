// What a body gives, and whether two sets of fields say the same.
import type { DocumentFields } from './kind.ts'

/** Null counts as absent (facts 1.7.2), inside of objects too. */
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

/** In whatever order their members stand. */
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
