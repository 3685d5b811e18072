// The MCP server of a project as it is configured at this moment: whose tokens it takes, and as which agent it asks.
import type { ConfigReader, StoredDocument } from '../config/kind.ts'
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

export class McpServers {
  private readonly documents: ConfigReader
  /** A document that changes is another object. */
  private readonly agents = new WeakMap<StoredDocument, AgentCaller>()

  constructor(documents: ConfigReader) {
    this.documents = documents
  }

  /** Null: there is none, or it is not enabled. */
  find(projectId: string): McpServer | null {
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
      agent: this.agentOf(this.documents.get('application-agents', app_agent_id as string), projectId),
    }
  }

  private agentOf(document: StoredDocument | null, projectId: string): AgentCaller | null {
    if (document === null || document.project_id !== projectId) return null
    const known = this.agents.get(document)
    if (known !== undefined) return known
    const agent: AgentCaller = {
      kind: 'agent',
      agentId: document.id,
      applicationId: document.parent_id,
      projectId,
      permissions: new Set(document.fields.api_permissions as readonly ApiPermission[]),
      user: null,
    }
    this.agents.set(document, agent)
    return agent
  }
}
