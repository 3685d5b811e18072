// Every route of the service, from the parts that answer them.
import type { CaptureParts } from '../capture/batch.ts'
import type { ContextParts } from '../ciq/execute.ts'
import type { ConfigService } from '../config/service.ts'
import type { ProjectGraphs } from '../engine/store.ts'
import type { Auth, Route } from '../http/route.ts'
import { accessRoutes } from '../http/routes/access.ts'
import { captureRoutes } from '../http/routes/capture.ts'
import { configRoutes } from '../http/routes/config.ts'
import { contextRoutes } from '../http/routes/contx-iq.ts'
import { dataSchemaRoutes } from '../http/routes/data-schema.ts'
import { descriptionRoutes } from '../http/routes/description.ts'
import { mcpRoutes } from '../http/routes/mcp.ts'
import { metadataRoutes } from '../http/routes/metadata.ts'
import { operationRoutes } from '../http/routes/operations.ts'
import type { McpEndpoint } from '../mcp/endpoint.ts'
import { exposition } from '../ops/metrics.ts'
import type { ServiceMetrics } from '../ops/service-metrics.ts'
import type { Mask } from '../pdp/mask.ts'
import type { DecisionParts } from '../pdp/parts.ts'
import { dataSchemaOf } from '../schema/data-schema.ts'
import type { Access, Settings } from '../settings.ts'

export interface RouteParts {
  readonly decisions: DecisionParts
  readonly mask: Mask
  readonly capture: CaptureParts
  readonly contexts: ContextParts
  readonly mcp: McpEndpoint
  readonly config: ConfigService
  readonly metrics: ServiceMetrics
  graphsOf(projectId: string): ProjectGraphs | null
  /** Null: the process should get requests. */
  notReady(): string | null
  /** The number of this process among those that share the port; null where it has it alone. */
  readonly worker: number | null
  readonly version: string
}

export function routesOf(settings: Settings, parts: RouteParts): readonly Route[] {
  const { publicUrl } = settings
  const { metrics, version, worker } = parts
  const metricsAuth = authFor(settings.metricsAccess)
  const descriptionAuth = authFor(settings.descriptionAccess)
  const routes: readonly Route[] = [
    ...accessRoutes(parts.decisions, parts.mask),
    ...metadataRoutes(publicUrl),
    ...captureRoutes(parts.capture, settings.captureItemsMax),
    ...contextRoutes(parts.contexts),
    ...mcpRoutes(parts.mcp, { publicUrl, secure: settings.tlsCertificate !== '' }),
    ...configRoutes(parts.config),
    ...dataSchemaRoutes(async ({ projectId }) => {
      const graphs = parts.graphsOf(projectId)
      return graphs === null ? null : dataSchemaOf(graphs.default)
    }),
    ...operationRoutes({
      worker,
      notReady: () => parts.notReady(),
      metrics: metricsAuth === null ? null : { auth: metricsAuth, mediaType: exposition, text: () => metrics.text() },
    }),
    ...(descriptionAuth === null ? [] : descriptionRoutes(descriptionAuth, version, () => routes)),
  ]
  return routes
}

/** Null: the setting says that nobody may. */
function authFor(access: Access): Auth | null {
  if (access === 'off') return null
  return access === 'public' ? { kind: 'public' } : { kind: 'service-account' }
}
