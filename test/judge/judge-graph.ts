// A graph that both engines get: its nodes and relationships are numbered, and results name them by these numbers.
import type { NodeKey, PropertyInput, WriteBatch } from '../../src/engine/store.ts'
import type { PropertyValue } from '../../src/engine/value/value.ts'
import type { ReferenceGraph, ReferenceValue } from '../oracle/cypher/values.ts'
import { engineValue } from '../support/convert-graph.ts'
import { type TckFixture, toValue } from '../tck/case.ts'

/** A node; its number is its index in the graph. */
export interface JudgedNode {
  /** Null for a node that was not captured. */
  readonly key: NodeKey | null
  readonly isIdentity: boolean
  /** Includes the type. */
  readonly labels: readonly string[]
  readonly properties: ReadonlyMap<string, PropertyValue>
}

/** A relationship; its number is its index in the graph. */
export interface JudgedRelationship {
  /** Index of the start node. */
  readonly source: number
  /** Index of the end node. */
  readonly target: number
  readonly type: string
  readonly properties: ReadonlyMap<string, PropertyValue>
}

export interface JudgedGraph {
  readonly nodes: readonly JudgedNode[]
  readonly relationships: readonly JudgedRelationship[]
}

export const emptyJudgedGraph: JudgedGraph = { nodes: [], relationships: [] }

/** A graph of scenarios and generators. */
export function ofReference(graph: ReferenceGraph): JudgedGraph {
  const indexes = new Map(graph.nodes.map((node, index) => [node, index]))
  return {
    nodes: graph.nodes.map((node) => ({
      key: { type: node.type, externalId: node.externalId },
      isIdentity: node.isIdentity,
      labels: [node.type, ...node.labels],
      properties: engineProperties(node.properties),
    })),
    relationships: graph.relationships.map(({ source, target, type, properties }) => ({
      source: indexes.get(source) as number,
      target: indexes.get(target) as number,
      type,
      properties: engineProperties(properties),
    })),
  }
}

function engineProperties(properties: ReadonlyMap<string, ReferenceValue>): Map<string, PropertyValue> {
  return new Map([...properties].map(([name, value]) => [name, engineValue(value) as PropertyValue]))
}

/** A graph of the openCypher TCK. */
export function ofFixture(fixture: TckFixture): JudgedGraph {
  const indexes = new Map(fixture.nodes.map((node, index) => [node.id, index]))
  const properties = (tagged: TckFixture['nodes'][number]['props']): Map<string, PropertyValue> =>
    new Map(
      Object.entries(tagged).flatMap(([name, value]) => {
        const converted = toValue(value)
        return converted === null ? [] : [[name, converted as PropertyValue]]
      }),
    )
  const blank = { key: null, isIdentity: false, labels: [], properties: new Map() }
  return {
    nodes: [
      ...fixture.nodes.map(({ labels, props }) => ({
        key: null,
        isIdentity: false,
        labels,
        properties: properties(props),
      })),
      ...Array.from({ length: fixture.blankNodes ?? 0 }, () => blank),
    ],
    relationships: fixture.rels.map(({ from, to, type, props }) => ({
      source: indexes.get(from) as number,
      target: indexes.get(to) as number,
      type,
      properties: properties(props),
    })),
  }
}

/** The numbers of elements by their ids in one engine. */
export interface ElementNumbers {
  readonly nodes: ReadonlyMap<string | number, number>
  readonly relationships: ReadonlyMap<string | number, number>
}

/** Writes the graph to a store of Verdigraph: captured nodes by their keys, other nodes as they are. */
export function writeJudgedGraph(graph: JudgedGraph, batch: WriteBatch): ElementNumbers {
  const inputs = (properties: ReadonlyMap<string, PropertyValue>): PropertyInput[] =>
    [...properties].map(([name, value]) => ({ name, value }))
  const ids = graph.nodes.map(({ key, isIdentity, labels, properties }) =>
    key === null
      ? batch.createNode(labels, inputs(properties))
      : batch.upsertNode({
          ...key,
          isIdentity,
          labels: labels.filter((label) => label !== key.type),
          properties: inputs(properties),
        }).id,
  )
  const relationships = graph.relationships.map(({ source, target, type, properties }) => {
    const [from, to] = [graph.nodes[source]!.key, graph.nodes[target]!.key]
    if (from === null || to === null)
      return batch.createRelationship(ids[source]!, type, ids[target]!, inputs(properties))
    return batch.upsertRelationship({ source: from, target: to, type, properties: inputs(properties) })!.id
  })
  return {
    nodes: new Map(ids.map((id, index) => [id, index])),
    relationships: new Map(relationships.map((id, index) => [id, index])),
  }
}
