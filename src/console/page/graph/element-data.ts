// Reads an element, its neighbours and its relationships from the graph.
import { cypherName } from '../../../kernel/text/cypher-names.ts'
import { ApiError } from '../api.ts'
import { type NodeName, queryGraph } from '../graph-api.ts'
import { type AnsweredNode, collectElements, type GraphElements, type ShownEdge, type ShownNode } from './elements.ts'

/** Neighbours that one step of expanding adds. */
export const EXPAND_MAX = 50
const GROUPS_MAX = 100

/** Where a property comes from; null: not known. */
export interface PropertyOrigin {
  readonly name: string
  readonly source: unknown
  readonly assurance_level: unknown
  readonly verified_time: unknown
  readonly custom_metadata: unknown
}

/** Everything about a node. */
interface NodeData {
  readonly node: AnsweredNode
  readonly createTime: string | null
  readonly updateTime: string | null
  readonly origins: readonly PropertyOrigin[]
  /** By dimension, as far as the node has a score. */
  readonly trust: readonly (readonly [name: string, value: unknown])[]
}

/** Relationships of one type in one direction. */
export interface RelationshipGroup {
  readonly direction: 'out' | 'in'
  readonly type: string
  /** The type of the nodes at the other end. */
  readonly other: string
  readonly count: number
}

type NodePlace = NodeName & { readonly location: string | null }

function placeOf({ type, externalId, location }: ShownNode): NodePlace {
  return { type, id: externalId, location }
}

/** The beginning of a query about a node, and the parameters that it needs. */
function matched({ type, id, location }: NodePlace, pattern: string) {
  return {
    text: `${location === null ? '' : 'USE graph.byName($location) '}MATCH (n:${cypherName(type)} {external_id: $id})${pattern}`,
    parameters: { id, ...(location !== null && { location }) },
  }
}

/** Reads a node. `dimensions`: of the trust scores of its type. Returns null if it does not exist. Rejects as `call` does. */
export async function readNode(
  projectId: string,
  shown: ShownNode,
  dimensions: readonly string[],
  signal: AbortSignal,
): Promise<NodeData | null> {
  const { text, parameters } = matched(placeOf(shown), '')
  const { rows } = await queryGraph(
    projectId,
    `${text} RETURN n, graph.field(n, 'create_time') AS created, graph.field(n, 'update_time') AS updated LIMIT 1`,
    parameters,
    { signal },
  )
  const [row] = rows
  if (row === undefined) return null
  const node = row[0] as AnsweredNode
  const fields = ['source', 'assurance_level', 'verified_time', 'custom_metadata']
  const origin = fields.map((field) => `${field}: graph.metadata(n, name, '${field}')`).join(', ')
  const scores = dimensions.map((name, index) => `, n.trust_score.${cypherName(name)} AS t${index}`).join('')
  // The names are given, because `keys` is refused for a node with a property of a resolver.
  const more = await queryGraph(
    projectId,
    `${text} RETURN [name IN $names | {name: name, ${origin}}] AS origins${scores} LIMIT 1`,
    { ...parameters, names: [...Object.keys(node.properties), ...Object.keys(node.external ?? {})] },
    { signal },
  )
  const [origins = [], ...values] = more.rows[0] ?? []
  return {
    node,
    createTime: row[1] as string | null,
    updateTime: row[2] as string | null,
    origins: origins as readonly PropertyOrigin[],
    trust: dimensions.flatMap((name, index) => (values[index] == null ? [] : [[name, values[index]] as const])),
  }
}

/** Counts the relationships of a node by type, direction and type of the other node. Rejects as `call` does. */
export async function readGroups(
  projectId: string,
  shown: ShownNode,
  signal: AbortSignal,
): Promise<readonly RelationshipGroup[]> {
  const read = async (direction: 'out' | 'in'): Promise<readonly RelationshipGroup[]> => {
    const { text, parameters } = matched(placeOf(shown), direction === 'out' ? '-[r]->(m)' : '<-[r]-(m)')
    const query = `${text} RETURN type(r) AS type, graph.field(m, 'type') AS other, count(*) AS count ORDER BY count DESC, type LIMIT ${GROUPS_MAX}`
    const { rows } = await queryGraph(projectId, query, parameters, { signal })
    return rows.map(([type, other, count]) => ({
      direction,
      type: String(type),
      other: other === null ? '' : String(other),
      count: Number(count),
    }))
  }
  return (await Promise.all([read('out'), read('in')])).flat()
}

/**
 * Reads neighbours of a node. `skip`: how many were read before. `group`: only these relationships. Returns the elements and the number
 * of relationships that the node has, null if they are too many to count. Rejects as `call` does.
 */
export async function readNeighbours(
  projectId: string,
  shown: ShownNode,
  skip: number,
  group: RelationshipGroup | null,
  signal: AbortSignal,
): Promise<{ readonly elements: GraphElements; readonly total: number | null }> {
  const place = placeOf(shown)
  const type = group === null ? '' : `:${cypherName(group.type)}`
  const other = group === null || group.other === '' ? '' : `:${cypherName(group.other)}`
  const [left, right] = group === null ? ['-', '-'] : group.direction === 'out' ? ['-', '->'] : ['<-', '-']
  const { text, parameters } = matched(place, `${left}[r${type}]${right}(m${other})`)
  const query = `${text} RETURN n, r, m SKIP $skip LIMIT ${EXPAND_MAX}`
  const counted = matched(place, '-[r]-()')
  const [found, total] = await Promise.all([
    queryGraph(projectId, query, { ...parameters, skip }, { signal }),
    queryGraph(projectId, `${counted.text} RETURN count(r) AS total`, counted.parameters, { signal }).then(
      ({ rows }) => Number(rows[0]?.[0] ?? 0),
      (failure: unknown) => {
        // A limit of queries.
        if (failure instanceof ApiError && failure.status !== 401) return null
        throw failure
      },
    ),
  ])
  return { elements: collectElements(found.rows), total }
}

/** Reads one node by its name. Returns no elements if it does not exist. Rejects as `call` does. */
export async function readNamed(projectId: string, name: NodeName, signal: AbortSignal): Promise<GraphElements> {
  const { text, parameters } = matched({ ...name, location: null }, '')
  const { rows } = await queryGraph(projectId, `${text} RETURN n LIMIT 1`, parameters, { signal })
  return collectElements(rows)
}

const CONNECT_NODES_MAX = 500
const CONNECT_MAX = 2000

/** Reads the relationships between nodes of a picture, at most some thousand. Rejects as `call` does. */
export async function readConnections(
  projectId: string,
  nodes: readonly ShownNode[],
  signal: AbortSignal,
): Promise<GraphElements> {
  const ids = new Map<string, string[]>()
  for (const { type, externalId, location } of nodes.slice(0, CONNECT_NODES_MAX)) {
    if (type === '' || location !== null) continue
    ids.set(type, [...(ids.get(type) ?? []), externalId])
  }
  const all = [...ids.values()].flat()
  const answers = await Promise.all(
    [...ids].map(([type, own]) =>
      queryGraph(
        projectId,
        `UNWIND $own AS id MATCH (n:${cypherName(type)} {external_id: id})-[r]->(m) WHERE m.external_id IN $all RETURN r LIMIT ${CONNECT_MAX}`,
        { own, all },
        { limit: CONNECT_MAX, signal },
      ),
    ),
  )
  const known = new Set(nodes.map(({ key }) => key))
  const { nodes: ends, edges } = collectElements(answers.flatMap(({ rows }) => rows))
  return {
    nodes: new Map([...ends].filter(([key]) => known.has(key))),
    edges: new Map([...edges].filter(([, { source, target }]) => known.has(source) && known.has(target))),
  }
}

/** Creation and last change of a relationship. */
interface EdgeTimes {
  readonly createTime: string | null
  readonly updateTime: string | null
}

/** Reads the times of a relationship. Rejects as `call` does. */
export async function readEdgeTimes(
  projectId: string,
  edge: ShownEdge,
  source: ShownNode,
  signal: AbortSignal,
): Promise<EdgeTimes> {
  const { text, parameters } = matched(placeOf(source), `-[r:${cypherName(edge.type)}]->()`)
  const query = `${text} WHERE elementId(r) = $relationship RETURN graph.field(r, 'create_time') AS created, graph.field(r, 'update_time') AS updated LIMIT 1`
  const { rows } = await queryGraph(projectId, query, { ...parameters, relationship: edge.key }, { signal })
  const [created = null, updated = null] = rows[0] ?? []
  return { createTime: created as string | null, updateTime: updated as string | null }
}
