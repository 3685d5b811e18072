// Builds the MCP endpoint from decisions, context queries and signed session ids.
import { join } from 'node:path'
import type { ContextQueryDeps } from '../context-query/execute.ts'
import { allQueries, endUserQueries, type QueryIndex, type QueryLookup } from '../context-query/query-index.ts'
import { identifyWhenReady } from '../http/identify-caller.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import { DerivedSigner } from '../identity/derived-signer.ts'
import type { UserTokenAuthenticator } from '../identity/user-tokens.ts'
import { ENDED_SESSIONS_FILE } from '../kernel/folder/data-folder.ts'
import { McpEndpoint } from '../mcp/endpoint.ts'
import { createOriginCheck } from '../mcp/origins.ts'
import { createServerInfo } from '../mcp/server-info.ts'
import { StoredEndedSessions } from '../mcp/session/ended-sessions.ts'
import { SessionIds } from '../mcp/session/session-ids.ts'
import type { DecisionDeps } from '../pdp/decision-deps.ts'
import type { ParameterMask } from '../pdp/parameter-mask.ts'
import { openSharedCounter } from '../store/process/shared-counter.ts'
import type { Platform } from './open-store.ts'

/** The usual interval of MCP servers, and shorter than the idle timeout of common proxies. */
const KEEP_ALIVE_MS = 15_000

/** The features that MCP offers as tools and resources, and what authenticates their callers. */
interface McpFeatures {
  readonly decisions: DecisionDeps
  readonly mask: ParameterMask
  readonly contexts: ContextQueryDeps
  readonly queries: QueryIndex
  readonly userTokens: UserTokenAuthenticator
  readonly rateLimiter: RateLimiter | null
}

/** Builds the MCP endpoint. */
export function createMcpEndpoint(platform: Platform, features: McpFeatures): McpEndpoint {
  const {
    process: { settings, clock, version },
    reports: { onInternalError },
    configuration: { documents, store, masterKey },
    graphs: { registry: graphs },
  } = platform
  const { decisions, mask, contexts, queries, userTokens, rateLimiter } = features
  const featuresOf = (lookup: QueryLookup) => ({ contexts: { ...contexts, queries: lookup }, queries: lookup })
  return new McpEndpoint({
    documents,
    decisions,
    mask,
    ...featuresOf(endUserQueries(queries)),
    applicationQueries: featuresOf(allQueries(queries)),
    pageMax: settings.mcpPageMax,
    serverInfo: createServerInfo(version),
    isOriginAllowed: createOriginCheck(settings.corsOrigins, settings.publicUrl),
    sessions: new SessionIds(
      new DerivedSigner(masterKey, 'mcp sessions'),
      clock,
      settings.mcpSessionTimeS * 1000,
      new StoredEndedSessions(store, openSharedCounter(join(settings.dataDir, ENDED_SESSIONS_FILE)), clock),
    ),
    authenticateUser: (projectId, token, delegation, introspectId, origin) =>
      identifyWhenReady(
        () => userTokens.authenticateUser(projectId, token, delegation, introspectId, origin),
        (user) => (user.ok ? graphs.ready(projectId) : null),
      ),
    rateLimiter,
    clock,
    subscriptionLimits: {
      streamsMax: settings.mcpStreamsMax,
      projectStreamsMax: Math.ceil(settings.mcpStreamsMax / 4),
      keepAliveMs: Math.min(KEEP_ALIVE_MS, (settings.idleTimeS * 1000) / 3),
    },
    onInternalError,
  })
}
