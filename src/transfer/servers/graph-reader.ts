// The form in which a copy reads a graph, from a data folder or from a database server: pages of elements in the order of their ids,
// and a text of each element that is the same wherever the element is stored.
import type { Symbols } from '../../bolt/stored-elements.ts'
import type { NodeKey } from '../../engine/store.ts'
import { isTemporal } from '../../engine/value/temporal/temporal.ts'
import type { PropertyScalar, PropertyValue } from '../../engine/value/value.ts'
import { Float } from '../../kernel/float.ts'
import { writeJson } from '../../kernel/json/json.ts'
import type { NodeRecord, RelationshipRecord, StoredProperties } from '../../store/format/records.ts'

/** Elements of one page. */
export const PAGE_ELEMENTS = 5_000

/** A relationship with the keys of its ends. */
export interface CopiedRelationship {
  readonly record: RelationshipRecord
  readonly source: NodeKey
  readonly target: NodeKey
}

/** Some elements in the order of their ids. */
export interface ElementPage<T> {
  readonly items: readonly T[]
  /** Where the next page begins; null: this is the last one. */
  readonly next: number | null
}

/** The numbers of elements of a graph. */
export interface CopiedCounts {
  readonly nodes: number
  readonly relationships: number
}

/** A graph that is read from its beginning to its end. Pages begin at 0. */
export interface GraphReader {
  /** For messages: the folder or the URL. */
  readonly place: string
  /** The names in the records. */
  readonly symbols: Symbols
  counts(): Promise<CopiedCounts>
  /** Rejects with OperationalError if a node cannot be copied. */
  nodes(from: number): Promise<ElementPage<NodeRecord>>
  /** Rejects with OperationalError if a relationship cannot be copied. */
  relationships(from: number): Promise<ElementPage<CopiedRelationship>>
}

/**
 * The beginning of the global ids that a copy gives to elements of other tools, which have neither id nor times: an id of the year
 * 1970. Neither the id nor the times of such an element are compared.
 */
export const FOREIGN_GID = 'gid:0000000000'

type Timed = Pick<RelationshipRecord, 'gid' | 'createdMs' | 'updatedMs' | 'properties'>

/** The key of a node as one text. */
export function keyOfNode(node: NodeRecord, symbols: Symbols): string {
  return `${symbols.name('label', node.type)} ${node.externalId}`
}

/** The ends and the type of a relationship as one text. */
export function keyOfRelationship({ record, source, target }: CopiedRelationship, symbols: Symbols): string {
  const type = symbols.name('type', record.type)
  return `(${source.type} ${source.externalId})-[${type}]->(${target.type} ${target.externalId})`
}

/** Everything that is stored of a node, as JSON with the members in a fixed order. */
export function textOfNode(node: NodeRecord, symbols: Symbols): string {
  const { type, externalId, labels, isIdentity, location } = node
  return JSON.stringify({
    type: symbols.name('label', type),
    external_id: externalId,
    labels: labels.map((label) => symbols.name('label', label)).sort(),
    is_identity: isIdentity,
    location,
    ...common(node, symbols),
  })
}

/** Everything that is stored of a relationship, as `textOfNode`. */
export function textOfRelationship({ record, source, target }: CopiedRelationship, symbols: Symbols): string {
  return JSON.stringify({
    source: [source.type, source.externalId],
    type: symbols.name('type', record.type),
    target: [target.type, target.externalId],
    ...common(record, symbols),
  })
}

function common({ gid, createdMs, updatedMs, properties }: Timed, symbols: Symbols): object {
  const isForeign = gid === '' || gid.startsWith(FOREIGN_GID)
  return {
    id: isForeign ? null : gid,
    create_time: isForeign ? null : createdMs,
    update_time: isForeign ? null : updatedMs,
    properties: propertiesText(properties, symbols, isForeign),
  }
}

function propertiesText(properties: StoredProperties, symbols: Symbols, isForeign: boolean): Record<string, unknown> {
  const named = [...properties].map(([symbol, property]) => [symbols.name('property', symbol), property] as const)
  named.sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(
    named.map(([name, { value, externalValue, updatedMs, metadata }]) => [
      name,
      [
        value === null ? null : valueText(value),
        externalValue,
        isForeign ? null : updatedMs,
        metadata === null ? null : writeJson(metadata),
      ],
    ]),
  )
}

/** A list with a float is stored by a database server as a list of floats, so both forms have one text. */
function valueText(value: PropertyValue): unknown {
  if (!Array.isArray(value)) return scalarText(value as PropertyScalar)
  const items = value as readonly PropertyScalar[]
  const isFloat = items.some((item) => item instanceof Float)
  return [
    'list',
    ...items.map((item) => (isFloat ? floatText(item instanceof Float ? item.value : Number(item)) : scalarText(item))),
  ]
}

function scalarText(value: PropertyScalar): unknown {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (value instanceof Float) return floatText(value.value)
  if (isTemporal(value)) return [value.kind, value.toString()]
  return ['integer', String(value)]
}

function floatText(value: number): readonly string[] {
  return ['float', Object.is(value, -0) ? '-0' : String(value)]
}
