// What the parts of an element may be: how long, and called how. Captures, queries, tokens and imports ask here, so that
// nothing comes into a graph by one way that another one refuses.

/** Characters, not units of a string. */
export interface LengthRange {
  readonly min: number
  readonly max: number
}

export const externalIdLength: LengthRange = { min: 1, max: 256 }
export const labelLength: LengthRange = { min: 2, max: 64 }
export const relationshipTypeLength: LengthRange = { min: 1, max: 128 }
export const propertyNameLength: LengthRange = { min: 1, max: 128 }
/** Of the name of a resolver, which stands in the place of a value. */
export const externalValueLength: LengthRange = { min: 1, max: 256 }
/** As of a key of an alias mapping. */
export const locationLength: LengthRange = { min: 2, max: 32 }

/** Of one node, its type aside. */
export const LABELS_MAX = 64

export const ASSURANCE_LEVELS = [1, 2, 3] as const

/** A label, or the type of a relationship. */
export const ELEMENT_NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u
export const elementNameRule = 'a letter or `_`, then letters, digits and `_`'

/** Own fields of every element: a property of that name could never be told from them (facts 1.6.1). */
export const protectedNames: ReadonlySet<string> = new Set([
  '_service',
  'create_time',
  'external_id',
  'id',
  'type',
  'update_time',
])

/** `_Application`, `_AppAgent`, `_HAS` and their like: labels and types that the service alone writes. */
export function isReservedName(name: string): boolean {
  return name.startsWith('_')
}

const TIMESTAMP =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** RFC 3339, on a day that there is. */
export function isTimestamp(text: string): boolean {
  const [, year, month, day] = TIMESTAMP.exec(text) ?? []
  if (day === undefined) return false
  return Number(day) <= 28 || Number(day) <= daysIn(Number(year), Number(month))
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}
