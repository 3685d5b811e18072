// Schemas of capture requests: fields, lengths and syntax (400 if broken). nodes.ts and relationships.ts check the
// rules that a schema cannot express.
import { z } from 'zod'
import { label, propertyName, relationshipType, textOf } from '../config/element-schemas.ts'
import { jsonObject } from '../config/json-schema.ts'
import { canonicalProperty, textIssue } from '../engine/value/canonical-property.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import {
  ASSURANCE_LEVELS,
  externalIdLength,
  externalValueLength,
  LABELS_MAX,
  locationLength,
} from '../kernel/element-rules.ts'
import { Float } from '../kernel/float.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json/json-kind.ts'

const externalId = textOf(externalIdLength).refine((text) => textIssue(text) === null, {
  error: ({ input }) => textIssue(String(input)) ?? '',
})
const location = textOf(locationLength)

const INTEGER_MAX = 2n ** 63n

function isScalar(value: unknown): boolean {
  if (value instanceof Float) return Number.isFinite(value.value)
  if (typeof value === 'bigint') return value >= -INTEGER_MAX && value < INTEGER_MAX
  return typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number'
}

const propertyValue = z.custom<PropertyValue>((value) => isJsonValue(value) && canonicalProperty(value).ok, {
  error: ({ input }) =>
    `expected a string, a finite number of at most 64 bits, a boolean or an array of one of these, found ${valueName(input)}`,
})

/** JSON has no temporal values and no infinite numbers, which other writers have. */
function isJsonValue(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isScalar) : isScalar(value)
}

function valueName(value: unknown): string {
  if (!Array.isArray(value)) return jsonKindOf(value)
  return `an array of ${[...new Set(value.map(jsonKindOf))].join(' and ')}`
}

const metadata = z
  .strictObject({
    source: z.string().optional(),
    assurance_level: z.literal(ASSURANCE_LEVELS).optional(),
    verified_time: z.iso
      .datetime({ offset: true, error: ({ input }) => `expected an RFC 3339 timestamp, found ${quoted(input)}` })
      .optional(),
    custom_metadata: z
      .custom<Record<string, unknown>>(isFreeObject, { error: expectedObject })
      .meta({ documentedAs: jsonObject })
      .optional(),
  })
  .meta({ id: 'PropertyMetadata' })

/** Free JSON, but its numbers must be representable. */
function isFreeObject(value: unknown): value is Record<string, unknown> {
  return isJsonObject(value) && Object.values(value).every(isFreeValue)
}

function isFreeValue(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isFreeValue) : value === null || isScalar(value) || isFreeObject(value)
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
  type: propertyName,
  value: propertyValue.optional(),
  external_value: textOf(externalValueLength).optional(),
}

function hasOneSource(property: { value?: unknown; external_value?: unknown }): boolean {
  return (property.value === undefined) !== (property.external_value === undefined)
}
const oneSource = { error: 'expected exactly one of `value` and `external_value`' }

const property = z
  .strictObject({ ...propertyMembers, metadata: metadata.optional() })
  .refine(hasOneSource, oneSource)
  .meta({ id: 'NodeProperty' })
/** A property of a relationship has no metadata. */
const relationshipProperty = z
  .strictObject(propertyMembers)
  .refine(hasOneSource, oneSource)
  .meta({ id: 'RelationshipProperty' })

const nodeMembers = {
  labels: z.array(label).max(LABELS_MAX).optional(),
  tags: z.array(label).max(LABELS_MAX).optional().describe('further labels, in addition to `labels`'),
  is_identity: z.boolean().optional(),
  location: location.optional(),
  properties: z.array(property).optional(),
}

/** Labels and tags of a node are one set. */
function hasLabelCount({ labels = [], tags = [] }: LabelMembers): boolean {
  return labels.length + tags.length <= LABELS_MAX || new Set([...labels, ...tags]).size <= LABELS_MAX
}
interface LabelMembers {
  readonly labels?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
}
const labelCount = { error: `labels and tags: expected at most ${LABELS_MAX} together` }

const node = z
  .strictObject({ external_id: externalId, type: label, ...nodeMembers })
  .refine(hasLabelCount, labelCount)
  .meta({ id: 'Node' })

const endNode = z
  .strictObject({ external_id: externalId, type: label, location: location.optional() })
  .meta({ id: 'NodeKey' })

const relationship = z
  .strictObject({
    source: endNode,
    target: endNode,
    type: relationshipType,
    properties: z.array(relationshipProperty).optional(),
  })
  .meta({ id: 'Relationship' })

// -- what is deleted

/** Maximum names in one entry, for any number of entries. */
const NAMES_MAX = 250

const propertyTypes = z.array(propertyName).min(1).max(NAMES_MAX)

const trimmedNode = z
  .strictObject({ ...endNode.shape, property_types: propertyTypes })
  .meta({ id: 'NodePropertiesDeletion' })

const unsourcedProperty = z
  .strictObject({
    ...endNode.shape,
    property_type: propertyName,
    /** `source`, `assurance_level`, `verified_time`, or keys of the custom metadata. */
    metadata_fields: z.array(z.string().min(1)).min(1).max(NAMES_MAX),
  })
  .meta({ id: 'PropertyMetadataDeletion' })

/** Accepted and ignored in deletions. */
const ignoredProperties = z.unknown().optional().describe('ignored')

const goneRelationship = z
  .strictObject({
    source: endNode,
    target: endNode,
    type: relationshipType,
    properties: ignoredProperties,
  })
  .meta({ id: 'RelationshipKey' })

const trimmedRelationship = z
  .strictObject({ ...goneRelationship.shape, property_types: propertyTypes })
  .meta({ id: 'RelationshipPropertiesDeletion' })

// -- requests

function nodesOf<T extends z.ZodType>(item: T, id: string) {
  return (itemsMax: number) => z.strictObject({ nodes: z.array(item).min(1).max(itemsMax) }).meta({ id })
}

function relationshipsOf<T extends z.ZodType>(item: T, id: string) {
  return (itemsMax: number) =>
    z
      .strictObject({ relationships: z.array(item).min(1).max(itemsMax), use_global_db: z.boolean().optional() })
      .meta({ id })
}

const missingEndMode = z
  .enum(['refuse', 'skip'])
  .optional()
  .describe(
    'what happens if an end node does not exist. `refuse` (default): 422, and nothing of the batch is written. `skip`: the relationship is left out and listed in `skipped`',
  )

// Each function returns the schema of a request with at most `itemsMax` items.
/** A request to create or update nodes. */
export const nodesRequest = nodesOf(node, 'NodesRequest')
/** A request to delete nodes. */
export const deleteNodesRequest = nodesOf(endNode, 'NodesDeletionRequest')
/** A request to delete properties of nodes. */
export const deleteNodePropertiesRequest = nodesOf(trimmedNode, 'NodePropertiesDeletionRequest')
/** A request to delete metadata of properties. */
export const deletePropertyMetadataRequest = nodesOf(unsourcedProperty, 'PropertyMetadataDeletionRequest')
/** A request to create or update relationships. */
export const relationshipsRequest = (itemsMax: number) =>
  z
    .strictObject({ ...relationshipsOf(relationship, '')(itemsMax).shape, on_missing_end: missingEndMode })
    .meta({ id: 'RelationshipsRequest' })
/** A request to delete relationships. */
export const deleteRelationshipsRequest = relationshipsOf(goneRelationship, 'RelationshipsDeletionRequest')
/** A request to delete properties of relationships. */
export const deleteRelationshipPropertiesRequest = relationshipsOf(
  trimmedRelationship,
  'RelationshipPropertiesDeletionRequest',
)

/** A request to create or update the node that its path names. */
export const nodeRequest = z
  .strictObject({
    type: label.optional().describe('as in the path; may be omitted'),
    external_id: externalId.optional().describe('as in the path; may be omitted'),
    ...nodeMembers,
  })
  .refine(hasLabelCount, labelCount)
  .meta({ id: 'NodeRequest' })
/** The key of a node in a path. */
export const nodeKey = z.strictObject({ type: label, external_id: externalId })

/** A node to create or update, without its key. */
export type NodeBody = z.infer<typeof nodeRequest>
/** A node to create or update. */
export type CapturedNode = z.infer<typeof node>
/** A relationship to create or update. */
export type CapturedRelationship = z.infer<typeof relationship>
/** A property with its metadata. */
export type CapturedProperty = z.infer<typeof property>
/** The key of a node, with its location. */
export type NodeKeyInput = z.infer<typeof endNode>
/** Properties to delete of a node. */
export type NodePropertiesDeletion = z.infer<typeof trimmedNode>
/** Metadata to delete of a property. */
export type PropertyMetadataDeletion = z.infer<typeof unsourcedProperty>
/** The key of a relationship. */
export type RelationshipKeyInput = z.infer<typeof goneRelationship>
/** Properties to delete of a relationship. */
export type RelationshipPropertiesDeletion = z.infer<typeof trimmedRelationship>

/** A request about nodes. */
export interface NodesBody<T> {
  readonly nodes: readonly T[]
}
/** A request about relationships. */
export interface RelationshipsBody<T> {
  readonly relationships: readonly T[]
  readonly use_global_db?: boolean | undefined
  readonly on_missing_end?: 'refuse' | 'skip' | undefined
}

/**
 * The response: one entry per item, in the order of the request. The id is empty if the element to delete does not
 * exist.
 */
export const batchResult = z
  .object({
    results: z.array(z.object({ id: z.string() }).meta({ id: 'CapturedElement' })),
    warnings: z
      .array(z.string())
      .optional()
      .describe('what the declared types of the project do not allow of the written elements; absent: nothing'),
  })
  .meta({ id: 'CaptureResult' })

const skippedItem = z
  .object({
    index: z.int().min(0).describe('index in `relationships`'),
    missing: z.array(z.enum(['source', 'target'])).describe('the ends that do not exist'),
  })
  .meta({ id: 'SkippedRelationship' })
const mergedItem = z
  .object({
    index: z.int().min(0).describe('index in `relationships`'),
    into: z.int().min(0).describe('index of the first item with the same source, type and target'),
  })
  .meta({ id: 'MergedRelationship' })
/** The response to an upsert of relationships. A skipped one has an empty id in `results`. */
export const relationshipsResult = z
  .object({
    ...batchResult.shape,
    skipped: z
      .array(skippedItem)
      .optional()
      .describe('the relationships that were left out, with `on_missing_end: "skip"`; their id in `results` is empty'),
    merged: z
      .array(mergedItem)
      .optional()
      .describe(
        'the relationships that were merged with an earlier one of the batch, because a graph holds one of a type from one node to another; absent if no relationship was merged',
      ),
  })
  .meta({ id: 'RelationshipsResult' })
/** The body of a capture response. */
export type BatchResult = z.infer<typeof relationshipsResult>
/** An item that was left out because nodes that it needs are missing. */
export type SkippedItem = z.infer<typeof skippedItem>
/** An item that was merged with an earlier one of the batch. */
export type MergedItem = z.infer<typeof mergedItem>
