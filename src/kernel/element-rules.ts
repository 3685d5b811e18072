// Limits of the parts of nodes and relationships: lengths and names. Captures, queries, tokens and imports share these
// rules, so that every way into a graph accepts the same elements.

import { WORD } from './text/cypher-names.ts'

/** An inclusive range of lengths in characters (Unicode code points). */
export interface LengthRange {
  readonly min: number
  readonly max: number
}

/** Length of an external id. */
export const externalIdLength: LengthRange = { min: 1, max: 1024 }
/** Length of a label or node type. */
export const labelLength: LengthRange = { min: 1, max: 64 }
/** Length of a relationship type. */
export const relationshipTypeLength: LengthRange = { min: 1, max: 128 }
/** Length of a property name. */
export const propertyNameLength: LengthRange = { min: 1, max: 128 }
/** Length of the name of an external data resolver, used instead of a value. */
export const externalValueLength: LengthRange = { min: 1, max: 256 }
/** Length of a logical location, as in an alias mapping. */
export const locationLength: LengthRange = { min: 1, max: 32 }

/** Labels of one node, without its type. */
export const LABELS_MAX = 64

/** The allowed assurance levels of a property. */
export const ASSURANCE_LEVELS = [1, 2, 3] as const

/**
 * The label of trust scores. They are not in the property index: each pass writes new numbers, half of its writes would be index
 * entries, and a score is found through its node (docs/decisions/0042-trust-scores.md).
 */
export const TRUST_SCORE_LABEL = '_TrustScore'

/** The names of the numbers of a trust score. */
export const trustScoreNames = [
  '_final_score',
  'verification',
  'origin',
  'freshness',
  'completeness',
  'validity',
  'formula_version',
] as const

/** Syntax of the name of a variable in documents. In Cypher any other name can be a variable too, in backticks. */
export const VARIABLE_NAME = new RegExp(`^${WORD}$`, 'u')

/**
 * Syntax of a label or relationship type: words and numbers that single separators join, as in `order-line`, `api.v1.Doc` and `tenant/doc`.
 * A name has no `:`, which ends the type in `Type:id`, and no part that a path could take for a dot segment.
 */
export const ELEMENT_NAME = new RegExp(`^${WORD}(?:[-./][\\p{L}\\p{M}\\p{N}_]+)*$`, 'u')
/** The syntax of ELEMENT_NAME in words, for messages. */
export const elementNameRule =
  'a letter or `_`, then letters, digits and `_`, and between two of them single `-`, `.` or `/`'

/**
 * Fields that no property can have the name of. `type` is no such name: many models have a property `type`, and
 * `n.property.type` reads it (docs/decisions/0004-element-fields-and-values.md).
 */
export const protectedNames: ReadonlySet<string> = new Set([
  '_service',
  'create_time',
  'external_id',
  'id',
  'update_time',
])

/** The types of the service's own nodes. They are not captured, but policies can name them. */
export const serviceNodeTypes: ReadonlySet<string> = new Set(['_Application', '_AppAgent', TRUST_SCORE_LABEL])

/** Whether a label or type is reserved for the service, such as `_Application`, `_AppAgent` and `_HAS`. */
export function isReservedName(name: string): boolean {
  return name.startsWith('_')
}

const TIMESTAMP =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Whether the text is an RFC 3339 timestamp on an existing day. */
export function isTimestamp(text: string): boolean {
  const [, year, month, day] = TIMESTAMP.exec(text) ?? []
  if (day === undefined) return false
  return Number(day) <= 28 || Number(day) <= daysIn(Number(year), Number(month))
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}
