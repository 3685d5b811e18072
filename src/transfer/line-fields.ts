// What single fields of a line may hold, of a stranger's as of an export's. What is wrong is told with the name of the field.
import { ELEMENT_NAME, elementNameRule, isReserved, isTimestamp, type Length } from '../kernel/element.ts'
import { foundName, isJsonObject } from '../kernel/found.ts'
import { isGid } from '../kernel/ids.ts'

/** What is wrong in a line: where, and how. */
export class LineFault extends Error {
  override readonly name = 'LineFault'
  readonly field: string
  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

export type Members = Readonly<Record<string, unknown>>

export function only(members: Members, name: string): Members {
  for (const other of Object.keys(members)) if (other !== name) throw new LineFault(other, 'unknown field')
  return object(members[name], name)
}

export function object(value: unknown, field: string): Members {
  if (!isJsonObject(value)) throw new LineFault(field, `expected an object, found ${foundName(value)}`)
  return value as Members
}

export function known(members: Members, names: ReadonlySet<string>, field: string): void {
  for (const name in members) if (!names.has(name)) throw new LineFault(`${field}.${name}`, 'unknown field')
}

export function text(value: unknown, field: string, { min, max }: Length): string {
  if (typeof value !== 'string') throw new LineFault(field, `expected a string, found ${foundName(value)}`)
  if (value.length < 2 * min - 1 || value.length > max) {
    // Characters as a capture counts them: what is beyond the first plane takes two units of a string.
    const length = [...value].length
    if (length < min || length > max)
      throw new LineFault(field, `expected ${min} to ${max} characters, found ${length}`)
  }
  return value
}

/** There are few of them, and they come again. */
const knownNames = new Map<Length, Set<string>>()

export function name(value: unknown, field: string, length: Length): string {
  const found = text(value, field, length)
  let good = knownNames.get(length)
  if (good === undefined) {
    good = new Set()
    knownNames.set(length, good)
  }
  if (good.has(found)) return found
  if (!ELEMENT_NAME.test(found)) throw new LineFault(field, `expected ${elementNameRule}`)
  if (good.size < 10_000) good.add(found)
  return found
}

/** What the service writes by itself comes back with an export alone. */
export function refuseReserved(name: string, field: string): void {
  if (isReserved(name))
    throw new LineFault(field, `\`${name}\` is reserved for the service: only an export, header and all, brings it`)
}

const TIME: Length = { min: 1, max: 64 }
let lastTime: string | null = null
let lastMs = 0

export function time(value: unknown, field: string): number {
  if (value === lastTime) return lastMs
  const found = text(value, field, TIME)
  const ms = timeOf(found)
  if (ms === null) throw new LineFault(field, `expected an RFC 3339 timestamp, found \`${found}\``)
  return ms
}

/** Null when it is no timestamp. */
export function timeOf(text: string): number | null {
  if (text === lastTime) return lastMs
  const ms = isTimestamp(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) return null
  lastTime = text
  lastMs = ms
  return ms
}

export function id(value: unknown, field: string): string {
  if (typeof value !== 'string' || value.length !== 30 || !isGid(value))
    throw new LineFault(field, 'expected an id of this service: `gid:` and 26 characters')
  return value
}
