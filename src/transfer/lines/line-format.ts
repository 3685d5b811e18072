// The line format of exports: the types of lines, and functions that write them. A line holds everything that the store keeps
// of an element except internal numbers. Labels and properties are sorted, so equal graphs give equal text.
import type { NodeKey, PropertyMetadata } from '../../engine/store.ts'
import { isTemporal } from '../../engine/value/temporal/temporal.ts'
import type { PropertyScalar, PropertyValue } from '../../engine/value/value.ts'
import { Float } from '../../kernel/float.ts'
import { writeJson } from '../../kernel/json/json.ts'
import { timestamp } from '../../kernel/time/clock.ts'
import type { BulkNode, BulkRelationship } from '../../store/graph/bulk-batch.ts'
import type { TransferredDocument } from '../files/database-folders.ts'

/** The name of the format, in the header line. */
export const FORMAT = 'verdigraph-export'
/** The version of the format, in the header line. */
export const VERSION = 1

/** A `graph` line: the lines after it go to this constituent. */
export interface GraphSection {
  readonly project: string
  /** The constituent, as its path below the folder of the project. */
  readonly part: string
}

/** The `end` line: the counts of an export. */
export interface ExportTotals {
  readonly configuration: number
  readonly nodes: number
  readonly relationships: number
}

/** A parsed line. */
export type ExportLine =
  | { readonly kind: 'header' }
  | { readonly kind: 'configuration' | 'past'; readonly document: TransferredDocument }
  | { readonly kind: 'graph'; readonly section: GraphSection }
  | { readonly kind: 'node'; readonly node: BulkNode }
  | { readonly kind: 'relationship'; readonly relationship: BulkRelationship }
  | { readonly kind: 'end'; readonly end: ExportTotals }

// -- writing

/** A property of an exported element. Either `value` or `externalValue` is null. */
export interface ExportedProperty {
  readonly name: string
  readonly value: PropertyValue | null
  readonly externalValue: string | null
  readonly updatedMs: number
  readonly metadata: PropertyMetadata | null
}

/** A node with names instead of symbols. */
interface ExportedNode extends NodeKey {
  readonly labels: readonly string[]
  readonly isIdentity: boolean
  readonly location: string | null
  readonly gid: string
  readonly createdMs: number
  readonly updatedMs: number
  readonly properties: readonly ExportedProperty[]
}

/** A relationship with names instead of symbols. */
interface ExportedRelationship {
  readonly source: NodeKey
  readonly target: NodeKey
  readonly type: string
  readonly gid: string
  readonly createdMs: number
  readonly updatedMs: number
  readonly properties: readonly ExportedProperty[]
}

/** The first line of an export. */
export const headerLine = `${JSON.stringify({ format: FORMAT, version: VERSION })}\n`

/** The line of a current document. */
export function configurationLine(document: unknown): string {
  return `${JSON.stringify({ configuration: document })}\n`
}

/** The line of a past revision of a document. */
export function pastLine(document: unknown): string {
  return `${JSON.stringify({ past: document })}\n`
}

/** The line that begins a graph. */
export function graphLine(section: GraphSection): string {
  return `${JSON.stringify({ graph: section })}\n`
}

/** The last line of an export. */
export function endLine(end: ExportTotals): string {
  return `${JSON.stringify({ end })}\n`
}

/** The line of a node. */
export function nodeLine(node: ExportedNode): string {
  const labels = node.labels.filter((label) => label !== node.type)
  return `${writeJson({
    node: {
      type: node.type,
      external_id: node.externalId,
      ...(labels.length === 0 ? {} : { labels: labels.sort() }),
      ...(node.isIdentity ? { is_identity: true } : {}),
      ...(node.location === null ? {} : { location: node.location }),
      ...commonMembers(node),
    },
  })}\n`
}

/** The line of a relationship. */
export function relationshipLine(relationship: ExportedRelationship): string {
  const { source, target, type } = relationship
  return `${writeJson({
    relationship: { source: keyMembers(source), type, target: keyMembers(target), ...commonMembers(relationship) },
  })}\n`
}

function keyMembers({ type, externalId }: NodeKey): object {
  return { type, external_id: externalId }
}

function commonMembers({
  gid,
  createdMs,
  updatedMs,
  properties,
}: {
  gid: string
  createdMs: number
  updatedMs: number
  properties: readonly ExportedProperty[]
}): object {
  return {
    id: gid,
    create_time: timestamp(createdMs),
    ...(updatedMs === createdMs ? {} : { update_time: timestamp(updatedMs) }),
    ...(properties.length === 0
      ? {}
      : {
          properties: properties
            .toSorted((a, b) => (a.name < b.name ? -1 : 1))
            .map((property) => ({
              type: property.name,
              ...(property.externalValue === null
                ? { value: toJson(property.value as PropertyValue) }
                : { external_value: property.externalValue }),
              ...(property.updatedMs === updatedMs ? {} : { update_time: timestamp(property.updatedMs) }),
              ...(property.metadata === null ? {} : { metadata: metadataMembers(property.metadata) }),
            })),
        }),
  }
}

function metadataMembers({ source, assuranceLevel, verifiedTime, custom }: PropertyMetadata): object {
  return {
    ...(source === undefined ? {} : { source }),
    ...(assuranceLevel === undefined ? {} : { assurance_level: assuranceLevel }),
    ...(verifiedTime === undefined ? {} : { verified_time: verifiedTime }),
    ...(custom === undefined ? {} : { custom_metadata: custom }),
  }
}

/** Values without a JSON form become an object with one member; no property value is an object otherwise. */
function toJson(value: PropertyValue): unknown {
  if (Array.isArray(value)) return (value as readonly PropertyScalar[]).map(toJson)
  if (isTemporal(value)) return { [value.kind]: String(value) }
  if (value instanceof Float && !Number.isFinite(value.value)) return { float: String(value.value) }
  return value
}
