// Small random graphs: dense enough for parallel paths, loops and near misses, with few values so that equal ones
// occur.
import type { GraphNode, GraphRelationship, ReferenceGraph, ReferenceValue } from '../oracle/cypher/values.ts'
import type { Random } from './random.ts'

export const NODE_TYPES = ['Person', 'Team', 'Doc'] as const
export const RELATIONSHIP_TYPES = ['A', 'B', 'C'] as const
export const EXTRA_LABELS = ['Hot', 'Cold'] as const

/** Integers and floats, among them equal ones of different types. */
const NUMBERS: readonly ReferenceValue[] = [0n, 1n, 1.0, 2n, 1.5, 3n, -1n]
const STRINGS: readonly ReferenceValue[] = ['a', 'b', 'ab', '', 'A']
const ODDMENTS: readonly ReferenceValue[] = [1n, 1.0, '1', true, false, ['a', 'b'], [1n, 2n], [], 'a']

/** The type of each property, so that a condition can use it without a type error; any property may be missing. */
export const NODE_PROPERTIES = {
  num: (random: Random): ReferenceValue => random.pick(NUMBERS),
  name: (random: Random): ReferenceValue => random.pick(STRINGS),
  flag: (random: Random): ReferenceValue => random.odds(0.5),
  tags: (random: Random): ReferenceValue =>
    Array.from({ length: random.between(0, 3) }, () => random.pick(['a', 'b', 'c'])),
  /** Any type: only for equality, IN and comparison. */
  odd: (random: Random): ReferenceValue => random.pick(ODDMENTS),
} as const
export const RELATIONSHIP_PROPERTIES = { since: NODE_PROPERTIES.num, role: NODE_PROPERTIES.name } as const

/**
 * Several random graphs as one, with few relationships between them: most pairs of nodes have no path, and each condition has
 * many pairs.
 */
export function randomGraphs(random: Random, count: number): ReferenceGraph {
  const nodes: GraphNode[] = []
  const relationships: GraphRelationship[] = []
  for (let each = 0; each < count; each++) {
    const graph = randomGraph(random, nodes.length)
    nodes.push(...graph.nodes)
    relationships.push(...graph.relationships)
  }
  const between = count > 1 ? random.between(0, count) : 0
  for (let each = 0; each < between; each++) {
    const [source, target] = [random.pick(nodes), random.pick(nodes)]
    const type = random.pick(RELATIONSHIP_TYPES)
    if (relationships.some((old) => old.source === source && old.target === target && old.type === type)) continue
    relationships.push({
      kind: 'relationship',
      source,
      target,
      type,
      properties: someOf(RELATIONSHIP_PROPERTIES, random),
    })
  }
  return { nodes, relationships }
}

/** `firstId` is the number in the id of the first node. */
export function randomGraph(random: Random, firstId = 0): ReferenceGraph {
  const types = NODE_TYPES.slice(0, random.between(2, 3))
  // Only type and external id together identify a node: sometimes two types share ids.
  const shared = random.odds(0.2)
  // A label may also be the type of other nodes.
  const labels = [...EXTRA_LABELS, ...(random.odds(0.3) ? NODE_TYPES : [])]
  const nodes: GraphNode[] = Array.from(
    {
      length: random.weighted([
        [3, 5],
        [3, 6],
        [3, 8],
        [2, 12],
      ] as const),
    },
    (_, index) => {
      const type = shared ? (types[index % 2] as string) : random.pick(types)
      return {
        kind: 'node',
        externalId: `n${firstId + (shared ? Math.floor(index / 2) : index)}`,
        type,
        labels: labels.filter((label) => label !== type && random.odds(0.2)),
        isIdentity: random.odds(0.8),
        properties: someOf(NODE_PROPERTIES, random),
      }
    },
  )
  const kinds = RELATIONSHIP_TYPES.slice(0, random.between(2, 3))
  const ends = random.odds(0.4) ? hierarchy(nodes, random) : anywhere(nodes, random)
  const relationships = new Map<string, GraphRelationship>()
  for (const [source, target] of ends) {
    const type = random.pick(kinds)
    const properties = someOf(RELATIONSHIP_PROPERTIES, random)
    // Captured relationships are merged by (source, type, target).
    relationships.set([source.type, source.externalId, type, target.type, target.externalId].join(' '), {
      kind: 'relationship',
      source,
      target,
      type,
      properties,
    })
  }
  return { nodes, relationships: [...relationships.values()] }
}

type Ends = readonly (readonly [GraphNode, GraphNode])[]

/** Dense: parallel relationships, loops and cycles. */
function anywhere(nodes: readonly GraphNode[], random: Random): Ends {
  const count = random.between(nodes.length, Math.max(nodes.length, 18))
  return Array.from({ length: count }, () => [random.pick(nodes), random.pick(nodes)])
}

/** Deep: each node is connected to an earlier one, mostly the previous one, plus a few cross relationships. */
function hierarchy(nodes: readonly GraphNode[], random: Random): Ends {
  const tree = nodes.slice(1).map((node, index): [GraphNode, GraphNode] => {
    const parent = random.odds(0.6) ? (nodes[index] as GraphNode) : random.pick(nodes.slice(0, index + 1))
    return [parent, node]
  })
  const across = Array.from({ length: random.between(0, 3) }, (): [GraphNode, GraphNode] => [
    random.pick(nodes),
    random.pick(nodes),
  ])
  return [...tree, ...across]
}

function someOf(
  makers: Readonly<Record<string, (random: Random) => ReferenceValue>>,
  random: Random,
): Map<string, ReferenceValue> {
  const present = Object.entries(makers).filter(() => random.odds(0.75))
  return new Map(present.map(([name, make]) => [name, make(random)]))
}
