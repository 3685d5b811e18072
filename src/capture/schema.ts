// What a capture batch looks like: fields, lengths and syntax (400 when broken). What a batch means is apply.ts.
import { z } from 'zod'
import type { PropertyValue } from '../engine/value/value.ts'
import { Float } from '../kernel/float.ts'
import { foundName, isJsonObject } from '../kernel/found.ts'

const externalId = z.string().min(1).max(256)

const label = z
  .string()
  .min(2)
  .max(64)
  .regex(/^[\p{L}_][\p{L}\p{N}_]*$/u, { error: 'expected a label: a letter or `_`, then letters, digits and `_`' })

const relationshipType = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[\p{L}_][\p{L}\p{N}_]*$/u, {
    error: 'expected a relationship type: a letter or `_`, then letters, digits and `_`',
  })

const location = z.string().min(2).max(32)

const INTEGER_MAX = 2n ** 63n

function isScalar(value: unknown): boolean {
  if (value instanceof Float) return Number.isFinite(value.value)
  if (typeof value === 'bigint') return value >= -INTEGER_MAX && value < INTEGER_MAX
  return typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number'
}

/** Ruling G5. Integers and floats are one kind here: both are written as numbers. */
function isPropertyValue(value: unknown): value is PropertyValue {
  if (!Array.isArray(value)) return isScalar(value)
  return value.every((item) => isScalar(item) && foundName(item) === foundName(value[0]))
}

const propertyValue = z.custom<PropertyValue>(isPropertyValue, {
  error: ({ input }) =>
    `expected a string, a finite number of at most 64 bits, a boolean or an array of one of these, found ${valueName(input)}`,
})

function valueName(value: unknown): string {
  if (!Array.isArray(value)) return foundName(value)
  return `an array of ${[...new Set(value.map(foundName))].join(' and ')}`
}

const metadata = z.strictObject({
  source: z.string().optional(),
  assurance_level: z.literal([1, 2, 3]).optional(),
  verified_time: z.iso
    .datetime({ offset: true, error: ({ input }) => `expected an RFC 3339 timestamp, found ${quoted(input)}` })
    .optional(),
  custom_metadata: z.custom<Record<string, unknown>>(isJsonObject, { error: expectedObject }).optional(),
})

function expectedObject({ input }: { input?: unknown }): string {
  return `expected object, found ${foundName(input)}`
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? `\`${value.slice(0, 64)}\`` : foundName(value)
}

const propertyMembers = {
  type: z.string().min(1).max(128),
  value: propertyValue.optional(),
  external_value: z.string().min(1).max(256).optional(),
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
  labels: z.array(label).max(64).optional(),
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

export function nodesRequest(itemsMax: number) {
  return z.strictObject({ nodes: z.array(node).min(1).max(itemsMax) })
}

export function relationshipsRequest(itemsMax: number) {
  return z.strictObject({
    relationships: z.array(relationship).min(1).max(itemsMax),
    use_global_db: z.boolean().optional(),
  })
}

export type NodesRequest = z.infer<ReturnType<typeof nodesRequest>>
export type RelationshipsRequest = z.infer<ReturnType<typeof relationshipsRequest>>
export type CapturedNode = NodesRequest['nodes'][number]
export type CapturedRelationship = RelationshipsRequest['relationships'][number]
export type CapturedProperty = z.infer<typeof property>

/** One entry per item, in the order of the request (facts 1.2.1). */
export const batchResult = z.object({ results: z.array(z.object({ id: z.string() })) })
export type BatchResult = z.infer<typeof batchResult>
