// What a body gives, and whether two sets of fields say the same.
import type { Fields } from './kind.ts'

/** Null counts as absent (facts 1.7.2), inside of objects too. */
export function given(body: Fields): Fields {
  return Object.fromEntries(
    Object.entries(body)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [name, givenIn(value)]),
  )
}

function givenIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(givenIn)
  return typeof value === 'object' && value !== null ? given(value as Fields) : value
}

/** In whatever order their members stand. */
export function sameFields(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const names = Object.keys(left)
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && sameFields((left as Fields)[name], (right as Fields)[name]))
  )
}
