// Makes a failing case smaller for as long as it still fails: clauses, patterns, conditions, relationships, nodes, properties.
import type { Graph, GraphNode, GraphRelationship } from '../reference/values.ts'
import type { ClauseParts, GeneratedCondition } from './condition.ts'

export interface Case {
  readonly graph: Graph
  readonly condition: GeneratedCondition
}

/** Tries every single removal, takes the first that still fails, and starts again until none does. */
export async function shrink(start: Case, fails: (smaller: Case) => Promise<boolean>, triesMax = 600): Promise<Case> {
  let smallest = start
  let tries = 0
  for (let found = true; found; ) {
    found = false
    for (const smaller of smallerCases(smallest)) {
      if (++tries > triesMax) return smallest
      if (await fails(smaller)) {
        smallest = smaller
        found = true
        break
      }
    }
  }
  return smallest
}

function* smallerCases({ graph, condition }: Case): Generator<Case> {
  for (const clauses of smallerClauses(condition.clauses)) yield { graph, condition: { ...condition, clauses } }
  for (const node of graph.nodes) yield { graph: withoutNode(graph, node), condition }
  for (const gone of graph.relationships) {
    yield { graph: { ...graph, relationships: graph.relationships.filter((each) => each !== gone) }, condition }
  }
  for (const node of graph.nodes) {
    for (const key of node.properties.keys()) {
      yield { graph: replaceNode(graph, node, { ...node, properties: without(node.properties, key) }), condition }
    }
    for (const label of node.labels) {
      yield {
        graph: replaceNode(graph, node, { ...node, labels: node.labels.filter((each) => each !== label) }),
        condition,
      }
    }
  }
  for (const relationship of graph.relationships) {
    for (const key of relationship.properties.keys()) {
      const poorer = { ...relationship, properties: without(relationship.properties, key) }
      const relationships = graph.relationships.map((each) => (each === relationship ? poorer : each))
      yield { graph: { ...graph, relationships }, condition }
    }
  }
}

function* smallerClauses(clauses: readonly ClauseParts[]): Generator<ClauseParts[]> {
  for (const index of clauses.keys()) if (clauses.length > 1) yield clauses.filter((_, at) => at !== index)
  for (const [index, clause] of clauses.entries()) {
    const put = (smaller: ClauseParts): ClauseParts[] => clauses.map((each, at) => (at === index ? smaller : each))
    for (const part of clause.parts.keys()) {
      if (clause.parts.length > 1) yield put({ ...clause, parts: clause.parts.filter((_, at) => at !== part) })
    }
    for (const condition of clause.where.keys()) {
      yield put({ ...clause, where: clause.where.filter((_, at) => at !== condition) })
    }
    if (clause.tail) yield put({ ...clause, tail: '' })
  }
}

const withoutNode = (graph: Graph, node: GraphNode): Graph => ({
  nodes: graph.nodes.filter((each) => each !== node),
  relationships: graph.relationships.filter((each) => each.source !== node && each.target !== node),
})

/** Relationships hold their ends, so they are made anew. */
function replaceNode(graph: Graph, old: GraphNode, fresh: GraphNode): Graph {
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
