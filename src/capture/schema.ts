// What a capture batch looks like: fields, lengths and syntax (400 when broken). What a batch means is apply.ts.
import { z } from 'zod'
import type { PropertyValue } from '../engine/value/value.ts'
import {
  ASSURANCE_LEVELS,
  ELEMENT_NAME,
  elementNameRule,
  externalIdLength,
  externalValueLength,
  LABELS_MAX,
  type LengthRange,
  labelLength,
  locationLength,
  propertyNameLength,
  relationshipTypeLength,
} from '../kernel/element-rules.ts'
import { Float } from '../kernel/float.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json-kind.ts'

function textOf({ min, max }: LengthRange): z.ZodString {
  return z.string().min(min).max(max)
}

const externalId = textOf(externalIdLength)
const label = textOf(labelLength).regex(ELEMENT_NAME, { error: `expected a label: ${elementNameRule}` })
const relationshipType = textOf(relationshipTypeLength).regex(ELEMENT_NAME, {
  error: `expected a relationship type: ${elementNameRule}`,
})
const location = textOf(locationLength)

const INTEGER_MAX = 2n ** 63n

function isScalar(value: unknown): boolean {
  if (value instanceof Float) return Number.isFinite(value.value)
  if (typeof value === 'bigint') return value >= -INTEGER_MAX && value < INTEGER_MAX
  return typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number'
}

/** Ruling G5. Integers and floats are one kind here: both are written as numbers. */
function isPropertyValue(value: unknown): value is PropertyValue {
  if (!Array.isArray(value)) return isScalar(value)
  return value.every((item) => isScalar(item) && jsonKindOf(item) === jsonKindOf(value[0]))
}

const propertyValue = z.custom<PropertyValue>(isPropertyValue, {
  error: ({ input }) =>
    `expected a string, a finite number of at most 64 bits, a boolean or an array of one of these, found ${valueName(input)}`,
})

function valueName(value: unknown): string {
  if (!Array.isArray(value)) return jsonKindOf(value)
  return `an array of ${[...new Set(value.map(jsonKindOf))].join(' and ')}`
}

const metadata = z.strictObject({
  source: z.string().optional(),
  assurance_level: z.literal(ASSURANCE_LEVELS).optional(),
  verified_time: z.iso
    .datetime({ offset: true, error: ({ input }) => `expected an RFC 3339 timestamp, found ${quoted(input)}` })
    .optional(),
  custom_metadata: z.custom<Record<string, unknown>>(isFreeObject, { error: expectedObject }).optional(),
})

/** Free JSON, but its numbers must be values when they are read. */
function isFreeObject(value: unknown): value is Record<string, unknown> {
  return isJsonObject(value) && Object.values(value).every(isFree)
}

function isFree(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isFree) : value === null || isScalar(value) || isFreeObject(value)
}

function expectedObject({ input }: { input?: unknown }): string {
  return isJsonObject(input)
    ? 'expected numbers of at most 64 bits, found a longer one'
    : `expected object, found ${jsonKindOf(input)}`
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? `\`${value.slice(0, 64)}\`` : jsonKindOf(value)
}

const propertyMembers = {
  type: textOf(propertyNameLength),
  value: propertyValue.optional(),
  external_value: textOf(externalValueLength).optional(),
}

function hasOneSource(property: { value?: unknown; external_value?: unknown }): boolean {
  return (property.value === undefined) !== (property.external_value === undefined)
}
const oneSource = { error: 'expected exactly one of `value` and `external_value`' }

const property = z.strictObject({ ...propertyMembers, metadata: metadata.optional() }).refine(hasOneSource, oneSource)
/** A property of a relationship carries no metadata (facts 1.2.2). */
const relationshipProperty = z.strictObject(propertyMembers).refine(hasOneSource, oneSource)

const node = z.strictObject({
  external_id: externalId,
  type: label,
  labels: z.array(label).max(LABELS_MAX).optional(),
  is_identity: z.boolean().optional(),
  location: location.optional(),
  properties: z.array(property).optional(),
})

const endNode = z.strictObject({ external_id: externalId, type: label, location: location.optional() })

const relationship = z.strictObject({
  source: endNode,
  target: endNode,
  type: relationshipType,
  properties: z.array(relationshipProperty).optional(),
})

// -- what is deleted

/** Facts 1.2.3: of one entry, however many entries there are. */
const NAMES_MAX = 250

const propertyType = textOf(propertyNameLength)
const propertyTypes = z.array(propertyType).min(1).max(NAMES_MAX)

const trimmedNode = z.strictObject({ ...endNode.shape, property_types: propertyTypes })

const unsourcedProperty = z.strictObject({
  ...endNode.shape,
  property_type: propertyType,
  /** `source`, `assurance_level`, `verified_time`, or keys of the custom metadata. */
  metadata_fields: z.array(z.string().min(1)).min(1).max(NAMES_MAX),
})

/** What it holds is of no interest where a relationship or some of its properties go. */
const ignored = z.unknown().optional()

const goneRelationship = z.strictObject({
  source: endNode,
  target: endNode,
  type: relationshipType,
  properties: ignored,
})

const trimmedRelationship = z.strictObject({ ...goneRelationship.shape, property_types: propertyTypes })

// -- requests

function nodesOf<T extends z.ZodType>(item: T) {
  return (itemsMax: number) => z.strictObject({ nodes: z.array(item).min(1).max(itemsMax) })
}

function relationshipsOf<T extends z.ZodType>(item: T) {
  return (itemsMax: number) =>
    z.strictObject({ relationships: z.array(item).min(1).max(itemsMax), use_global_db: z.boolean().optional() })
}

export const nodesRequest = nodesOf(node)
export const deleteNodesRequest = nodesOf(endNode)
export const deleteNodePropertiesRequest = nodesOf(trimmedNode)
export const deletePropertyMetadataRequest = nodesOf(unsourcedProperty)
export const relationshipsRequest = relationshipsOf(relationship)
export const deleteRelationshipsRequest = relationshipsOf(goneRelationship)
export const deleteRelationshipPropertiesRequest = relationshipsOf(trimmedRelationship)

export type CapturedNode = z.infer<typeof node>
export type CapturedRelationship = z.infer<typeof relationship>
export type CapturedProperty = z.infer<typeof property>
export type NodeKeyInput = z.infer<typeof endNode>
export type NodePropertiesDeletion = z.infer<typeof trimmedNode>
export type PropertyMetadataDeletion = z.infer<typeof unsourcedProperty>
export type RelationshipKeyInput = z.infer<typeof goneRelationship>
export type RelationshipPropertiesDeletion = z.infer<typeof trimmedRelationship>

export interface NodesBody<T> {
  readonly nodes: readonly T[]
}
export interface RelationshipsBody<T> {
  readonly relationships: readonly T[]
  readonly use_global_db?: boolean | undefined
}

/** One entry per item, in the order of the request (facts 1.2.1). Deleting what is not there has no id to tell: ''. */
export const batchResult = z.object({ results: z.array(z.object({ id: z.string() })) })
export type BatchResult = z.infer<typeof batchResult>
