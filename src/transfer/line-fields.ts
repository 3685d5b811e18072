// What single fields of a line may hold, of a stranger's as of an export's. What is wrong is told with the name of the field.
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

export function text(value: unknown, field: string, min: number, max: number): string {
  if (typeof value !== 'string') throw new LineFault(field, `expected a string, found ${foundName(value)}`)
  if (value.length < min || value.length > max) {
    // Characters as a capture counts them: what is beyond the first plane takes two units of a string.
    const length = [...value].length
    if (length < min || length > max)
      throw new LineFault(field, `expected ${min} to ${max} characters, found ${length}`)
  }
  return value
}

// Names as capture takes them, and those of the service with them.
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u

export function isName(text: string): boolean {
  return NAME.test(text)
}

const knownNames = new Map<string, Set<string>>()

export function name(value: unknown, field: string, min: number, max: number): string {
  const found = text(value, field, min, max)
  let good = knownNames.get(`${min} ${max}`)
  if (good === undefined) {
    good = new Set()
    knownNames.set(`${min} ${max}`, good)
  }
  if (good.has(found)) return found
  if (!isName(found)) throw new LineFault(field, `expected a letter or \`_\`, then letters, digits and \`_\``)
  if (good.size < 10_000) good.add(found)
  return found
}

let lastTime: string | null = null
let lastMs = 0

export function time(value: unknown, field: string): number {
  if (value === lastTime) return lastMs
  const found = text(value, field, 1, 64)
  const ms = timeOf(found)
  if (ms === null) throw new LineFault(field, `expected an RFC 3339 timestamp, found \`${found}\``)
  return ms
}

/** Null when it is no timestamp. */
export function timeOf(text: string): number | null {
  if (text === lastTime) return lastMs
  const ms = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/.test(text)
    ? Date.parse(text)
    : Number.NaN
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
