// Builds all routes of the service.

import type { AuditReads } from '../audit/read/read-operations.ts'
import type { AuditSigningOperations } from '../audit/signing-operations.ts'
import type { CaptureDeps } from '../capture/apply-items.ts'
import type { ConfigService } from '../config/service.ts'
import type { ContextQueryDeps } from '../context-query/execute.ts'
import type { EventSinkOperations } from '../events/sink-operations.ts'
import { collectDataSchema } from '../graph-statistics/data-schema.ts'
import { rebuildDataSchema } from '../graph-statistics/rebuild-data-schema.ts'
import type { Auth, Route } from '../http/route.ts'
import { accessRoutes } from '../http/routes/access.ts'
import { auditRoutes } from '../http/routes/audit.ts'
import { auditSigningRoutes } from '../http/routes/audit-signings.ts'
import { captureRoutes } from '../http/routes/capture.ts'
import { configRoutes } from '../http/routes/config.ts'
import { contextRoutes } from '../http/routes/context-query.ts'
import { dataSchemaRoutes } from '../http/routes/data-schema.ts'
import { documentationRoutes } from '../http/routes/docs.ts'
import { entityMatchingRoutes } from '../http/routes/entity-matching.ts'
import { eventSinkRoutes } from '../http/routes/event-sinks.ts'
import { mcpRoutes } from '../http/routes/mcp.ts'
import { metadataRoutes } from '../http/routes/metadata.ts'
import { operationRoutes } from '../http/routes/operations.ts'
import { trustRoutes } from '../http/routes/trust.ts'
import { FixedTokens } from '../identity/fixed-tokens.ts'
import type { MatchingOperations } from '../matching/matching-operations.ts'
import type { McpEndpoint } from '../mcp/endpoint.ts'
import { METRICS_CONTENT_TYPE } from '../ops/metrics.ts'
import type { DecisionDeps } from '../pdp/decision-deps.ts'
import type { ParameterMask } from '../pdp/parameter-mask.ts'
import type { Access } from '../settings.ts'
import { readTrustReport } from '../trust/read-report.ts'
import type { Platform } from './platform.ts'

/** The features that routes call. */
export interface RouteFeatures {
  readonly decisions: DecisionDeps
  readonly mask: ParameterMask
  readonly capture: CaptureDeps
  readonly contexts: ContextQueryDeps
  readonly mcp: McpEndpoint
  readonly config: ConfigService
  readonly eventSinks: EventSinkOperations
  readonly auditSignings: AuditSigningOperations
  readonly auditReads: AuditReads
  readonly matching: MatchingOperations
  /** The reason why the process should not receive requests; null: it is ready. */
  notReadyReason(): string | null
}

/** Builds the routes, in the order of the API description. */
export function createRoutes(
  { settings, metrics, documents, graphs, version, worker }: Platform,
  features: RouteFeatures,
): readonly Route[] {
  const { publicUrl } = settings
  const metricsAuth = authForAccess(settings.metricsAccess, new FixedTokens(settings.metricsToken))
  const descriptionAuth = authForAccess(settings.descriptionAccess)
  const routes: readonly Route[] = [
    ...accessRoutes(features.decisions, features.mask),
    ...metadataRoutes(publicUrl),
    ...captureRoutes(features.capture, settings.captureItemsMax),
    ...contextRoutes(features.contexts),
    ...mcpRoutes(features.mcp, { publicUrl, secure: settings.tlsCertificate !== '' }),
    ...configRoutes(features.config),
    ...eventSinkRoutes(features.eventSinks),
    ...auditSigningRoutes(features.auditSignings),
    ...auditRoutes(features.auditReads),
    ...trustRoutes((caller, id) => readTrustReport(documents, caller, id)),
    ...entityMatchingRoutes(features.matching),
    ...dataSchemaRoutes(
      async ({ projectId }) => {
        const project = graphs.graphsOf(projectId)
        return project === null ? null : collectDataSchema(project.default)
      },
      (caller, body) => rebuildDataSchema(documents, caller, body),
    ),
    ...operationRoutes({
      worker,
      notReadyReason: () => features.notReadyReason(),
      metrics:
        metricsAuth === null
          ? null
          : { auth: metricsAuth, mediaType: METRICS_CONTENT_TYPE, text: () => metrics.text() },
    }),
    ...(descriptionAuth === null ? [] : documentationRoutes(descriptionAuth, version, () => routes)),
  ]
  return routes
}

/** The authentication for an `…_access` setting; null: the setting is `off`. */
function authForAccess(access: Access, fixedTokens?: FixedTokens): Auth | null {
  if (access === 'off') return null
  if (access === 'public') return { kind: 'public' }
  return { kind: 'service-account', ...(fixedTokens === undefined ? {} : { fixedTokens }) }
}
