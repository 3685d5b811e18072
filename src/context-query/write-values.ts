// Values that a query writes: literals of its document, and parameters and claims of a call. None depends on a row, so
// all are known before the graph is read, and an invalid value fails the whole call.

import { label } from '../config/element-schemas.ts'
import type { PropertyMetadata } from '../engine/store.ts'
import { canonicalProperty, externalIdIssue } from '../engine/value/canonical-property.ts'
import { fromJson, toJson } from '../engine/value/json-conversion.ts'
import type { PropertyValue, Value } from '../engine/value/value.ts'
import { externalIdLength, isTimestamp } from '../kernel/element-rules.ts'
import { Float } from '../kernel/float.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { missingParameterText } from '../policy/input-parameters.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import { expectedReference, readReference, type ValueReference, valueAt } from '../policy/value-reference.ts'
import { serviceParameters } from './parameters.ts'

/** Where a value comes from. */
export type ValueSource =
  | { readonly kind: 'literal'; readonly value: Value }
  | { readonly kind: 'reference'; readonly reference: ValueReference }
  | { readonly kind: 'list'; readonly items: readonly ValueSource[] }

/**
 * Parses a value of the document. A string that begins with `$` is never a literal. The error is a message for the
 * author.
 */
export function readValueSource(value: unknown): Result<ValueSource, string> {
  if (typeof value === 'string' && value.startsWith('$')) {
    const reference = readReference(value)
    if (reference.ok) return ok({ kind: 'reference', reference: reference.value })
    return err(expectedReference)
  }
  if (!Array.isArray(value)) return ok({ kind: 'literal', value: fromJson(value) })
  const items: ValueSource[] = []
  for (const item of value) {
    const source = readValueSource(item)
    if (!source.ok) return source
    items.push(source.value)
  }
  return ok({ kind: 'list', items })
}

/** Returns the parameters that the value needs, without `$`. */
export function parametersOf(source: ValueSource): string[] {
  switch (source.kind) {
    case 'literal':
      return []
    case 'reference':
      return [source.reference.root]
    case 'list':
      return source.items.flatMap(parametersOf)
  }
}

/** Returns the value; null if a claim or member is absent. */
export function sourceValue(source: ValueSource, parameters: BoundParameters): Value {
  switch (source.kind) {
    case 'literal':
      return source.value
    case 'reference':
      return valueAt(source.reference, parameters)
    case 'list':
      return source.items.map((item) => sourceValue(item, parameters))
  }
}

/** Returns the issue for an invalid value, with its origin. */
export function valueIssue(source: ValueSource, place: string, expected: string): string {
  if (source.kind !== 'reference') return `${place}: ${expected}`
  const { root, text } = source.reference
  const isSent = !serviceParameters.has(root)
  return isSent ? `${missingParameterText(text.slice(1))}: ${expected}` : `${place}: \`${text}\`: ${expected}`
}

// -- what a value must be

/** The message for an invalid property value. */
export const expectedValue = 'expected a string, a finite number, a boolean or an array of one of these'
/** The message for an invalid external id. */
export const expectedExternalId = `expected a string of ${externalIdLength.min} to ${externalIdLength.max} characters`
/** The message for an invalid label. */
export const expectedLabel = 'expected a label, or an array of labels, that is not reserved'
/** The message for an invalid resolver name. */
export const expectedName = 'expected the name of an external data resolver'

/**
 * Returns the value as a property value; null if no property can hold it
 * (docs/decisions/0004-element-fields-and-values.md).
 */
export function toPropertyValue(value: Value): PropertyValue | null {
  const items: readonly Value[] = Array.isArray(value) ? value : [value as Value]
  if (!items.every(isJsonScalar)) return null
  const canonical = canonicalProperty(value)
  return canonical.ok ? canonical.value : null
}

function isJsonScalar(value: Value): boolean {
  return value instanceof Float ? Number.isFinite(value.value) : value !== null && typeof value !== 'object'
}

/** Returns a string that can be an external id; null for any other value. */
export function toExternalId(value: Value): string | null {
  return typeof value === 'string' && externalIdIssue(value) === null ? value : null
}

/** Returns a label or a list of labels as a list; null if one is invalid or reserved. */
export function toLabels(value: Value): readonly string[] | null {
  const labels: readonly Value[] = Array.isArray(value) ? value : [value as Value]
  return labels.every(isLabel) ? (labels as readonly string[]) : null
}

function isLabel(value: Value): boolean {
  return typeof value === 'string' && !value.startsWith('_') && label.safeParse(value).success
}

// -- metadata

/**
 * Converts one metadata entry. A name that is not a metadata field is custom metadata. The error names the expected
 * type.
 */
export function metadataEntry(type: string, value: Value): Result<PropertyMetadata, string> {
  switch (type) {
    case 'source':
      return typeof value === 'string' ? ok({ source: value }) : err('expected a string')
    case 'assurance_level':
      return value === 1 || value === 2 || value === 3 ? ok({ assuranceLevel: value }) : err('expected 1, 2 or 3')
    case 'verified_time':
      return typeof value === 'string' && isTimestamp(value)
        ? ok({ verifiedTime: value })
        : err('expected an RFC 3339 timestamp')
    case 'custom_metadata':
      return value instanceof Map ? ok({ custom: plain(value) as Record<string, unknown> }) : err('expected an object')
    default:
      if (value === null) return err('expected a value')
      // fromEntries, because a key may be `__proto__`.
      return ok({ custom: Object.fromEntries([[type, plain(value)]]) })
  }
}

/** Merges metadata entries; null if none exist. */
export function mergedMetadata(entries: readonly PropertyMetadata[]): PropertyMetadata | null {
  if (entries.length === 0) return null
  const customs = entries.flatMap(({ custom }) => (custom === undefined ? [] : Object.entries(custom)))
  const own = entries.map(({ custom: _, ...rest }) => rest)
  return { ...Object.assign({}, ...own), ...(customs.length === 0 ? {} : { custom: Object.fromEntries(customs) }) }
}

/** JSON data as in a capture: floats stay boxed. */
function plain(value: Value): unknown {
  return toJson(value, () => null)
}
