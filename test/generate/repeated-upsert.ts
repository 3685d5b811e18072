// Random graphs full of secrets, and random policies and queries whose upserts meet the elements of these graphs.
import type { Random } from './random.ts'

/** The type of the subject. */
export const SUBJECT = 'TA'
const TYPES = [SUBJECT, 'TB', 'TC']
/** The relationship type that patterns match. Queries write the other one, so that a repeated call has the same rows. */
const MATCHED = 'R'
const WRITTEN = 'S'
/** Labels that decide which nodes may be joined. */
const LABELS = ['LX', 'LY']
export const PROPERTIES = ['p', 'q', 's']

/** A property with the source of its metadata; both are secrets. */
export interface SecretProperty {
  readonly value: string
  readonly source: string | null
}

export interface SecretNode {
  readonly type: string
  readonly externalId: string
  readonly labels: readonly string[]
  readonly properties: ReadonlyMap<string, SecretProperty>
}

export interface SecretRelationship {
  readonly source: SecretNode
  readonly type: string
  readonly target: SecretNode
  readonly properties: ReadonlyMap<string, SecretProperty>
}

/** A graph in which each value, source and hidden label is a text of its own. */
export interface SecretGraph {
  readonly nodes: readonly SecretNode[]
  readonly relationships: readonly SecretRelationship[]
}

export interface UpsertedNode {
  readonly name: string
  readonly type: string
  readonly external_id: string
  readonly labels?: readonly string[]
  readonly properties: readonly WrittenProperty[]
}

export interface UpsertedRelationship {
  readonly name: string
  readonly type: string
  readonly source: string
  readonly target: string
  readonly properties: readonly WrittenProperty[]
}

interface WrittenProperty {
  readonly type: string
  readonly value: string
}

export interface RepeatedUpsert {
  readonly graph: SecretGraph
  readonly cypher: string
  /** Paths of the query's own names that the policy allows to read. */
  readonly reads: { readonly nodes: readonly string[]; readonly relationships: readonly string[] }
  readonly rules: readonly object[]
  readonly nodes: readonly UpsertedNode[]
  readonly relationships: readonly UpsertedRelationship[]
  /** Properties that the query writes to the pattern's `x`. */
  readonly updated: readonly WrittenProperty[] | null
  readonly deleted: readonly string[]
  readonly requested: { readonly nodes: readonly string[]; readonly relationships: readonly string[] }
}

const CONDITIONS = [
  "MATCH (subject:TA {external_id: 'n0'})-[r:R]->(x)",
  "MATCH (subject:TA {external_id: 'n0'})-[r:R]->(x) OPTIONAL MATCH (x)-[t:R]->(y)",
  "MATCH (subject:TA {external_id: 'n0'})-[rs:R*1..2]->(x)",
]

/** All labels and properties of any case. */
export const allNames = { labels: [...LABELS, ...TYPES], properties: PROPERTIES }

/** The value that a query writes under a property name. */
export function writtenValue(property: string): string {
  return `written-${property}`
}

export function randomRepeatedUpsert(random: Random): RepeatedUpsert {
  const graph = randomSecrets(random)
  const cypher = random.pick(CONDITIONS)
  const written = (): WrittenProperty[] =>
    some(random, PROPERTIES, 0.4).map((type) => ({ type, value: writtenValue(type) }))
  const nodes = some(random, ['m1', 'm2', 'm3'], 0.7).map((name) => ({
    name,
    type: random.pick(TYPES),
    external_id: random.pick(['n1', 'n2', 'n3', 'fresh']),
    ...(random.odds(0.3) && { labels: some(random, LABELS, 0.5) }),
    properties: written(),
  }))
  const ends = ['subject', 'x', ...nodes.map(({ name }) => name)]
  const relationships = some(random, ['j1', 'j2'], 0.7).map((name) => ({
    name,
    type: WRITTEN,
    source: random.pick(ends),
    target: random.pick(ends),
    properties: written(),
  }))
  const pathsOf = (name: string, isNode: boolean): string[] => [
    name,
    `${name}.*`,
    `${name}.property.*`,
    ...['type', 'id', 'create_time', 'update_time', ...(isNode ? ['external_id', 'is_identity'] : [])].map(
      (field) => `${name}.${field}`,
    ),
    ...PROPERTIES.map((property) => `${name}.property.${property}`),
    ...(isNode ? PROPERTIES.map((property) => `${name}.property.${property}.metadata.source`) : []),
    ...(isNode ? [`${name}.trust_score.*`] : []),
  ]
  const paths = {
    nodes: nodes.flatMap(({ name }) => pathsOf(name, true)),
    relationships: relationships.flatMap(({ name }) => pathsOf(name, false)),
  }
  return {
    graph,
    cypher,
    reads: { nodes: some(random, paths.nodes, 0.08), relationships: some(random, paths.relationships, 0.08) },
    rules: TYPES.flatMap((from) => TYPES.map((to) => [from, to] as const))
      .filter(() => random.odds(0.9))
      .map(([from, to]) => ({ type: WRITTEN, source_node_label: from, target_node_label: to })),
    nodes,
    relationships,
    updated: random.odds(0.5) ? written() : null,
    deleted: random.odds(0.3) ? [`x.property.${random.pick(PROPERTIES)}`] : [],
    requested: { nodes: some(random, paths.nodes, 0.5), relationships: some(random, paths.relationships, 0.5) },
  }
}

/** Paths that identify the row of a record: all names of a case depend on `subject` and `x`. */
export const ROW_PATHS = ['x.type', 'x.external_id']

/** The policy document of a case. */
export function policyOf({ cypher, reads, rules }: RepeatedUpsert): object {
  return {
    meta: { policy_version: '1.0-ciq' },
    subject: { type: SUBJECT },
    condition: { cypher },
    allowed_reads: { ...reads, nodes: [...reads.nodes, ...ROW_PATHS] },
    allowed_upserts: {
      nodes: { existing_nodes: ['x'], node_types: TYPES },
      relationships: { relationship_types: rules },
    },
    allowed_deletes: { nodes: PROPERTIES.map((property) => `x.property.${property}`) },
  }
}

/** The query document of a case. */
export function queryOf({ nodes, relationships, updated, deleted, requested }: RepeatedUpsert): object {
  return {
    ...requested,
    nodes: [...requested.nodes, ...ROW_PATHS],
    upsert_nodes: [...nodes, ...(updated === null ? [] : [{ name: 'x', properties: updated }])],
    upsert_relationships: relationships,
    delete_nodes: deleted,
  }
}

/**
 * The same graph with other values where `isSecret`: a changed property, one that is missing or one more, another source
 * and another hidden label.
 */
export function changedSecrets(
  random: Random,
  graph: SecretGraph,
  isSecret: (type: string, what: { property: string } | { source: string } | 'labels') => boolean,
): SecretGraph {
  const propertiesOf = ({ type, properties }: { type: string; properties: ReadonlyMap<string, SecretProperty> }) =>
    new Map(
      PROPERTIES.flatMap((name) => {
        const old = properties.get(name)
        const source = isSecret(type, { source: name }) && random.odds(0.7) ? secret(random) : (old?.source ?? null)
        if (!isSecret(type, { property: name })) return old === undefined ? [] : [[name, { ...old, source }] as const]
        // Without the property its source would be missing too.
        const isKept = old !== undefined && !isSecret(type, { source: name })
        return isKept || random.odds(0.5) ? [[name, { value: secret(random), source }] as const] : []
      }),
    )
  const nodes = new Map(
    graph.nodes.map((node) => {
      const shown = node.labels.filter((label) => LABELS.includes(label))
      const labels = isSecret(node.type, 'labels') ? [...shown, ...hiddenLabels(random)] : node.labels
      return [node, { ...node, labels, properties: propertiesOf(node) }]
    }),
  )
  return {
    nodes: [...nodes.values()],
    relationships: graph.relationships.map((one) => ({
      ...one,
      source: nodes.get(one.source)!,
      target: nodes.get(one.target)!,
      properties: propertiesOf(one),
    })),
  }
}

/** The texts of all secrets. */
export const SECRET = /\bsecret\d+\b|\bHidden\d+\b/g

function secret(random: Random): string {
  return `secret${random.between(1, 1_000_000_000)}`
}

function hiddenLabels(random: Random): string[] {
  return random.odds(0.5) ? [`Hidden${random.between(1, 30)}`] : []
}

function some<T>(random: Random, items: readonly T[], odds: number): T[] {
  return items.filter(() => random.odds(odds))
}

function randomSecrets(random: Random): SecretGraph {
  const properties = () =>
    new Map(
      some(random, PROPERTIES, 0.7).map((name) => [
        name,
        { value: secret(random), source: random.odds(0.5) ? secret(random) : null },
      ]),
    )
  const nodes = TYPES.flatMap((type) =>
    ['n0', 'n1', 'n2', 'n3']
      .filter((externalId) => externalId === 'n0' || random.odds(0.7))
      .map((externalId) => ({
        type,
        externalId,
        labels: [...some(random, LABELS, 0.4), ...hiddenLabels(random)],
        properties: properties(),
      })),
  )
  const subject = nodes[0] as SecretNode
  const relationships = new Map<string, SecretRelationship>()
  const join = (source: SecretNode, type: string, target: SecretNode): void => {
    const key = [source, target].map((node) => `${node.type} ${node.externalId}`).join(` ${type} `)
    relationships.set(key, { source, type, target, properties: properties() })
  }
  for (let i = random.between(1, 3); i > 0; i--) join(subject, MATCHED, random.pick(nodes))
  for (let i = random.between(0, 6); i > 0; i--) join(random.pick(nodes), MATCHED, random.pick(nodes))
  for (let i = random.between(5, 40); i > 0; i--) join(random.pick(nodes), WRITTEN, random.pick(nodes))
  return { nodes, relationships: [...relationships.values()] }
}
