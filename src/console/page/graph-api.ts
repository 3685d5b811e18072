// Reads the graph of a project: real nodes for suggestions, and values of properties. Without the right to do so, only names of types.
import { cypherName } from '../../kernel/text/cypher-names.ts'
import type { HttpSchemas } from '../../openapi/types.ts'
import { ApiError, call } from './api.ts'
import { parseExact } from './exact-json.ts'

/** Type and external id of a node. */
export interface NodeName {
  readonly type: string
  readonly id: string
}

/** The answer of a query: rows in the order of `columns`. Integers beyond 2^53 are bigints. */
export interface GraphRows extends Omit<HttpSchemas['GraphQueryAnswer'], 'rows'> {
  readonly rows: readonly (readonly unknown[])[]
}

/** Runs read-only Cypher. Rejects as `call` does. */
export function queryGraph(
  projectId: string,
  query: string,
  parameters: Readonly<Record<string, unknown>>,
  options: { readonly limit?: number; readonly signal?: AbortSignal } = {},
): Promise<GraphRows> {
  const { limit, signal } = options
  return call('POST', '/graph/v1/query', {
    project: projectId,
    parse: parseExact,
    body: { query, parameters, ...(limit !== undefined && { limit }) },
    ...(signal !== undefined && { signal }),
  })
}

/** `Person:ann` as a node; a text without a colon has no type. An id may contain colons. */
export function parseNodeName(text: string): NodeName {
  const at = text.indexOf(':')
  return at < 0 ? { type: '', id: text.trim() } : { type: text.slice(0, at).trim(), id: text.slice(at + 1).trim() }
}

/** A node in a list of suggestions. */
interface FoundNode extends NodeName {
  /** The name or title of the node; empty: none. */
  readonly title: string
}

type QueriedNode = HttpSchemas['GraphQueryNode']

/** Properties that hold a name for people, the best first. */
const TITLES = ['name', 'title', 'display_name', 'email', 'label']

/** The title of a node from its properties. */
export function titleOf(properties: Readonly<Record<string, unknown>>): string {
  for (const name of TITLES) if (typeof properties[name] === 'string') return properties[name]
  return ''
}

const FOUND_MAX = 12

/** Nodes whose id or name begins with a text, or contains it. `type`: empty: any type. Empty if nodes may not be read. */
export async function findNodes(
  projectId: string,
  { type, id: text }: NodeName,
  signal: AbortSignal,
): Promise<readonly FoundNode[]> {
  const label = type === '' ? '' : `:${cypherName(type)}`
  const query = `MATCH (n${label}) WHERE toLower(n.external_id) CONTAINS $text OR toLower(toString(n.name)) CONTAINS $text RETURN n LIMIT ${FOUND_MAX * 4}`
  try {
    const { rows } = await queryGraph(projectId, query, { text: text.toLowerCase() }, { signal })
    const found = rows.flatMap(([value]) => {
      const { type: own, external_id, properties } = value as QueriedNode
      return own === null || external_id === null || own.startsWith('_')
        ? []
        : [{ type: own, id: external_id, title: titleOf(properties) }]
    })
    const begins = (node: FoundNode): number => (node.id.toLowerCase().startsWith(text.toLowerCase()) ? 0 : 1)
    return found
      .sort((a, b) => begins(a) - begins(b) || compare(a.type, b.type) || compare(a.id, b.id))
      .slice(0, FOUND_MAX)
  } catch (failure) {
    // The account may not read the graph: the field takes any text.
    if (failure instanceof ApiError) return []
    throw failure
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The value of a property of a node; undefined if it cannot be read. */
export async function readProperty(
  projectId: string,
  { type, id }: NodeName,
  property: string,
  signal: AbortSignal,
): Promise<unknown> {
  const query = `MATCH (n:${cypherName(type)} {external_id: $id}) RETURN n LIMIT 1`
  try {
    const { rows } = await queryGraph(projectId, query, { id }, { signal })
    const node = rows[0]?.[0] as QueriedNode | undefined
    return node?.properties[property] ?? (node === undefined ? undefined : null)
  } catch (failure) {
    if (failure instanceof ApiError) return undefined
    throw failure
  }
}
