// Edits the properties of one element. An edit without effect returns the same map.
import {
  externalPropertyName,
  type MetadataFields,
  type PropertyInput,
  type PropertyMetadata,
  type StoredProperty,
  type SymbolId,
  type SymbolKind,
} from '../../engine/store.ts'
import { canonicalProperty } from '../../engine/value/canonical-property.ts'
import type { PropertyValue } from '../../engine/value/value.ts'
import { assert } from '../../kernel/assert.ts'
import { InvalidElementError } from '../../kernel/errors.ts'
import type { StoredProperties } from '../format/records.ts'

/** The properties of an element without any. */
export const NO_PROPERTIES: StoredProperties = new Map()

/** A property to load, with the time of its last change in milliseconds since the epoch. */
export interface BulkProperty extends PropertyInput {
  readonly updatedMs?: number
}

/** Assigns symbol ids to names. */
export interface SymbolInterner {
  intern(kind: SymbolKind, name: string): SymbolId
}

/**
 * Adds or replaces properties. A property that an external resolver supplies also interns its marker names. `element`: names the
 * element in errors. Throws InvalidElementError for a value that no property can hold.
 */
export function withProperties(
  properties: StoredProperties,
  inputs: readonly BulkProperty[] | undefined,
  updatedMs: number,
  symbols: SymbolInterner,
  element: () => string,
): StoredProperties {
  if (inputs === undefined || inputs.length === 0) return properties
  if (!Array.isArray(inputs)) throw new TypeError('properties: expected an array of { name, value }')
  const merged = new Map(properties)
  for (const input of inputs as readonly BulkProperty[]) {
    const count = (input.value === undefined ? 0 : 1) + (input.externalValue === undefined ? 0 : 1)
    assert(count === 1, 'a property has either a value or a resolver')
    if (input.externalValue !== undefined) {
      for (const name of [input.name, '']) symbols.intern('property', externalPropertyName(name))
    }
    const property: StoredProperty = {
      value: input.value === undefined ? null : canonicalValue(input.name, input.value, element),
      externalValue: input.externalValue ?? null,
      updatedMs: input.updatedMs ?? updatedMs,
      metadata: input.metadata ?? null,
    }
    merged.set(symbols.intern('property', input.name), property)
  }
  return merged
}

function canonicalValue(name: string, value: PropertyValue, element: () => string): PropertyValue {
  const canonical = canonicalProperty(value)
  if (canonical.ok) return canonical.value
  throw new InvalidElementError(`${element()}: the property \`${name}\`: ${canonical.error}`)
}

/** Removes properties. */
export function withoutProperties(properties: StoredProperties, symbols: readonly SymbolId[]): StoredProperties {
  if (!symbols.some((symbol) => properties.has(symbol))) return properties
  const rest = new Map(properties)
  for (const symbol of symbols) rest.delete(symbol)
  return rest
}

/** Removes fields from the metadata of a property. */
export function withoutMetadata(
  properties: StoredProperties,
  symbol: SymbolId,
  fields: MetadataFields,
  updatedMs: number,
): StoredProperties {
  const property = properties.get(symbol)
  if (property === undefined || property.metadata === null) return properties
  const metadata = removeFields(property.metadata, fields)
  if (metadata === property.metadata) return properties
  return new Map(properties).set(symbol, { ...property, metadata, updatedMs })
}

/** The metadata without the given fields. Null if nothing is left. */
function removeFields(metadata: PropertyMetadata, fields: MetadataFields): PropertyMetadata | null {
  const { custom = {}, ...own } = metadata
  const keptOwn = Object.entries(own).filter(([name]) => !(fields.own as readonly string[]).includes(name))
  const keptCustom = Object.entries(custom).filter(([name]) => !fields.custom.includes(name))
  const gone = Object.keys(own).length + Object.keys(custom).length - keptOwn.length - keptCustom.length
  if (gone === 0) return metadata
  const kept: PropertyMetadata = {
    ...Object.fromEntries(keptOwn),
    // Built from entries, because a key may be `__proto__`.
    ...(keptCustom.length === 0 ? {} : { custom: Object.fromEntries(keptCustom) }),
  }
  return Object.keys(kept).length === 0 ? null : kept
}
