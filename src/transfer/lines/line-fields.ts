// Readers of single fields of a line, for foreign lines and exports. Errors name the field.
import { textIssue } from '../../engine/value/canonical-property.ts'
import {
  ELEMENT_NAME,
  elementNameRule,
  isReservedName,
  isTimestamp,
  type LengthRange,
} from '../../kernel/element-rules.ts'
import { isGid } from '../../kernel/ids.ts'
import { isJsonObject, jsonKindOf } from '../../kernel/json/json-kind.ts'

/** A line that is not valid. `field` is the path of the member at fault; empty: the whole line. */
export class LineError extends Error {
  override readonly name = 'LineFault'
  readonly field: string
  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>

/** Returns the object in the only member of a line. Throws LineError if there are others. */
export function soleMember(members: Members, name: string): Members {
  for (const other of Object.keys(members)) if (other !== name) throw new LineError(other, 'unknown field')
  return readObject(members[name], name)
}

/** Reads an object. Throws LineError. */
export function readObject(value: unknown, field: string): Members {
  if (!isJsonObject(value)) throw new LineError(field, `expected an object, found ${jsonKindOf(value)}`)
  return value as Members
}

/** Throws LineError if the object has another member than these. */
export function rejectUnknown(members: Members, names: ReadonlySet<string>, field: string): void {
  for (const name in members) if (!names.has(name)) throw new LineError(`${field}.${name}`, 'unknown field')
}

/** Reads a string with a length in Unicode code points. Throws LineError. */
export function readText(value: unknown, field: string, { min, max }: LengthRange): string {
  if (typeof value !== 'string') throw new LineError(field, `expected a string, found ${jsonKindOf(value)}`)
  if (value.length < 2 * min - 1 || value.length > max) {
    // Counts code points, as a capture does: characters outside the Basic Multilingual Plane take two UTF-16 units.
    const length = [...value].length
    if (length < min || length > max)
      throw new LineError(field, `expected ${min} to ${max} characters, found ${length}`)
  }
  const issue = textIssue(value)
  if (issue !== null) throw new LineError(field, issue)
  return value
}

/** Valid names seen so far: imports repeat few names very often. */
const validNames = new Map<LengthRange, Set<string>>()

/** Reads the name of a label, relationship type or property. Throws LineError. */
export function readName(value: unknown, field: string, length: LengthRange): string {
  const found = readText(value, field, length)
  let good = validNames.get(length)
  if (good === undefined) {
    good = new Set()
    validNames.set(length, good)
  }
  if (good.has(found)) return found
  if (!ELEMENT_NAME.test(found)) throw new LineError(field, `expected ${elementNameRule}`)
  if (good.size < 10_000) good.add(found)
  return found
}

/** Throws LineError if the name is reserved for the service. Call it for foreign lines only. */
export function rejectReserved(name: string, field: string): void {
  if (isReservedName(name))
    throw new LineError(field, `\`${name}\` is reserved for the service: only an export with its header may contain it`)
}

const TIME: LengthRange = { min: 1, max: 64 }
let lastTimeText: string | null = null
let lastMs = 0

/** Reads an RFC 3339 timestamp; returns milliseconds. Throws LineError. */
export function readTime(value: unknown, field: string): number {
  if (value === lastTimeText) return lastMs
  const found = readText(value, field, TIME)
  const ms = parseTime(found)
  if (ms === null) throw new LineError(field, `expected an RFC 3339 timestamp, found \`${found}\``)
  return ms
}

/** Parses an RFC 3339 timestamp to milliseconds; null if it is not one. Caches the last one. */
export function parseTime(text: string): number | null {
  if (text === lastTimeText) return lastMs
  const ms = isTimestamp(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) return null
  lastTimeText = text
  lastMs = ms
  return ms
}

/** Reads an id of this service. Throws LineError. */
export function readId(value: unknown, field: string): string {
  if (typeof value !== 'string' || value.length !== 30 || !isGid(value))
    throw new LineError(field, 'expected an id of this service: `gid:` followed by 26 characters')
  return value
}
