// The MCP endpoint: decisions and context queries by another door, and the sessions that it signs.
import { join } from 'node:path'
import type { ConfigRepository } from '../config/repository.ts'
import type { ContextQueryDeps } from '../context-query/execute.ts'
import { endUserQueries, type QueryIndex } from '../context-query/query-index.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import { DerivedSigner } from '../identity/derived-signer.ts'
import type { UserTokenAuthenticator } from '../identity/user-tokens.ts'
import type { Clock } from '../kernel/clock.ts'
import { ENDED_SESSIONS_FILE } from '../kernel/data-folder.ts'
import { McpEndpoint } from '../mcp/endpoint.ts'
import { createOriginCheck } from '../mcp/origins.ts'
import { StoredEndedSessions } from '../mcp/session/ended-sessions.ts'
import { SessionIds } from '../mcp/session/session-ids.ts'
import type { DecisionDeps } from '../pdp/decision-deps.ts'
import { identifyWhenReady } from '../runtime/identify-caller.ts'
import type { Settings } from '../settings.ts'
import type { Collections } from '../store/documents/collections.ts'
import { openSharedCounter } from '../store/process/shared-counter.ts'

export interface McpEndpointOptions {
  readonly documents: ConfigRepository
  readonly collections: Collections
  readonly decisions: DecisionDeps
  readonly contexts: ContextQueryDeps
  readonly queries: QueryIndex
  readonly userTokens: UserTokenAuthenticator
  /** Opens the graph of a project; null where that was done. */
  ready(projectId: string): Promise<void> | null
  readonly rate: RateLimiter | null
  readonly masterKey: Uint8Array
  readonly clock: Clock
  readonly version: string
  onFailure(failure: { readonly error: unknown }): void
}

/** As often as other servers of the protocol, and before whoever stands between takes the silence for an end. */
const KEEP_ALIVE_MS = 15_000

export function createMcpEndpoint(settings: Settings, wiring: McpEndpointOptions): McpEndpoint {
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
  const personal = endUserQueries(queries)
  return new McpEndpoint({
    documents,
    decisions,
    contexts: { ...contexts, queries: personal },
    queries: personal,
    pageMax: settings.mcpPageMax,
    version,
    isOriginAllowed: createOriginCheck(settings.corsOrigins, settings.publicUrl),
    sessions: new SessionIds(
      new DerivedSigner(masterKey, 'mcp sessions'),
      clock,
      settings.mcpSessionTimeS * 1000,
      new StoredEndedSessions(collections, openSharedCounter(join(settings.dataDir, ENDED_SESSIONS_FILE)), clock),
    ),
    authenticateUser: (projectId, token, delegation, only) =>
      identifyWhenReady(
        () => userTokens.authenticateUser(projectId, token, delegation, only),
        (user) => (user.ok ? ready(projectId) : null),
      ),
    rateLimiter: rate,
    clock,
    subscriptionLimits: {
      streamsMax: settings.mcpStreamsMax,
      projectStreamsMax: settings.mcpProjectStreamsMax,
      keepAliveMs: Math.min(KEEP_ALIVE_MS, (settings.idleTimeS * 1000) / 3),
    },
    onInternalError: onFailure,
  })
}
