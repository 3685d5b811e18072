// Converts the graph and parameters of a scenario to store inputs, engine values and capture bodies.
import type { NodeInput, NodeKey, PropertyInput, RelationshipInput, WriteBatch } from '../../src/engine/store.ts'
import type { Value as EngineValue, PropertyValue } from '../../src/engine/value/value.ts'
import { Float } from '../../src/kernel/float.ts'
import type { GraphNode, ReferenceGraph, ReferenceValue } from '../oracle/cypher/values.ts'

/** The reference represents INTEGER as bigint and FLOAT as number; the engine uses number and a Float box. */
export function engineValue(value: ReferenceValue): EngineValue {
  if (typeof value === 'number') return new Float(value)
  if (typeof value === 'bigint')
    return BigInt(Number(value)) === value && Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (Array.isArray(value)) return value.map(engineValue)
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, engineValue(item)]))
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  throw new Error('an element of a graph cannot be carried over')
}

export const engineParameters = (parameters: ReadonlyMap<string, ReferenceValue>): Map<string, EngineValue> =>
  new Map([...parameters].map(([name, value]) => [name, engineValue(value)]))

const keyOf = (node: GraphNode): NodeKey => ({ type: node.type, externalId: node.externalId })

const inputs = (properties: ReadonlyMap<string, ReferenceValue>): PropertyInput[] =>
  [...properties].map(([name, value]) => ({ name, value: engineValue(value) as PropertyValue }))

/** Writes the whole graph in one batch, as a capture would. */
export function writeGraph(graph: ReferenceGraph, batch: WriteBatch): void {
  for (const node of graph.nodes) {
    const input: NodeInput = {
      ...keyOf(node),
      ...(node.labels.length > 0 ? { labels: node.labels } : {}),
      isIdentity: node.isIdentity,
      properties: inputs(node.properties),
    }
    batch.upsertNode(input)
  }
  for (const { source, target, type, properties } of graph.relationships) {
    const input: RelationshipInput = {
      source: keyOf(source),
      target: keyOf(target),
      type,
      properties: inputs(properties),
    }
    if (batch.upsertRelationship(input) === null) throw new Error(`an end of ${type} is missing`)
  }
}

// ---------------------------------------------------------------- capture bodies

/** Maximum number of items in one capture call. */
const CAPTURE_ITEMS_MAX = 250

const wireProperties = (properties: ReadonlyMap<string, ReferenceValue>): unknown[] =>
  [...properties].map(([type, value]) => ({ type, value }))

const wireKey = (node: GraphNode): unknown => ({ external_id: node.externalId, type: node.type })

/** JSON texts for `POST /capture/v1/nodes` and then `POST /capture/v1/relationships`. */
export function captureBodies(graph: ReferenceGraph): { nodes: string[]; relationships: string[] } {
  const nodes = graph.nodes.map((node) => ({
    external_id: node.externalId,
    type: node.type,
    is_identity: node.isIdentity,
    ...(node.labels.length > 0 ? { labels: node.labels } : {}),
    properties: wireProperties(node.properties),
  }))
  const relationships = graph.relationships.map((relationship) => ({
    source: wireKey(relationship.source),
    target: wireKey(relationship.target),
    type: relationship.type,
    properties: wireProperties(relationship.properties),
  }))
  return {
    nodes: chunks(nodes).map((chunk) => exactJson({ nodes: chunk })),
    relationships: chunks(relationships).map((chunk) => exactJson({ relationships: chunk })),
  }
}

const chunks = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / CAPTURE_ITEMS_MAX) }, (_, index) =>
    items.slice(index * CAPTURE_ITEMS_MAX, (index + 1) * CAPTURE_ITEMS_MAX),
  )

/** JSON in which a FLOAT keeps its point (4.0) and an INTEGER all its digits; JSON.stringify can do neither. */
export function exactJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return Number.isInteger(value) ? `${value}.0` : String(value)
  if (Array.isArray(value)) return `[${value.map(exactJson).join(',')}]`
  if (value instanceof Map) return exactJson(Object.fromEntries(value))
  if (value !== null && typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([key, item]) => `${JSON.stringify(key)}:${exactJson(item)}`)
      .join(',')}}`
  }
  return JSON.stringify(value)
}
