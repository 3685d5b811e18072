// What context queries are answered with, the values of other services included.
import type { ContextParts } from '../ciq/execute.ts'
import type { QueryLibrary } from '../ciq/library.ts'
import type { Sealer } from '../config/kind.ts'
import type { Repository } from '../config/repository.ts'
import { openSecret } from '../config/secrets.ts'
import type { ProjectGraphs } from '../engine/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { InlineHistory } from '../kernel/inline-history.ts'
import { Resolvers } from '../pip/resolve.ts'
import type { Settings } from '../settings.ts'
import type { Upstream } from '../upstream/client.ts'

export interface ContextWiring {
  /** How long a query may take on the serving loop; null: there are no lanes. */
  readonly inlineMs: number | null
  readonly documents: Repository
  readonly sealer: Sealer
  readonly queries: QueryLibrary
  graphsOf(projectId: string): ProjectGraphs | null
  readonly upstream: Upstream
  readonly clock: Clock
  readonly report: (line: string) => void
}

export function contextsFor(settings: Settings, wiring: ContextWiring): ContextParts {
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
    resolvers: new Resolvers({
      documents,
      openSecret: (document, path) => openSecret(document, path, sealer),
      upstream,
      clock,
      report,
      limits: {
        timeMs: settings.upstreamTimeMs,
        bytesMax: settings.upstreamBytesMax,
        callsMax: settings.resolverCallsMax,
        parallel: settings.resolverParallel,
        keptMs: settings.resolverCacheMs,
      },
    }),
  }
}
