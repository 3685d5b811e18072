// Functions over nodes, relationships and paths.
import { getProperties } from '../element-properties.ts'
import { staticType } from '../static-type.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from '../value.ts'
import { type CypherFunction, defineFunction, wrongKindArgument } from './function.ts'

const NODE = ['node'] as const
const RELATIONSHIP = ['relationship'] as const
const ELEMENT = ['node', 'relationship'] as const
const HOLDER = ['node', 'relationship', 'map'] as const
const PATH = ['path'] as const

function requireNode(name: string, value: Value): NodeValue {
  if (!(value instanceof NodeValue)) throw wrongKindArgument(name, value, 'a node')
  return value
}

function requireRelationship(name: string, value: Value): RelationshipValue {
  if (!(value instanceof RelationshipValue)) throw wrongKindArgument(name, value, 'a relationship')
  return value
}

function requireElement(name: string, value: Value): NodeValue | RelationshipValue {
  if (value instanceof NodeValue || value instanceof RelationshipValue) return value
  throw wrongKindArgument(name, value, 'a node or a relationship')
}

function requirePath(name: string, value: Value): PathValue {
  if (!(value instanceof PathValue)) throw wrongKindArgument(name, value, 'a path')
  return value
}

/**
 * `labels`, `type`, `id`, `elementId`, `properties`, `keys`, `startNode`, `endNode`, `nodes`, `relationships`, `length`.
 */
export const elementFunctions: readonly CypherFunction[] = [
  defineFunction('labels', 1, [NODE], staticType('list', staticType('string')), (run, a) => {
    const node = requireNode('labels', a)
    const graph = run.graphs[node.graph]!
    return graph.labels(node.id).map((label) => graph.symbolName('label', label))
  }),
  defineFunction('type', 1, [RELATIONSHIP], 'string', (run, a) => {
    const { graph, id } = requireRelationship('type', a)
    const snapshot = run.graphs[graph]!
    return snapshot.symbolName('type', snapshot.relationshipType(id))
  }),
  defineFunction('id', 1, [ELEMENT], 'integer', (_, a) => requireElement('id', a).id),
  defineFunction('elementId', 1, [ELEMENT], 'string', (run, a) => {
    const element = requireElement('elementId', a)
    const graph = run.graphs[element.graph]!
    const own =
      element instanceof NodeValue ? graph.nodeField(element.id, 'id') : graph.relationshipField(element.id, 'id')
    // Only captured elements have a global id.
    return own ?? String(element.id)
  }),
  defineFunction('properties', 1, [HOLDER], 'map', (run, a) => getProperties(run, 'properties()', a)),
  defineFunction('keys', 1, [HOLDER], staticType('list', staticType('string')), (run, a) => {
    const keys: string[] = []
    for (const key of getProperties(run, 'keys()', a).keys()) {
      run.budget.chargeSteps(1)
      keys.push(key)
    }
    return keys
  }),
  defineFunction('startNode', 1, [RELATIONSHIP], 'node', (run, a) => {
    const { graph, id } = requireRelationship('startNode', a)
    return new NodeValue(graph, run.graphs[graph]!.relationshipSource(id))
  }),
  defineFunction('endNode', 1, [RELATIONSHIP], 'node', (run, a) => {
    const { graph, id } = requireRelationship('endNode', a)
    return new NodeValue(graph, run.graphs[graph]!.relationshipTarget(id))
  }),
  defineFunction('nodes', 1, [PATH], staticType('list', staticType('node')), (_, a) => requirePath('nodes', a).nodes),
  defineFunction('relationships', 1, [PATH], staticType('list', staticType('relationship')), (_, a) => {
    return requirePath('relationships', a).relationships
  }),
  defineFunction('length', 1, [PATH], 'integer', (_, a) => requirePath('length', a).relationships.length),
]
