// What context queries are answered with, the values of other services included.

import type { Sealer } from '../config/kind.ts'
import type { ConfigRepository } from '../config/repository.ts'
import { openSecret } from '../config/secrets.ts'
import type { ContextQueryDeps } from '../context-query/execute.ts'
import type { QueryIndex } from '../context-query/query-index.ts'
import type { Clock } from '../kernel/clock.ts'
import { InlineHistory } from '../kernel/inline-history.ts'
import { ExternalDataResolvers } from '../pip/resolution.ts'
import type { Settings } from '../settings.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { Upstream } from '../upstream/client.ts'

export interface ContextQueriesDeps {
  /** How long a query may take on the serving loop; null: there are no lanes. */
  readonly inlineMs: number | null
  readonly documents: ConfigRepository
  readonly sealer: Sealer
  readonly queries: QueryIndex
  graphsOf(projectId: string): ProjectGraphs | null
  readonly upstream: Upstream
  readonly clock: Clock
  readonly report: (line: string) => void
}

export function createContextQueries(settings: Settings, wiring: ContextQueriesDeps): ContextQueryDeps {
  const { documents, sealer, queries, graphsOf, upstream, clock, report } = wiring
  return {
    queries,
    graphsOf,
    limits: {
      stepsMax: settings.traversalStepsMax,
      timeMs: settings.executeTimeMs,
      rowsHeldMax: settings.rowsHeldMax,
      bytesHeldMax: settings.questionBytesMax,
      ...(wiring.inlineMs !== null && { inlineMs: wiring.inlineMs }),
    },
    batchReadTimeMs: settings.batchReadTimeMs,
    writesMax: settings.executeWritesMax,
    answerMax: settings.executeAnswerMax,
    inputStringMax: settings.inputStringMax,
    inlineHistory: new InlineHistory(),
    resolvers: new ExternalDataResolvers({
      documents,
      openSecret: (document, path) => openSecret(document, path, sealer),
      upstream,
      clock,
      report,
      limits: {
        timeMs: settings.upstreamTimeMs,
        maxBytes: settings.upstreamBytesMax,
        maxCalls: settings.resolverCallsMax,
        maxConcurrent: settings.resolverParallel,
        cacheTtlMs: settings.resolverCacheMs,
      },
    }),
  }
}
