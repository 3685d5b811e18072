// Values of the reference and result values of the engine as the same texts, so that rows can be compared without the
// equality of either.
import type { NodeResult, PathResult, RelationshipResult, ResultValue } from '../../src/engine/rows-query.ts'
import type { Snapshot } from '../../src/engine/store.ts'
import { isTemporal } from '../../src/engine/value/temporal/temporal.ts'
import { Float } from '../../src/kernel/float.ts'
import {
  type GraphNode,
  type GraphRelationship,
  isMap,
  isNode,
  isPath,
  type ReferencePath,
  type ReferenceValue,
} from './cypher/values.ts'

export interface TextForm {
  /** 1 and 1.0 are equal. */
  readonly loose: boolean
  /** The items of lists have no order. */
  readonly bag: boolean
}

const integerText = (value: bigint | number): string => `${value}`
const floatText = (value: number, { loose }: TextForm): string =>
  loose && Number.isInteger(value) ? `${value === 0 ? 0 : BigInt(value)}` : `float ${value === 0 ? 0 : value}`
const listText = (items: string[], { bag }: TextForm): string => `[${(bag ? items.sort() : items).join(', ')}]`
const mapText = (entries: (readonly [string, string])[]): string =>
  `{${entries
    .map(([key, text]) => `${key}: ${text}`)
    .sort()
    .join(', ')}}`
const nodeText = (name: string, labels: readonly string[], properties: string): string =>
  `(${name} ${[...labels].sort().join(':')} ${properties})`

/** The direction of a relationship is part of the path. */
const pathText = (nodes: readonly string[], relationships: readonly string[]): string =>
  `<${nodes.map((node, i) => node + (relationships[i] ?? '')).join('')}>`

// ---------------------------------------------------------------- the reference's values

export function valueText(value: ReferenceValue, form: TextForm): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'bigint') return integerText(value)
  if (typeof value === 'number') return floatText(value, form)
  if (typeof value === 'string') return JSON.stringify(value)
  if (isMap(value)) return mapOf(value, form)
  if (isNode(value)) return ofNode(value, form)
  if (isPath(value)) return ofPath(value, form)
  if ('kind' in value) return ofRelationship(value as GraphRelationship, form)
  return listText(
    value.map((item) => valueText(item, form)),
    form,
  )
}

const exact = (form: TextForm): TextForm => ({ ...form, bag: false })
const mapOf = (map: ReadonlyMap<string, ReferenceValue>, form: TextForm): string =>
  mapText([...map].map(([key, item]) => [key, valueText(item, exact(form))]))
const nameOf = (node: GraphNode): string => `${node.type} ${node.externalId}`
const ofNode = (node: GraphNode, form: TextForm): string =>
  nodeText(nameOf(node), [...new Set([node.type, ...node.labels])], mapOf(node.properties, form))
const ofRelationship = ({ source, target, type, properties }: GraphRelationship, form: TextForm): string =>
  `[${nameOf(source)} ${type} ${nameOf(target)} ${mapOf(properties, form)}]`
const ofPath = ({ nodes, relationships }: ReferencePath, form: TextForm): string =>
  pathText(
    nodes.map((node) => ofNode(node, form)),
    relationships.map((each) => ofRelationship(each, form)),
  )

// ---------------------------------------------------------------- the engine's cells

/** The type and external id of a node: internal ids have no meaning in the reference. */
export type ElementNames = (id: number) => string

export function elementNames(snapshot: Snapshot): ElementNames {
  return (id) => `${snapshot.nodeField(id, 'type')} ${snapshot.nodeField(id, 'external_id')}`
}

export function cellText(cell: ResultValue, form: TextForm, names: ElementNames): string {
  const inner = (item: unknown): string => cellText(item as ResultValue, exact(form), names)
  if (cell === null || typeof cell === 'boolean') return String(cell)
  if (typeof cell === 'number' || typeof cell === 'bigint') return integerText(cell)
  if (cell instanceof Float) return floatText(cell.value, form)
  if (typeof cell === 'string') return JSON.stringify(cell)
  if (isTemporal(cell)) return `temporal ${cell}`
  const map = (entries: ReadonlyMap<string, unknown>): string =>
    mapText([...entries].map(([key, item]) => [key, inner(item)]))
  if (cell instanceof Map) return map(cell)
  if (Array.isArray(cell)) {
    return listText(
      cell.map((item) => cellText(item as ResultValue, form, names)),
      form,
    )
  }
  const element = cell as NodeResult | RelationshipResult | PathResult
  if (element.kind === 'node') return nodeText(names(element.id), element.labels, map(element.properties))
  if (element.kind === 'relationship') {
    return `[${names(element.source)} ${element.type} ${names(element.target)} ${map(element.properties)}]`
  }
  return pathText(element.nodes.map(inner), element.relationships.map(inner))
}
