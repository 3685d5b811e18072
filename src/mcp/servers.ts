// The MCP server of a project as it is configured at this moment: whose tokens it takes, and as which agent it asks.
import type { ConfigSource, StoredDocument } from '../config/kind.ts'
import type { AgentCaller, ApiPermission } from '../identity/caller.ts'
import { mcpServersKind } from './server-config.ts'

export interface McpServer {
  readonly projectId: string
  readonly tokenIntrospectId: string
  /** Of the tokens that are taken; null for opaque tokens, and where the configuration is gone. */
  readonly issuer: string | null
  readonly scopes: readonly string[]
  /** Null: it is gone, and nobody asks in its place. */
  readonly agent: AgentCaller | null
}

/** What a server is made of: a change of any of these in its project makes it anew. */
const kinds = new Set([mcpServersKind, 'token-introspects', 'application-agents'])

export class McpServers {
  private readonly documents: ConfigSource
  /** By project; those without a server are not kept, since anybody can make up a project. */
  private readonly known = new Map<string, McpServer>()

  constructor(documents: ConfigSource) {
    this.documents = documents
    documents.subscribe((changes) => {
      for (const { before, after } of changes) {
        const changed = after ?? before
        if (changed !== null && kinds.has(changed.kind)) this.known.delete(changed.project_id)
      }
    })
  }

  /** Null: there is none, or it is not enabled. */
  find(projectId: string): McpServer | null {
    const known = this.known.get(projectId)
    if (known !== undefined) return known
    const read = this.read(projectId)
    if (read !== null) this.known.set(projectId, read)
    return read
  }

  private read(projectId: string): McpServer | null {
    const [document] = this.documents.inScope(mcpServersKind, projectId)
    if (document === undefined || document.fields.enabled !== true) return null
    const { app_agent_id, token_introspect_id, scopes_supported } = document.fields
    const introspect = this.documents.get('token-introspects', token_introspect_id as string)
    const matcher = introspect?.fields.jwt_matcher as { readonly issuer: string } | undefined
    return {
      projectId,
      tokenIntrospectId: token_introspect_id as string,
      issuer: matcher?.issuer ?? null,
      scopes: scopes_supported as readonly string[],
      agent: agentOf(this.documents.get('application-agents', app_agent_id as string), projectId),
    }
  }
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
