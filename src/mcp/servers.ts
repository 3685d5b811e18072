// The current MCP server configuration of each project: which tokens it accepts, and as which application agent it acts.
import { applicationAgentsKind, type ConfigSource, type StoredDocument } from '../config/kind.ts'
import { type TokenIntrospectFields, tokenIntrospectsKind } from '../identity/token-introspect.ts'
import { assert } from '../kernel/assert.ts'
import type { AgentCaller, ApiPermission } from '../kernel/request/caller.ts'
import { mcpServersKind } from './server-config.ts'

/** The configuration of an enabled server. */
export interface McpServer {
  readonly projectId: string
  readonly tokenIntrospectId: string
  /** The issuer of the accepted tokens, as a URL. */
  readonly issuer: string
  readonly scopes: readonly string[]
  /** Whether users may run queries whose subject is the application of the agent. */
  readonly hasApplicationQueries: boolean
  /** Null: the configured agent was deleted, so no tool can be called. */
  readonly agent: AgentCaller | null
}

/** Kinds that a server is built from: a change of one of them invalidates the cache entry of its project. */
const watchedKinds = new Set([mcpServersKind, tokenIntrospectsKind, applicationAgentsKind])

/** Reads and caches the servers of all projects. */
export class McpServers {
  private readonly documents: ConfigSource
  /** By project id. Projects without a server are not cached, because callers can invent project ids. */
  private readonly cache = new Map<string, McpServer>()

  constructor(documents: ConfigSource) {
    this.documents = documents
    documents.subscribe((changes) => {
      for (const { before, after } of changes) {
        const changed = after ?? before
        if (changed !== null && watchedKinds.has(changed.kind)) this.cache.delete(changed.project_id)
      }
    })
  }

  /** The server of a project; null if it has none, it is disabled, or its token introspection was deleted. */
  find(projectId: string): McpServer | null {
    const known = this.cache.get(projectId)
    if (known !== undefined) return known
    const read = this.read(projectId)
    if (read !== null) this.cache.set(projectId, read)
    return read
  }

  private read(projectId: string): McpServer | null {
    const [document] = this.documents.inScope(mcpServersKind, projectId)
    if (document === undefined || document.fields.enabled !== true) return null
    const { app_agent_id, token_introspect_id, scopes_supported, application_queries } = document.fields
    const introspect = this.documents.get(tokenIntrospectsKind, token_introspect_id as string)
    if (introspect === null) return null
    return {
      projectId,
      tokenIntrospectId: token_introspect_id as string,
      issuer: issuerUrl(introspect.fields as unknown as TokenIntrospectFields),
      scopes: scopes_supported as readonly string[],
      hasApplicationQueries: application_queries === true,
      agent: agentOf(this.documents.get(applicationAgentsKind, app_agent_id as string), projectId),
    }
  }
}

/** MCP requires an issuer. Opaque tokens do not name one, so it is the origin of the endpoint that validates them. */
function issuerUrl({ jwt_matcher, online_validation }: TokenIntrospectFields): string {
  if (jwt_matcher !== undefined) return jwt_matcher.issuer
  const endpoint = online_validation?.userinfo_endpoint
  assert(endpoint !== undefined, 'opaque tokens are validated at an endpoint')
  return new URL(endpoint).origin
}

function agentOf(document: StoredDocument | null, projectId: string): AgentCaller | null {
  if (document === null || document.project_id !== projectId) return null
  return {
    kind: 'agent',
    agentId: document.id,
    applicationId: document.parent_id,
    projectId,
    permissions: new Set(document.fields.api_permissions as readonly ApiPermission[]),
    user: null,
  }
}
