// Builds the context-query feature: query index, limits and external data resolvers.
import { applicationAgentsKind, projectsKind } from '../config/kind.ts'
import { openSecret } from '../config/secrets.ts'
import type { ContextQueryDeps, ExecutionListener } from '../context-query/execute.ts'
import type { QueryIndex } from '../context-query/query-index.ts'
import { InlineHistory } from '../kernel/request/inline-history.ts'
import type { PageTokenCounts } from '../kernel/request/page-token-counts.ts'
import { DeclaredTypes } from '../model/declared-types.ts'
import { modelOf, typesOf } from '../model/stored-model.ts'
import { ExternalDataResolvers } from '../pip/resolution.ts'
import { tracedUpstream } from '../upstream/traced-upstream.ts'
import type { Platform } from './open-store.ts'

/** Builds the dependencies of context queries. */
export function createContextQueries(
  {
    process: { settings, clock, upstream, inlineMs },
    reports: { report, tracing, connections },
    configuration: { documents, sealer },
    graphs: { registry: graphs },
  }: Platform,
  queries: QueryIndex,
  listener: ExecutionListener,
  onUnfit: (items: number) => void,
): ContextQueryDeps {
  return {
    queries,
    listener,
    graphsOf: (projectId) => graphs.graphsOf(projectId),
    comparisonOf(projectId) {
      const types = typesOf(modelOf(documents, projectId))
      return types === null ? null : { types: new DeclaredTypes(types), onUnfit }
    },
    limits: {
      stepsMax: settings.traversalStepsMax,
      timeMs: settings.executeTimeMs,
      rowsHeldMax: settings.rowsHeldMax,
      bytesHeldMax: settings.questionBytesMax,
      ...(inlineMs !== null && { inlineMs }),
    },
    batchReadTimeMs: settings.batchReadTimeMs,
    writesMax: settings.executeWritesMax,
    answerMax: settings.executeAnswerMax,
    inputStringMax: settings.inputStringMax,
    pageTokenCounts({ agentId, projectId }) {
      const agent = documents.get(applicationAgentsKind, agentId)
      const project = documents.get(projectsKind, projectId)
      const counts = agent?.fields.page_token_counts ?? project?.fields.page_token_counts ?? 'rows'
      return counts as PageTokenCounts
    },
    inlineHistory: new InlineHistory(),
    resolvers: new ExternalDataResolvers({
      documents,
      openSecret: (document, path) => openSecret(document, path, sealer),
      upstream: tracedUpstream(upstream, tracing, 'resolver'),
      clock,
      report,
      onCalled: (id, failure) => connections.record('resolver', id, failure),
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
