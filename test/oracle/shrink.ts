// Shrinks a failing case as long as it still fails: parts of the query, then nodes, relationships, properties.
import type { GraphNode, GraphRelationship, ReferenceGraph } from './cypher/values.ts'
import { smallerTexts } from './shrink-query.ts'

export interface ShrinkCase {
  readonly graph: ReferenceGraph
  readonly text: string
}

const TRIES_MAX = 1_500
/** A case that is slow to evaluate is slow to shrink. The smallest case found within this time is small enough to read. */
const TIME_MS_MAX = 60_000

/** Tries every single removal, takes the first that still fails, and repeats until none does. */
export async function shrink<C extends ShrinkCase>(start: C, fails: (smaller: C) => Promise<boolean>): Promise<C> {
  const began = performance.now()
  let smallest = start
  let tries = 0
  for (let found = true; found; ) {
    found = false
    for (const smaller of smallerCases(smallest)) {
      if (++tries > TRIES_MAX || performance.now() - began > TIME_MS_MAX) return smallest
      if (await fails(smaller)) {
        smallest = smaller
        found = true
        break
      }
    }
  }
  return smallest
}

function* smallerCases<C extends ShrinkCase>(large: C): Generator<C> {
  for (const text of smallerTexts(large.text)) yield { ...large, text }
  for (const graph of smallerGraphs(large.graph)) yield { ...large, graph }
}

function* smallerGraphs(graph: ReferenceGraph): Generator<ReferenceGraph> {
  for (const node of graph.nodes) yield withoutNode(graph, node)
  for (const gone of graph.relationships) {
    yield { ...graph, relationships: graph.relationships.filter((each) => each !== gone) }
  }
  for (const node of graph.nodes) {
    for (const key of node.properties.keys()) {
      yield replaceNode(graph, node, { ...node, properties: without(node.properties, key) })
    }
    for (const label of node.labels) {
      yield replaceNode(graph, node, { ...node, labels: node.labels.filter((each) => each !== label) })
    }
  }
  for (const relationship of graph.relationships) {
    for (const key of relationship.properties.keys()) {
      const poorer = { ...relationship, properties: without(relationship.properties, key) }
      const relationships = graph.relationships.map((each) => (each === relationship ? poorer : each))
      yield { ...graph, relationships }
    }
  }
}

const withoutNode = (graph: ReferenceGraph, node: GraphNode): ReferenceGraph => ({
  nodes: graph.nodes.filter((each) => each !== node),
  relationships: graph.relationships.filter((each) => each.source !== node && each.target !== node),
})

/** Relationships refer to their end nodes, so they are created again. */
function replaceNode(graph: ReferenceGraph, old: GraphNode, fresh: GraphNode): ReferenceGraph {
  const end = (node: GraphNode): GraphNode => (node === old ? fresh : node)
  return {
    nodes: graph.nodes.map(end),
    relationships: graph.relationships.map(
      (each): GraphRelationship => ({ ...each, source: end(each.source), target: end(each.target) }),
    ),
  }
}

function without<K, V>(map: ReadonlyMap<K, V>, key: K): Map<K, V> {
  const copy = new Map(map)
  copy.delete(key)
  return copy
}
