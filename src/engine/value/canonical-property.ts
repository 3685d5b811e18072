// The one function that all writers of elements pass: it makes a property value canonical, or returns why no property can hold it. Two
// equal values must have one representation, because DISTINCT, grouping and the property index compare representations.
import { ELEMENT_NAME, elementNameRule, externalIdLength } from '../../kernel/element-rules.ts'
import { Float } from '../../kernel/float.ts'
import { jsonKindOf } from '../../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { fitsInt64, normalizeInteger } from './arithmetic.ts'
import { isTemporal } from './temporal/temporal.ts'
import type { PropertyScalar, PropertyValue } from './value.ts'

const EXPECTED = 'expected a string, a finite number of at most 64 bits, a boolean or an array of one of these'
const LONE_SURROGATE = 'expected well-formed Unicode, found a lone surrogate'

/**
 * Returns the canonical form of a property value; the same value if it is canonical already. A number with a fraction becomes a
 * float, and a bigint that is a safe integer a number. Error: why no property can hold the value, as the end of a message that names
 * the property. An array holds one kind of values; integers and floats are one kind, because JSON writes both as numbers.
 * Temporal values and boxed floats that are not finite are accepted: queries and copies write them.
 */
export function canonicalProperty(data: unknown): Result<PropertyValue, string> {
  if (!Array.isArray(data)) return canonicalScalar(data)
  let isSame = true
  const items: PropertyScalar[] = []
  const kinds = new Set<string>()
  for (let i = 0; i < data.length; i++) {
    const item = canonicalScalar(data[i])
    if (!item.ok) return err(`item ${i}: ${item.error}`)
    if (item.value !== data[i] || Object.is(data[i], -0)) isSame = false
    items.push(item.value)
    kinds.add(kindOf(item.value))
  }
  if (kinds.size > 1) return err(`${EXPECTED}, found an array of ${[...kinds].join(' and ')}`)
  return ok(isSame ? (data as readonly PropertyScalar[]) : items)
}

function canonicalScalar(data: unknown): Result<PropertyScalar, string> {
  switch (typeof data) {
    case 'string':
      return data.isWellFormed() ? ok(data) : err(LONE_SURROGATE)
    case 'boolean':
      return ok(data)
    case 'number':
      if (!Number.isFinite(data)) return err(`${EXPECTED}, found ${data}`)
      // `+ 0`: there is one integer zero.
      return ok(Number.isSafeInteger(data) ? data + 0 : new Float(data))
    case 'bigint':
      return fitsInt64(data) ? ok(normalizeInteger(data)) : err(`${EXPECTED}, found the integer ${data}`)
    case 'object':
      if (data instanceof Float || isTemporal(data)) return ok(data)
      if (data instanceof Date) return err(`${EXPECTED}, found a Date: write its text, as \`toISOString()\` returns it`)
      break
    default:
  }
  return err(`${EXPECTED}, found ${jsonKindOf(data)}`)
}

function kindOf(value: PropertyScalar): string {
  if (isTemporal(value)) return value.kind
  return typeof value === 'string' || typeof value === 'boolean' ? typeof value : 'number'
}

/** Returns why a text cannot be an external id, as the end of a message that names the node; null: it can. */
export function externalIdIssue(text: unknown): string | null {
  if (typeof text !== 'string') return `expected a string, found ${jsonKindOf(text)}`
  if (text.length === 0 || (text.length > externalIdLength.max && [...text].length > externalIdLength.max))
    return `expected ${externalIdLength.min} to ${externalIdLength.max} characters, found ${[...text].length}`
  return textIssue(text)
}

/** Returns why a text cannot be the name of a label or a type, as the end of a message; null: it can. */
export function elementNameIssue(text: unknown): string | null {
  if (typeof text !== 'string') return `expected a string, found ${jsonKindOf(text)}`
  return ELEMENT_NAME.test(text) ? null : `expected ${elementNameRule}, found ${JSON.stringify(text.slice(0, 64))}`
}

/** Returns why a text is refused in a key or a name; null: it is not. */
export function textIssue(text: string): string | null {
  if (!text.isWellFormed()) return LONE_SURROGATE
  return text.includes('\0') ? 'expected text without the character U+0000' : null
}
