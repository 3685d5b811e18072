// The digest of input parameters, from which the audit log makes a keyed hash. It is only in the outbox, next to the events; no
// receiver gets it, because values with few possibilities could be guessed from it.
import { createHash } from 'node:crypto'
import { writeJson } from '../kernel/json/json.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'

/**
 * SHA-256, in base64url, of the values as JSON in UTF-8 without spaces, with the members of each object sorted by name (UTF-16 code
 * units).
 */
export function digestOfValues(values: Readonly<Record<string, unknown>>): string {
  return createHash('sha256')
    .update(writeJson(sorted(values)))
    .digest('base64url')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  const names = Object.keys(value).sort()
  // A Map, because an object would order names that look like numbers.
  return new Map(names.map((name) => [name, sorted(value[name])]))
}
