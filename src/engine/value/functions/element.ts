// Functions over nodes, relationships and paths.
import { propertiesOf } from '../element.ts'
import { typeOf } from '../static-type.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from '../value.ts'
import { type CypherFunction, define, wrongKind } from './function.ts'

const NODE = ['node'] as const
const RELATIONSHIP = ['relationship'] as const
const ELEMENT = ['node', 'relationship'] as const
const HOLDER = ['node', 'relationship', 'map'] as const
const PATH = ['path'] as const

function nodeOf(name: string, value: Value): NodeValue {
  if (!(value instanceof NodeValue)) throw wrongKind(name, value, 'a node')
  return value
}

function relationshipOf(name: string, value: Value): RelationshipValue {
  if (!(value instanceof RelationshipValue)) throw wrongKind(name, value, 'a relationship')
  return value
}

function elementOf(name: string, value: Value): NodeValue | RelationshipValue {
  if (value instanceof NodeValue || value instanceof RelationshipValue) return value
  throw wrongKind(name, value, 'a node or a relationship')
}

function pathOf(name: string, value: Value): PathValue {
  if (!(value instanceof PathValue)) throw wrongKind(name, value, 'a path')
  return value
}

export const elementFunctions: readonly CypherFunction[] = [
  define('labels', 1, [NODE], typeOf('list', typeOf('string')), (run, a) => {
    const node = nodeOf('labels', a)
    const graph = run.graphs[node.graph]!
    return graph.labels(node.id).map((label) => graph.symbolName('label', label))
  }),
  define('type', 1, [RELATIONSHIP], 'string', (run, a) => {
    const { graph, id } = relationshipOf('type', a)
    const snapshot = run.graphs[graph]!
    return snapshot.symbolName('type', snapshot.relationshipType(id))
  }),
  define('id', 1, [ELEMENT], 'integer', (_, a) => elementOf('id', a).id),
  define('elementId', 1, [ELEMENT], 'string', (run, a) => {
    const element = elementOf('elementId', a)
    const graph = run.graphs[element.graph]!
    const own = element instanceof NodeValue ? graph.nodeOwn(element.id, 'id') : graph.relationshipOwn(element.id, 'id')
    // Elements that were not captured have no global id.
    return own ?? String(element.id)
  }),
  define('properties', 1, [HOLDER], 'map', (run, a) => propertiesOf(run, 'properties()', a)),
  define('keys', 1, [HOLDER], typeOf('list', typeOf('string')), (run, a) => {
    const keys: string[] = []
    for (const key of propertiesOf(run, 'keys()', a).keys()) {
      run.budget.touch(1)
      keys.push(key)
    }
    return keys
  }),
  define('startNode', 1, [RELATIONSHIP], 'node', (run, a) => {
    const { graph, id } = relationshipOf('startNode', a)
    return new NodeValue(graph, run.graphs[graph]!.relationshipSource(id))
  }),
  define('endNode', 1, [RELATIONSHIP], 'node', (run, a) => {
    const { graph, id } = relationshipOf('endNode', a)
    return new NodeValue(graph, run.graphs[graph]!.relationshipTarget(id))
  }),
  define('nodes', 1, [PATH], typeOf('list', typeOf('node')), (_, a) => pathOf('nodes', a).nodes),
  define('relationships', 1, [PATH], typeOf('list', typeOf('relationship')), (_, a) => {
    return pathOf('relationships', a).relationships
  }),
  define('length', 1, [PATH], 'integer', (_, a) => pathOf('length', a).relationships.length),
]
