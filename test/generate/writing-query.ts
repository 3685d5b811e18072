// Random graphs, context policies and queries that write under them: mostly allowed by the policy, and often not.
import type { GraphNode, GraphRelationship, ReferenceGraph } from '../oracle/cypher/values.ts'
import type { Random } from './random.ts'

const TYPES = ['TA', 'TB', 'TC']
/** Reserved names, which a policy may list but no query can write. */
const OWN_TYPE = '_Own'
const OWN_RELATIONSHIP = '_T'
const LABELS = ['TB', 'LX', 'LY']
const RELATIONSHIPS = ['R', 'S']
const PROPERTIES = ['p', 'q', 's']

/** The type of the subject. */
export const SUBJECT = 'TA'

interface GeneratedWriteCondition {
  readonly cypher: string
  readonly nodes: readonly string[]
  readonly relationships: readonly string[]
}

const CONDITIONS: readonly GeneratedWriteCondition[] = [
  { cypher: 'MATCH (subject:TA)-[r]->(x)', nodes: ['subject', 'x'], relationships: ['r'] },
  {
    cypher: 'MATCH (subject:TA)-[r:R]->(x) OPTIONAL MATCH (x)-[s]->(y)',
    nodes: ['subject', 'x', 'y'],
    relationships: ['r', 's'],
  },
  { cypher: 'MATCH (subject:TA), (x:TB)', nodes: ['subject', 'x'], relationships: [] },
  { cypher: 'MATCH (subject:TA)-[rs:R|S*1..2]->(x)', nodes: ['subject', 'x'], relationships: ['rs'] },
  {
    cypher: 'MATCH (subject:TA) OPTIONAL MATCH (subject)-[r]-(x) WITH subject, r, collect(x) AS xs',
    nodes: ['subject', 'xs'],
    relationships: ['r'],
  },
  { cypher: 'MATCH (subject:TA)<-[r]-(x) WHERE x.p = 1', nodes: ['subject', 'x'], relationships: ['r'] },
]

export interface WriteRule {
  readonly type: string
  readonly source_node_label: string
  readonly target_node_label: string
}

export interface WritingPolicy {
  readonly cypher: string
  readonly existingNodes: readonly string[]
  readonly nodeTypes: readonly string[]
  readonly existingRelationships: readonly string[]
  readonly rules: readonly WriteRule[]
  readonly deleteNodes: readonly string[]
  readonly deleteRelationships: readonly string[]
}

export interface WritingCase {
  readonly graph: ReferenceGraph
  readonly policy: WritingPolicy
  readonly query: Record<string, unknown>
  readonly parameters: Record<string, unknown>
}

export function randomWritingCase(chance: Random): WritingCase {
  const condition = chance.pick(CONDITIONS)
  const policy = randomPolicy(chance, condition)
  return {
    graph: randomGraph(chance),
    policy,
    query: randomQuery(chance, condition, policy),
    parameters: {
      value: chance.odds(0.05) ? null : chance.pick([1, 'one', true, [1, 2]]),
      id: `n${chance.between(0, 5)}`,
    },
  }
}

export function documentOf({ cypher, ...policy }: WritingPolicy): object {
  return {
    meta: { policy_version: '1.0-ciq' },
    subject: { type: SUBJECT },
    condition: { cypher },
    allowed_upserts: {
      nodes: { existing_nodes: policy.existingNodes, node_types: policy.nodeTypes },
      relationships: { existing_relationships: policy.existingRelationships, relationship_types: policy.rules },
    },
    allowed_deletes: { nodes: policy.deleteNodes, relationships: policy.deleteRelationships },
  }
}

function some<T>(chance: Random, items: readonly T[], odds: number): T[] {
  return items.filter(() => chance.odds(odds))
}

function several<T>(chance: Random, max: number, make: () => T): T[] {
  return Array.from({ length: chance.between(0, max) }, make)
}

function randomGraph(chance: Random): ReferenceGraph {
  const nodes: GraphNode[] = Array.from({ length: chance.between(2, 6) }, (_, i) => ({
    kind: 'node',
    externalId: `n${i}`,
    type:
      i === 0
        ? SUBJECT
        : chance.weighted([
            [4, 'TA'],
            [3, 'TB'],
            [2, 'TC'],
            [0.3, OWN_TYPE],
          ]),
    labels: some(chance, LABELS, 0.3),
    isIdentity: chance.odds(0.2),
    properties: new Map(some(chance, PROPERTIES, 0.5).map((name) => [name, BigInt(chance.between(1, 2))])),
  }))
  const relationships = new Map<string, GraphRelationship>()
  for (let i = chance.between(4, 9); i > 0; i--) {
    const [source, target, type] = [
      chance.pick(nodes),
      chance.pick(nodes),
      chance.odds(0.07) ? OWN_RELATIONSHIP : chance.pick(['R', 'R', 'S']),
    ]
    relationships.set(`${source.externalId} ${type} ${target.externalId}`, {
      kind: 'relationship',
      source,
      target,
      type,
      properties: new Map(some(chance, PROPERTIES, 0.4).map((name) => [name, BigInt(chance.between(1, 2))])),
    })
  }
  return { nodes, relationships: [...relationships.values()] }
}

function randomPolicy(chance: Random, { cypher, nodes, relationships }: GeneratedWriteCondition): WritingPolicy {
  const nodePaths = nodes.flatMap((name) => [name, `${name}.*`, `${name}.property.p`])
  const relationshipPaths = relationships.flatMap((name) => [name, `${name}.*`, `${name}.p`])
  return {
    cypher,
    existingNodes: some(chance, nodes, 0.6),
    nodeTypes: [...some(chance, TYPES, 0.4), ...some(chance, [OWN_TYPE], 0.1)],
    existingRelationships: some(chance, relationships, 0.6),
    rules: several(chance, 5, () => ({
      type: chance.odds(0.05) ? OWN_RELATIONSHIP : chance.pick(RELATIONSHIPS),
      source_node_label: chance.pick([...TYPES, ...LABELS]),
      target_node_label: chance.pick([...TYPES, ...LABELS]),
    })),
    deleteNodes: some(chance, nodePaths, 0.3),
    deleteRelationships: some(chance, relationshipPaths, 0.3),
  }
}

function randomQuery(
  chance: Random,
  condition: GeneratedWriteCondition,
  policy: WritingPolicy,
): Record<string, unknown> {
  /** Mostly allowed ones. */
  const choose = <T>(allowed: readonly T[], all: readonly T[]): T | null => {
    const from = allowed.length > 0 && chance.odds(0.97) ? allowed : chance.odds(0.96) ? [] : all
    return from.length === 0 ? null : chance.pick(from)
  }
  const properties = () =>
    some(chance, PROPERTIES, 0.5).map((type) => ({ type, value: chance.pick(['$value', 1, 'x']) }))
  const made = ['m1', 'm2'].flatMap((name) => {
    const type = chance.odds(0.5) ? choose(policy.nodeTypes, TYPES) : null
    if (type === null) return []
    const labels = chance.odds(0.5) ? { labels: some(chance, LABELS, 0.5) } : {}
    return [{ name, type, external_id: chance.pick(['$id', 'n1', 'fresh']), ...labels, properties: properties() }]
  })
  const updated = some(chance, condition.nodes, 0.5).flatMap((name) => {
    const chosen = choose(
      policy.existingNodes.filter((one) => one === name),
      [name],
    )
    const labels = chance.odds(0.3) ? { labels: some(chance, LABELS, 0.5) } : {}
    return chosen === null ? [] : [{ name: chosen, ...labels, properties: properties() }]
  })
  const ends = [...condition.nodes, ...made.map(({ name }) => name)]
  const joined = ['j1', 'j2'].flatMap((name) => {
    const type = chance.odds(0.5)
      ? choose(
          policy.rules.map((rule) => rule.type),
          RELATIONSHIPS,
        )
      : null
    if (type === null) return []
    return [{ name, type, source: chance.pick(ends), target: chance.pick(ends), properties: properties() }]
  })
  const rejoined = some(chance, condition.relationships, 0.5).flatMap((name) => {
    const chosen = choose(
      policy.existingRelationships.filter((one) => one === name),
      [name],
    )
    return chosen === null ? [] : [{ name: chosen, properties: properties() }]
  })
  const gone = (allowed: readonly string[], names: readonly string[]): string[] =>
    several(chance, 2, () => (chance.odds(0.12) ? names : [choose(allowed, names) ?? []].flat())).flat()
  return {
    upsert_nodes: once([...updated, ...made]),
    upsert_relationships: once([...rejoined, ...joined]),
    delete_nodes: chance.odds(0.5) ? gone(policy.deleteNodes, condition.nodes) : [],
    delete_relationships: chance.odds(0.5) ? gone(policy.deleteRelationships, condition.relationships) : [],
  }
}

function once<T extends { readonly name: string }>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [item.name, item])).values()]
}
