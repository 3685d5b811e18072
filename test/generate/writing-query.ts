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

export function randomWritingCase(random: Random): WritingCase {
  const condition = random.pick(CONDITIONS)
  const policy = randomPolicy(random, condition)
  return {
    graph: randomGraph(random),
    policy,
    query: randomQuery(random, condition, policy),
    parameters: {
      value: random.odds(0.05) ? null : random.pick([1, 'one', true, [1, 2]]),
      id: `n${random.between(0, 5)}`,
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

function some<T>(random: Random, items: readonly T[], odds: number): T[] {
  return items.filter(() => random.odds(odds))
}

function several<T>(random: Random, max: number, make: () => T): T[] {
  return Array.from({ length: random.between(0, max) }, make)
}

function randomGraph(random: Random): ReferenceGraph {
  const nodes: GraphNode[] = Array.from({ length: random.between(2, 6) }, (_, i) => ({
    kind: 'node',
    externalId: `n${i}`,
    type:
      i === 0
        ? SUBJECT
        : random.weighted([
            [4, 'TA'],
            [3, 'TB'],
            [2, 'TC'],
            [0.3, OWN_TYPE],
          ]),
    labels: some(random, LABELS, 0.3),
    isIdentity: random.odds(0.2),
    properties: new Map(some(random, PROPERTIES, 0.5).map((name) => [name, BigInt(random.between(1, 2))])),
  }))
  const relationships = new Map<string, GraphRelationship>()
  for (let i = random.between(4, 9); i > 0; i--) {
    const [source, target, type] = [
      random.pick(nodes),
      random.pick(nodes),
      random.odds(0.07) ? OWN_RELATIONSHIP : random.pick(['R', 'R', 'S']),
    ]
    relationships.set(`${source.externalId} ${type} ${target.externalId}`, {
      kind: 'relationship',
      source,
      target,
      type,
      properties: new Map(some(random, PROPERTIES, 0.4).map((name) => [name, BigInt(random.between(1, 2))])),
    })
  }
  return { nodes, relationships: [...relationships.values()] }
}

function randomPolicy(random: Random, { cypher, nodes, relationships }: GeneratedWriteCondition): WritingPolicy {
  const nodePaths = nodes.flatMap((name) => [name, `${name}.*`, `${name}.property.p`])
  const relationshipPaths = relationships.flatMap((name) => [name, `${name}.*`, `${name}.p`])
  return {
    cypher,
    existingNodes: some(random, nodes, 0.6),
    nodeTypes: [...some(random, TYPES, 0.4), ...some(random, [OWN_TYPE], 0.1)],
    existingRelationships: some(random, relationships, 0.6),
    rules: several(random, 5, () => ({
      type: random.odds(0.05) ? OWN_RELATIONSHIP : random.pick(RELATIONSHIPS),
      source_node_label: random.pick([...TYPES, ...LABELS]),
      target_node_label: random.pick([...TYPES, ...LABELS]),
    })),
    deleteNodes: some(random, nodePaths, 0.3),
    deleteRelationships: some(random, relationshipPaths, 0.3),
  }
}

function randomQuery(
  random: Random,
  condition: GeneratedWriteCondition,
  policy: WritingPolicy,
): Record<string, unknown> {
  /** Mostly allowed ones. */
  const choose = <T>(allowed: readonly T[], all: readonly T[]): T | null => {
    const from = allowed.length > 0 && random.odds(0.97) ? allowed : random.odds(0.96) ? [] : all
    return from.length === 0 ? null : random.pick(from)
  }
  const properties = () =>
    some(random, PROPERTIES, 0.5).map((type) => ({ type, value: random.pick(['$value', 1, 'x']) }))
  const made = ['m1', 'm2'].flatMap((name) => {
    const type = random.odds(0.5) ? choose(policy.nodeTypes, TYPES) : null
    if (type === null) return []
    const labels = random.odds(0.5) ? { labels: some(random, LABELS, 0.5) } : {}
    return [{ name, type, external_id: random.pick(['$id', 'n1', 'fresh']), ...labels, properties: properties() }]
  })
  const updated = some(random, condition.nodes, 0.5).flatMap((name) => {
    const chosen = choose(
      policy.existingNodes.filter((one) => one === name),
      [name],
    )
    const labels = random.odds(0.3) ? { labels: some(random, LABELS, 0.5) } : {}
    return chosen === null ? [] : [{ name: chosen, ...labels, properties: properties() }]
  })
  const ends = [...condition.nodes, ...made.map(({ name }) => name)]
  const joined = ['j1', 'j2'].flatMap((name) => {
    const type = random.odds(0.5)
      ? choose(
          policy.rules.map((rule) => rule.type),
          RELATIONSHIPS,
        )
      : null
    if (type === null) return []
    return [{ name, type, source: random.pick(ends), target: random.pick(ends), properties: properties() }]
  })
  const rejoined = some(random, condition.relationships, 0.5).flatMap((name) => {
    const chosen = choose(
      policy.existingRelationships.filter((one) => one === name),
      [name],
    )
    return chosen === null ? [] : [{ name: chosen, properties: properties() }]
  })
  const gone = (allowed: readonly string[], names: readonly string[]): string[] =>
    several(random, 2, () => (random.odds(0.12) ? names : [choose(allowed, names) ?? []].flat())).flat()
  return {
    upsert_nodes: once([...updated, ...made]),
    upsert_relationships: once([...rejoined, ...joined]),
    delete_nodes: random.odds(0.5) ? gone(policy.deleteNodes, condition.nodes) : [],
    delete_relationships: random.odds(0.5) ? gone(policy.deleteRelationships, condition.relationships) : [],
  }
}

function once<T extends { readonly name: string }>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [item.name, item])).values()]
}
