// Parses the properties of an element in a line: value or external value, update time and metadata.
import type { PropertyMetadata } from '../../engine/store.ts'
import { canonicalProperty } from '../../engine/value/canonical-property.ts'
import { fromJson } from '../../engine/value/json-conversion.ts'
import { construct } from '../../engine/value/temporal/construct.ts'
import type { TemporalKind } from '../../engine/value/temporal/temporal.ts'
import type { PropertyScalar, PropertyValue } from '../../engine/value/value.ts'
import {
  ASSURANCE_LEVELS,
  externalValueLength,
  isTimestamp,
  propertyNameLength,
  protectedNames,
} from '../../kernel/element-rules.ts'
import { Float } from '../../kernel/float.ts'
import { isJsonObject, jsonKindOf } from '../../kernel/json/json-kind.ts'
import type { BulkProperty } from '../../store/graph/bulk-batch.ts'
import { LineError, type Members, readObject, readText, readTime, rejectUnknown } from './line-fields.ts'

const PROPERTY_FIELDS = new Set(['type', 'value', 'external_value', 'update_time', 'metadata'])

/**
 * Parses the array of properties. A foreign line accepts what a capture accepts; an export also contains values that only
 * queries and the library write. `mayBeSourced`: the element is a node, whose properties carry metadata. Throws LineError.
 */
export function readProperties(
  value: unknown,
  field: string,
  isExport: boolean,
  mayBeSourced: boolean,
): BulkProperty[] {
  if (!Array.isArray(value)) throw new LineError(field, `expected an array, found ${jsonKindOf(value)}`)
  return value.map((item, i) =>
    readProperty(readObject(item, `${field}[${i}]`), `${field}[${i}]`, isExport, mayBeSourced),
  )
}

function readProperty(members: Members, field: string, isExport: boolean, mayBeSourced: boolean): BulkProperty {
  rejectUnknown(members, PROPERTY_FIELDS, field)
  const { value, external_value, update_time, metadata } = members
  const property = readText(members.type, `${field}.type`, propertyNameLength)
  if (protectedNames.has(property)) throw new LineError(`${field}.type`, `\`${property}\` is a protected name`)
  if ((value === undefined) === (external_value === undefined))
    throw new LineError(field, 'expected exactly one of `value` and `external_value`')
  if (metadata !== undefined && !isExport && !mayBeSourced)
    throw new LineError(`${field}.metadata`, 'a property of a relationship has no metadata')
  return {
    name: property,
    ...(value === undefined ? {} : { value: readValue(value, `${field}.value`, isExport) }),
    ...(external_value === undefined
      ? {}
      : { externalValue: readText(external_value, `${field}.external_value`, externalValueLength) }),
    ...(update_time === undefined ? {} : { updatedMs: readTime(update_time, `${field}.update_time`) }),
    ...(metadata === undefined ? {} : { metadata: readMetadata(readObject(metadata, `${field}.metadata`), field) }),
  }
}

function readValue(value: unknown, field: string, isExport: boolean): PropertyValue {
  const read = Array.isArray(value)
    ? value.map((item, i) => readScalar(item, `${field}[${i}]`, isExport))
    : readScalar(value, field, isExport)
  const canonical = canonicalProperty(read)
  if (!canonical.ok) throw new LineError(field, canonical.error)
  return canonical.value
}

const TEMPORAL_KINDS: ReadonlySet<string> = new Set<TemporalKind>([
  'date',
  'localtime',
  'time',
  'localdatetime',
  'datetime',
  'duration',
])

function readScalar(value: unknown, field: string, isExport: boolean): PropertyScalar {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  try {
    if (isJsonObject(value)) {
      const [[kind = '', from] = [], ...more] = Object.entries(value as Members)
      if (more.length === 0 && typeof from === 'string') {
        if (TEMPORAL_KINDS.has(kind)) return construct(kind as TemporalKind, from) as PropertyScalar
        if (isExport && kind === 'float' && /^(?:NaN|-?Infinity)$/.test(from)) return new Float(Number(from))
      }
    } else if (typeof value === 'number' || typeof value === 'bigint' || value instanceof Float)
      return fromJson(value) as PropertyScalar
  } catch (error) {
    throw new LineError(field, (error as Error).message)
  }
  throw new LineError(
    field,
    `expected a string, a number of at most 64 bits, a boolean or an array of one of these, found ${jsonKindOf(value)}`,
  )
}

const ANY_LENGTH = { min: 0, max: Number.POSITIVE_INFINITY }
const METADATA_FIELDS = new Set(['source', 'assurance_level', 'verified_time', 'custom_metadata'])

function readMetadata(members: Members, property: string): PropertyMetadata {
  const field = `${property}.metadata`
  rejectUnknown(members, METADATA_FIELDS, field)
  const { source, assurance_level, verified_time, custom_metadata } = members
  if (assurance_level !== undefined && !ASSURANCE_LEVELS.includes(assurance_level as 1))
    throw new LineError(`${field}.assurance_level`, 'expected 1, 2 or 3')
  if (verified_time !== undefined && (typeof verified_time !== 'string' || !isTimestamp(verified_time)))
    throw new LineError(`${field}.verified_time`, `expected an RFC 3339 timestamp, found ${quoted(verified_time)}`)
  return {
    ...(source === undefined ? {} : { source: readText(source, `${field}.source`, ANY_LENGTH) }),
    ...(assurance_level === undefined ? {} : { assuranceLevel: assurance_level as number }),
    ...(verified_time === undefined ? {} : { verifiedTime: verified_time as string }),
    ...(custom_metadata === undefined ? {} : { custom: readCustom(custom_metadata, `${field}.custom_metadata`) }),
  }
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? `\`${value.slice(0, 64)}\`` : jsonKindOf(value)
}

/** Any JSON object whose numbers are valid property values. */
function readCustom(value: unknown, field: string): Members {
  const members = readObject(value, field)
  try {
    fromJson(members)
  } catch (error) {
    throw new LineError(field, (error as Error).message)
  }
  return members
}
