// The data schema of a project: types of nodes and relationships with counts, and queries for them.
import { cypherName } from '../../../kernel/text/cypher-names.ts'
import { call } from '../api.ts'

/** A property of a type. */
export interface SchemaProperty {
  readonly name: string
  /** Elements that have it. */
  readonly count: number
  /** The kinds of its values, the most frequent first. */
  readonly kinds: readonly string[]
}

/** A type of nodes. */
export interface SchemaType {
  readonly name: string
  readonly count: number
  readonly identities: number
  readonly labels: readonly { readonly name: string; readonly count: number }[]
  readonly properties: readonly SchemaProperty[]
  /** Dimensions of the trust scores of its nodes. */
  readonly dimensions: readonly string[]
}

/** Relationships of one type between two types of nodes. */
export interface SchemaRelation {
  readonly type: string
  readonly source: string
  readonly target: string
  readonly count: number
  readonly properties: readonly SchemaProperty[]
}

/** The data schema. Types and relationships are sorted by count. */
export interface ShownSchema {
  readonly types: readonly SchemaType[]
  readonly relations: readonly SchemaRelation[]
}

type AnsweredProperties = Readonly<
  Record<
    string,
    { readonly count: number; readonly types: readonly { readonly type: string; readonly count: number }[] }
  >
>

interface AnsweredSchema {
  readonly graph: {
    readonly nodes: Readonly<
      Record<
        string,
        {
          readonly metadata: {
            readonly node_count: number
            readonly properties: AnsweredProperties
            readonly system_labels: readonly { readonly name: string; readonly count: number }[]
            readonly user_defined_labels: readonly { readonly name: string; readonly count: number }[]
            readonly trust_score?: { readonly properties: AnsweredProperties }
          }
        }
      >
    >
    readonly edges: readonly {
      readonly source: string
      readonly target: string
      readonly relation: string
      readonly metadata: { readonly count: number; readonly properties: AnsweredProperties }
    }[]
  }
}

/** Reads the data schema. Rejects as `call` does. */
export async function readSchema(projectId: string, signal: AbortSignal): Promise<ShownSchema> {
  const { graph } = await call<AnsweredSchema>('GET', '/data-schema/v1', { project: projectId, signal })
  const types = Object.entries(graph.nodes).map(([name, { metadata }]) => ({
    name,
    count: metadata.node_count,
    identities: metadata.system_labels.find((label) => label.name === 'identity')?.count ?? 0,
    labels: metadata.user_defined_labels,
    properties: propertiesOf(metadata.properties),
    dimensions: Object.keys(metadata.trust_score?.properties ?? {}).sort(),
  }))
  const relations = graph.edges.map(({ source, target, relation, metadata }) => ({
    type: relation,
    source,
    target,
    count: metadata.count,
    properties: propertiesOf(metadata.properties),
  }))
  return { types: types.sort(byCount), relations: relations.sort(byCount) }
}

function byCount(a: { readonly count: number }, b: { readonly count: number }): number {
  return b.count - a.count
}

function propertiesOf(properties: AnsweredProperties): readonly SchemaProperty[] {
  return Object.entries(properties)
    .map(([name, { count, types }]) => ({ name, count, kinds: [...types].sort(byCount).map(({ type }) => type) }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
}

/** A query with a title. */
export interface ExampleQuery {
  readonly title: string
  readonly query: string
}

/** The nodes of a type. */
export function typeQuery(type: string): string {
  return `MATCH (n:${cypherName(type)})\nRETURN n LIMIT 50`
}

/** The relationships of one type between two types. */
export function relationQuery({ type, source, target }: SchemaRelation): string {
  return `MATCH (a:${cypherName(source)})-[r:${cypherName(type)}]->(b:${cypherName(target)})\nRETURN a, r, b LIMIT 100`
}

const EXAMPLES_MAX = 3

/** Queries for this schema. */
export function exampleQueries({ types, relations }: ShownSchema): readonly ExampleQuery[] {
  if (types.length === 0) return []
  const [relation] = relations
  const next = relations.find(({ source }) => source === relation?.target)
  return [
    {
      title: 'Everything, up to 300 relationships',
      query: 'MATCH (a)-[r]->(b)\nWHERE NOT a:_AppAgent\nRETURN a, r, b LIMIT 300',
    },
    ...relations.slice(0, EXAMPLES_MAX).map((one) => ({
      title: `${one.source} ${one.type} ${one.target}`,
      query: relationQuery(one),
    })),
    ...(relation !== undefined && next !== undefined
      ? [
          {
            title: `Paths over ${relation.type} and ${next.type}`,
            query: `MATCH p = (:${cypherName(relation.source)})-[:${cypherName(relation.type)}]->(:${cypherName(relation.target)})-[:${cypherName(next.type)}]->(:${cypherName(next.target)})\nRETURN p LIMIT 50`,
          },
        ]
      : []),
    ...types.slice(0, EXAMPLES_MAX).map(({ name }) => ({ title: `Nodes of type ${name}`, query: typeQuery(name) })),
    {
      title: 'Number of nodes by type',
      query: "MATCH (n)\nRETURN graph.field(n, 'type') AS type, count(*) AS nodes ORDER BY nodes DESC",
    },
  ]
}
