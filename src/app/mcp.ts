// The MCP endpoint: decisions and context queries by another door, and the sessions that it signs.
import { join } from 'node:path'
import type { ContextParts } from '../ciq/execute.ts'
import { type QueryLibrary, queriesOfPersons } from '../ciq/library.ts'
import type { Repository } from '../config/repository.ts'
import type { AgentRate } from '../http/agent-rate.ts'
import { DerivedSigner } from '../identity/derived-signer.ts'
import type { UserTokens } from '../identity/user-tokens.ts'
import type { Clock } from '../kernel/clock.ts'
import { McpEndpoint } from '../mcp/endpoint.ts'
import { originsFor } from '../mcp/origins.ts'
import { StoredEndedSessions } from '../mcp/session/ended-sessions.ts'
import { SessionIds } from '../mcp/session/session-ids.ts'
import type { DecisionParts } from '../pdp/parts.ts'
import type { Settings } from '../settings.ts'
import type { Collections } from '../store/lmdb/collections.ts'
import { openSharedNumber } from '../store/shared-number.ts'
import { onceReady } from './callers.ts'
import { documentStore } from './configuration.ts'

/** Changes with every MCP session that is ended, for all processes to see. */
const ENDED = 'mcp.ended'

export interface McpWiring {
  readonly documents: Repository
  readonly collections: Collections
  readonly decisions: DecisionParts
  readonly contexts: ContextParts
  readonly queries: QueryLibrary
  readonly userTokens: UserTokens
  /** Opens the graph of a project; null where that was done. */
  ready(projectId: string): Promise<void> | null
  readonly rate: AgentRate | null
  readonly masterKey: Uint8Array
  readonly clock: Clock
  readonly version: string
  onFailure(failure: { readonly error: unknown }): void
}

/** As often as other servers of the protocol, and before whoever stands between takes the silence for an end. */
const KEEP_ALIVE_MS = 15_000

export function mcpFor(settings: Settings, wiring: McpWiring): McpEndpoint {
  const {
    documents,
    collections,
    decisions,
    contexts,
    queries,
    userTokens,
    ready,
    rate,
    masterKey,
    clock,
    version,
    onFailure,
  } = wiring
  const personal = queriesOfPersons(queries)
  return new McpEndpoint({
    documents,
    decisions,
    contexts: { ...contexts, queries: personal },
    queries: personal,
    pageMax: settings.mcpPageMax,
    version,
    origins: originsFor(settings.corsOrigins, settings.publicUrl),
    sessions: new SessionIds(
      new DerivedSigner(masterKey, 'mcp sessions'),
      clock,
      settings.mcpSessionTimeS * 1000,
      new StoredEndedSessions(documentStore(collections), openSharedNumber(join(settings.dataDir, ENDED)), clock),
    ),
    authenticateUser: (projectId, token, delegation, only) =>
      onceReady(
        () => userTokens.authenticateUser(projectId, token, delegation, only),
        (user) => (user.ok ? ready(projectId) : null),
      ),
    agentRate: rate,
    clock,
    listeners: {
      streamsMax: settings.mcpStreamsMax,
      projectStreamsMax: settings.mcpProjectStreamsMax,
      keepAliveMs: Math.min(KEEP_ALIVE_MS, (settings.idleTimeS * 1000) / 3),
    },
    onFailure,
  })
}
