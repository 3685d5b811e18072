// A text of a JSON value that is the same for equal values: members in order of their names.
import { writeJson } from './json.ts'
import { isJsonObject } from './json-kind.ts'

/** Equal texts mean equal values. Floats and integers differ if they were read with exact numbers. */
export function canonicalJson(value: unknown): string {
  return writeJson(sorted(value))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(
    members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, sorted(member)]),
  )
}
