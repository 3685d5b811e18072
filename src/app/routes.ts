// Builds all routes of the service.

import type { AuditReads } from '../audit/read/read-operations.ts'
import type { AuditSigningOperations } from '../audit/signing-operations.ts'
import type { CaptureDeps } from '../capture/apply-items.ts'
import type { ConfigService } from '../config/service.ts'
import type { ContextQueryDeps } from '../context-query/execute.ts'
import type { EventSinkOperations } from '../events/sink-operations.ts'
import type { GraphQueryDeps } from '../graph-query/query-operations.ts'
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
import { graphQueryRoutes } from '../http/routes/graph-query.ts'
import { mcpRoutes } from '../http/routes/mcp.ts'
import { metadataRoutes } from '../http/routes/metadata.ts'
import { operationRoutes } from '../http/routes/operations.ts'
import { type OperatorDeps, operatorRoutes } from '../http/routes/operator.ts'
import { scenarioRoutes } from '../http/routes/scenarios.ts'
import { trustRoutes } from '../http/routes/trust.ts'
import { watchRoutes } from '../http/routes/watch.ts'
import { FixedTokens, type TokenCheck } from '../identity/fixed-tokens.ts'
import { TokenFile } from '../identity/token-file.ts'
import type { MatchingOperations } from '../matching/matching-operations.ts'
import type { McpEndpoint } from '../mcp/endpoint.ts'
import type { DecisionDeps } from '../pdp/decision-deps.ts'
import type { DecisionLogReads } from '../pdp/decision-stream-schema.ts'
import type { ParameterMask } from '../pdp/parameter-mask.ts'
import type { WatchStreams } from '../pdp/watch-schema.ts'
import type { ScenarioRuns } from '../policy/scenario-run.ts'
import type { Access } from '../settings.ts'
import { readTrustReport } from '../trust/read-report.ts'
import type { Platform } from './open-store.ts'

/** The features that routes call. */
interface RouteFeatures {
  readonly decisions: DecisionDeps
  readonly mask: ParameterMask
  readonly watch: WatchStreams
  readonly decisionStreams: DecisionLogReads
  readonly capture: CaptureDeps
  readonly contexts: ContextQueryDeps
  readonly mcp: McpEndpoint
  readonly config: ConfigService
  readonly eventSinks: EventSinkOperations
  readonly auditSignings: AuditSigningOperations
  readonly auditReads: AuditReads
  readonly matching: MatchingOperations
  readonly graphQueries: GraphQueryDeps
  readonly operator: OperatorDeps
  readonly scenarios: ScenarioRuns
  /** Empty: the console is off. */
  readonly consoleRoutes: readonly Route[]
  /** The reason why the process should not receive requests; null: it is ready. */
  notReadyReason(): string | null
  /** See `OperationsDeps.degraded`. */
  degraded(): readonly string[]
}

/** Builds the routes, in the order of the API description. */
export function createRoutes(
  {
    process: { settings, version, worker },
    reports: { metrics, report },
    configuration: { documents },
    graphs: { registry: graphs },
  }: Platform,
  features: RouteFeatures,
): readonly Route[] {
  const { publicUrl } = settings
  const metricsTokens =
    settings.metricsTokenFile === ''
      ? new FixedTokens(settings.metricsToken)
      : new TokenFile(settings.metricsTokenFile, report)
  const metricsAuth = authForAccess(settings.metricsAccess, metricsTokens)
  const descriptionAuth = authForAccess(settings.descriptionAccess)
  const routes: readonly Route[] = [
    ...accessRoutes(features.decisions, features.mask),
    ...watchRoutes(features.watch, features.decisionStreams),
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
    ...graphQueryRoutes(features.graphQueries),
    ...scenarioRoutes(features.scenarios),
    ...operationRoutes({
      worker,
      notReadyReason: () => features.notReadyReason(),
      degraded: () => features.degraded(),
      metrics: metricsAuth === null ? null : { auth: metricsAuth, text: (format) => metrics.text(format) },
    }),
    ...operatorRoutes(features.operator),
    ...features.consoleRoutes,
    ...(descriptionAuth === null ? [] : documentationRoutes(descriptionAuth, version, () => routes)),
  ]
  return routes
}

/** The authentication for an `…_access` setting; null: the setting is `off`. */
function authForAccess(access: Access, fixedTokens?: TokenCheck): Auth | null {
  if (access === 'off') return null
  if (access === 'public') return { kind: 'public' }
  return { kind: 'service-account', ...(fixedTokens === undefined ? {} : { fixedTokens }) }
}
