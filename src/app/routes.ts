// Every route of the service, from the parts that answer them.

import type { CaptureDeps } from '../capture/apply-items.ts'
import type { ConfigService } from '../config/service.ts'
import type { ContextQueryDeps } from '../context-query/execute.ts'
import { collectDataSchema } from '../graph-statistics/data-schema.ts'
import type { Auth, Route } from '../http/route.ts'
import { accessRoutes } from '../http/routes/access.ts'
import { captureRoutes } from '../http/routes/capture.ts'
import { configRoutes } from '../http/routes/config.ts'
import { contextRoutes } from '../http/routes/context-query.ts'
import { dataSchemaRoutes } from '../http/routes/data-schema.ts'
import { documentationRoutes } from '../http/routes/docs.ts'
import { mcpRoutes } from '../http/routes/mcp.ts'
import { metadataRoutes } from '../http/routes/metadata.ts'
import { operationRoutes } from '../http/routes/operations.ts'
import type { McpEndpoint } from '../mcp/endpoint.ts'
import { METRICS_CONTENT_TYPE } from '../ops/metrics.ts'
import type { ServiceMetrics } from '../ops/service-metrics.ts'
import type { DecisionDeps } from '../pdp/decision-deps.ts'
import type { ParameterMask } from '../pdp/parameter-mask.ts'
import type { Access, Settings } from '../settings.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'

export interface RouteDeps {
  readonly decisions: DecisionDeps
  readonly mask: ParameterMask
  readonly capture: CaptureDeps
  readonly contexts: ContextQueryDeps
  readonly mcp: McpEndpoint
  readonly config: ConfigService
  readonly metrics: ServiceMetrics
  graphsOf(projectId: string): ProjectGraphs | null
  /** Null: the process should get requests. */
  notReadyReason(): string | null
  /** The number of this process among those that share the port; null where it has it alone. */
  readonly worker: number | null
  readonly version: string
}

export function createRoutes(settings: Settings, parts: RouteDeps): readonly Route[] {
  const { publicUrl } = settings
  const { metrics, version, worker } = parts
  const metricsAuth = authForAccess(settings.metricsAccess)
  const descriptionAuth = authForAccess(settings.descriptionAccess)
  const routes: readonly Route[] = [
    ...accessRoutes(parts.decisions, parts.mask),
    ...metadataRoutes(publicUrl),
    ...captureRoutes(parts.capture, settings.captureItemsMax),
    ...contextRoutes(parts.contexts),
    ...mcpRoutes(parts.mcp, { publicUrl, secure: settings.tlsCertificate !== '' }),
    ...configRoutes(parts.config),
    ...dataSchemaRoutes(async ({ projectId }) => {
      const graphs = parts.graphsOf(projectId)
      return graphs === null ? null : collectDataSchema(graphs.default)
    }),
    ...operationRoutes({
      worker,
      notReadyReason: () => parts.notReadyReason(),
      metrics:
        metricsAuth === null
          ? null
          : { auth: metricsAuth, mediaType: METRICS_CONTENT_TYPE, text: () => metrics.text() },
    }),
    ...(descriptionAuth === null ? [] : documentationRoutes(descriptionAuth, version, () => routes)),
  ]
  return routes
}

/** Null: the setting says that nobody may. */
function authForAccess(access: Access): Auth | null {
  if (access === 'off') return null
  return access === 'public' ? { kind: 'public' } : { kind: 'service-account' }
}
