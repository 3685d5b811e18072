// Checks that the values of a request are data which JSON can express, or exact numbers of it. A class instance, such as a Date,
// would otherwise be read as an empty object.
import { Float } from '../kernel/float.ts'
import { formatPath } from '../kernel/json/format-path.ts'
import { JSON_DEPTH_MAX } from '../kernel/json/json.ts'

/** Returns what is wrong with a value and where; null if it is data. Members that are undefined count as absent. */
export function findForeignValue(value: unknown): string | null {
  return find(value, [], 0)
}

function find(value: unknown, path: readonly PropertyKey[], depth: number): string | null {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? null : at(path, 'expected well-formed Unicode, found a lone surrogate')
    case 'boolean':
    case 'bigint':
    case 'undefined':
      return null
    case 'number':
      return Number.isFinite(value) ? null : at(path, `expected a finite number, found ${value}`)
    case 'object':
      return value === null || value instanceof Float ? null : findInObject(value, path, depth)
    default:
      return at(path, `expected data, found a ${typeof value}`)
  }
}

function findInObject(value: object, path: readonly PropertyKey[], depth: number): string | null {
  if (depth >= JSON_DEPTH_MAX) return at(path.slice(0, 1), `nested deeper than ${JSON_DEPTH_MAX} levels`)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      if (value[i] === undefined) return at([...path, i], 'expected data, found undefined')
      const found = find(value[i], [...path, i], depth + 1)
      if (found !== null) return found
    }
    return null
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) {
    return at(path, `expected data, found an instance of ${value.constructor?.name || 'a class'}`)
  }
  for (const name in value) {
    const member = (value as Readonly<Record<string, unknown>>)[name]
    // Most members are texts, and need no path.
    if (typeof member === 'string' && member.isWellFormed()) continue
    const found = find(member, [...path, name], depth + 1)
    if (found !== null) return found
  }
  return null
}

function at(path: readonly PropertyKey[], problem: string): string {
  return `${formatPath('', path) || 'body'}: ${problem}`
}
