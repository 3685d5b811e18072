// The resources of the endpoint: the ACTIVE knowledge queries of the project, as one collection and each by its name. They
// are hidden if the configured agent lacks the permission to run them.

import { hash } from 'node:crypto'
import { queriesKind } from '../config/kind.ts'
import type { CompiledQuery } from '../context-query/query-index.ts'
import { writeJson } from '../kernel/json/json.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { LaneRequiredError } from '../kernel/request/lane-required.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import { describeQuery } from './describe-query.ts'
import { invalidParams, type RpcError, type RpcObject, rpcCodes } from './json-rpc.ts'
import type { McpCaller, McpDeps, McpMethod } from './method.ts'
import { paginate } from './pagination.ts'
import type { McpServer } from './servers.ts'

/** The URI of the collection of all queries, and prefix of each query. */
const COLLECTION_URI = 'svc://knowledge-queries/'
const URI_TEMPLATE = `${COLLECTION_URI}{name}`
const MIME_TYPE = 'application/json'
/** The limit of the MCP specification. */
const COMPLETIONS_MAX = 100

const collection = {
  uri: COLLECTION_URI,
  name: 'knowledge-queries',
  title: 'All knowledge queries',
  description: 'Every knowledge query with its purpose, parameters and an example call: read this before ciq_execute.',
  mimeType: MIME_TYPE,
}

const templates = [
  {
    uriTemplate: URI_TEMPLATE,
    name: 'knowledge-query',
    title: 'One knowledge query',
    description: 'A knowledge query by its name or id, with its parameters and an example call.',
    mimeType: MIME_TYPE,
  },
]

type QueryDeps = Pick<McpDeps, 'queries'>

/** The queries that the agent of the server may run, by name. */
function visibleQueries({ queries }: QueryDeps, { agent, projectId }: McpServer): readonly CompiledQuery[] {
  if (agent === null || !agent.permissions.has('CIQ')) return []
  return [...queries.all(projectId)].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function queriesFor(deps: QueryDeps, { server }: McpCaller): readonly CompiledQuery[] {
  return visibleQueries(deps, server)
}

/**
 * URI of each visible resource → its version, made from the revisions of the query and of its policy. Comparing two of these
 * maps gives the resources that have changed.
 */
export function resourceVersions(
  deps: Pick<McpDeps, 'queries' | 'documents'>,
  server: McpServer,
): ReadonlyMap<string, string> {
  const versions = new Map<string, string>()
  for (const { id, name } of queryNames(deps, server)) {
    const query = deps.documents.get(queriesKind, id)
    const policy = deps.documents.get(policiesKind, String(query?.fields.policy_id))
    const version = `${id} ${query?.revision} ${policy?.id} ${policy?.revision}`
    for (const key of [id, name]) versions.set(`${COLLECTION_URI}${key}`, version)
  }
  // The collection changes when any query changes.
  versions.set(COLLECTION_URI, hash('sha256', [...versions.values()].join()))
  return versions
}

/**
 * Ids and names of the visible queries. Reads the documents if a query is too large to be compiled on the event loop,
 * because a stream cannot run in a lane.
 */
function queryNames(
  deps: Pick<McpDeps, 'queries' | 'documents'>,
  server: McpServer,
): readonly { readonly id: string; readonly name: string }[] {
  try {
    return visibleQueries(deps, server)
  } catch (error) {
    if (!(error instanceof LaneRequiredError)) throw error
    const { documents } = deps
    return documents.inScope(queriesKind, server.projectId).filter(({ fields }) => fields.status === 'ACTIVE')
  }
}

/** True for the collection and for any query, also one that does not exist yet. */
export function isResourceUri(uri: string): boolean {
  return uri.startsWith(COLLECTION_URI)
}

/** The method `resources/list`. */
export const listResources: McpMethod = (deps, caller, params) => {
  const all = [collection, ...queriesFor(deps, caller).map((query) => listEntry(deps, query))]
  const page = paginate('resources', all, ({ uri }) => uri, params, deps.pageMax)
  return page.ok ? ok({ resources: page.value.entries, ...page.value.next }) : page
}

function listEntry({ documents }: McpDeps, query: CompiledQuery) {
  const { name } = query
  const { title, description } = describeQuery(documents, query) as { title: string; description: string }
  return {
    uri: `${COLLECTION_URI}${name}`,
    name,
    title,
    mimeType: MIME_TYPE,
    ...(description !== '' && { description }),
  }
}

/** The method `resources/templates/list`. */
export const listTemplates: McpMethod = (deps, _caller, params) => {
  const page = paginate('templates', templates, ({ name }) => name, params, deps.pageMax)
  return page.ok ? ok({ resourceTemplates: page.value.entries, ...page.value.next }) : page
}

/** `notFound`: the error code of the protocol version for an unknown resource. */
export function readResource(notFound: number): McpMethod {
  return (deps, caller, { uri }) => {
    if (typeof uri !== 'string') return invalidParams('uri: expected string')
    const content = readContent(deps, caller, uri)
    if (content === null) return err({ code: notFound, message: 'Resource not found', data: { uri } })
    return ok({ contents: [{ uri, mimeType: MIME_TYPE, text: writeJson(content) }] })
  }
}

function readContent(deps: McpDeps, caller: McpCaller, uri: string): RpcObject | null {
  const queries = queriesFor(deps, caller)
  if (uri === COLLECTION_URI || `${uri}/` === COLLECTION_URI) {
    return { queries: queries.map((query) => describeQuery(deps.documents, query)) }
  }
  if (!uri.startsWith(COLLECTION_URI)) return null
  const key = uri.slice(COLLECTION_URI.length)
  const query = queries.find(({ id }) => id === key) ?? queries.find(({ name }) => name === key)
  return query === undefined ? null : describeQuery(deps.documents, query)
}

/** The method `completion/complete`: names of queries by prefix. */
export const complete: McpMethod = (deps, caller, params) => {
  const prefix = readCompletion(params)
  if (!prefix.ok) return prefix
  const names = queriesFor(deps, caller).map(({ name }) => name)
  const matching = names.filter((name) => name.startsWith(prefix.value))
  const values = matching.slice(0, COMPLETIONS_MAX)
  return ok({ completion: { values, total: matching.length, hasMore: matching.length > values.length } })
}

function readCompletion({ ref, argument }: RpcObject): Result<string, RpcError> {
  if (!isJsonObject(ref) || ref.type !== 'ref/resource' || ref.uri !== URI_TEMPLATE) {
    return invalidParams(`ref: expected {"type": "ref/resource", "uri": "${URI_TEMPLATE}"}`)
  }
  if (!isJsonObject(argument) || argument.name !== 'name' || typeof argument.value !== 'string') {
    return invalidParams('argument: expected {"name": "name", "value": …} with a string')
  }
  return ok(argument.value)
}

/** Error codes for an unknown resource, which differ between the protocol versions. */
export const notFoundCodes = { session: rpcCodes.resourceNotFound, stateless: rpcCodes.invalidParams } as const
