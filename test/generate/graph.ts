// Small random graphs, dense enough for parallel paths, loops and near misses, poor enough in values for equal ones to meet.
import type { Graph, GraphNode, GraphRelationship, Value } from '../reference/values.ts'
import type { Chance } from './chance.ts'

export const NODE_TYPES = ['Person', 'Team', 'Doc'] as const
export const RELATIONSHIP_TYPES = ['A', 'B', 'C'] as const
export const EXTRA_LABELS = ['Hot', 'Cold'] as const

/** Numbers of both kinds, among them equal ones of different kinds. */
const NUMBERS: readonly Value[] = [0n, 1n, 1.0, 2n, 1.5, 3n, -1n]
const STRINGS: readonly Value[] = ['a', 'b', 'ab', '', 'A']
const ODDMENTS: readonly Value[] = [1n, 1.0, '1', true, false, ['a', 'b'], [1n, 2n], [], 'a']

/** What each property holds, so that a condition can use it without a type error; any of them may be missing. */
export const NODE_PROPERTIES = {
  num: (chance: Chance): Value => chance.pick(NUMBERS),
  name: (chance: Chance): Value => chance.pick(STRINGS),
  flag: (chance: Chance): Value => chance.odds(0.5),
  tags: (chance: Chance): Value => Array.from({ length: chance.between(0, 3) }, () => chance.pick(['a', 'b', 'c'])),
  /** Any kind at all: for equality, IN and comparison only. */
  odd: (chance: Chance): Value => chance.pick(ODDMENTS),
} as const
export const RELATIONSHIP_PROPERTIES = { since: NODE_PROPERTIES.num, role: NODE_PROPERTIES.name } as const

export function randomGraph(chance: Chance): Graph {
  const types = NODE_TYPES.slice(0, chance.between(2, 3))
  // Only type and external id together name a node: now and then two types share the ids.
  const shared = chance.odds(0.2)
  // A label may also be the type of other nodes.
  const labels = [...EXTRA_LABELS, ...(chance.odds(0.3) ? NODE_TYPES : [])]
  const nodes: GraphNode[] = Array.from(
    {
      length: chance.weighted([
        [3, 5],
        [3, 6],
        [3, 8],
        [2, 12],
      ] as const),
    },
    (_, index) => {
      const type = shared ? (types[index % 2] as string) : chance.pick(types)
      return {
        kind: 'node',
        externalId: `n${shared ? Math.floor(index / 2) : index}`,
        type,
        labels: labels.filter((label) => label !== type && chance.odds(0.2)),
        isIdentity: chance.odds(0.8),
        properties: someOf(NODE_PROPERTIES, chance),
      }
    },
  )
  const kinds = RELATIONSHIP_TYPES.slice(0, chance.between(2, 3))
  const ends = chance.odds(0.4) ? hierarchy(nodes, chance) : anywhere(nodes, chance)
  const relationships = new Map<string, GraphRelationship>()
  for (const [source, target] of ends) {
    const type = chance.pick(kinds)
    const properties = someOf(RELATIONSHIP_PROPERTIES, chance)
    // Captured relationships merge by (source, type, target).
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
function anywhere(nodes: readonly GraphNode[], chance: Chance): Ends {
  const count = chance.between(nodes.length, Math.max(nodes.length, 18))
  return Array.from({ length: count }, () => [chance.pick(nodes), chance.pick(nodes)])
}

/** Deep: each node below an earlier one, mostly the one just before, and a few relationships across. */
function hierarchy(nodes: readonly GraphNode[], chance: Chance): Ends {
  const tree = nodes.slice(1).map((node, index): [GraphNode, GraphNode] => {
    const parent = chance.odds(0.6) ? (nodes[index] as GraphNode) : chance.pick(nodes.slice(0, index + 1))
    return [parent, node]
  })
  const across = Array.from({ length: chance.between(0, 3) }, (): [GraphNode, GraphNode] => [
    chance.pick(nodes),
    chance.pick(nodes),
  ])
  return [...tree, ...across]
}

function someOf(makers: Readonly<Record<string, (chance: Chance) => Value>>, chance: Chance): Map<string, Value> {
  const present = Object.entries(makers).filter(() => chance.odds(0.75))
  return new Map(present.map(([name, make]) => [name, make(chance)]))
}
