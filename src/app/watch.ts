// Builds the streams of changes and of decisions.
import { join } from 'node:path'
import { GRAPHS_COMMIT_FILE } from '../kernel/folder/data-folder.ts'
import type { PolicyIndex } from '../policy/policy-index.ts'
import type { Settings } from '../settings.ts'
import { openSharedCounter } from '../store/process/shared-counter.ts'
import { DecisionStreams } from '../streams/decision-streams.ts'
import { WatchHub } from '../streams/watch-hub.ts'
import type { Platform } from './open-store.ts'

/** The usual interval of event streams, and shorter than the idle timeout of common proxies. */
const KEEP_ALIVE_MS = 15_000

/** Builds the change streams. */
export function createWatch(platform: Platform, policies: PolicyIndex): WatchHub {
  const {
    process: { settings, signal },
    reports: { onInternalError },
    configuration: { documents },
    graphs: { catalog, watchPlace },
  } = platform
  return new WatchHub({
    documents,
    policies,
    catalog,
    graphCommits: openSharedCounter(join(settings.dataDir, GRAPHS_COMMIT_FILE)),
    signal,
    place: watchPlace,
    limits: {
      streamsMax: settings.watchStreamsMax,
      projectStreamsMax: Math.ceil(settings.watchStreamsMax / 5),
      keepAliveMs: keepAliveOf(settings),
    },
    onInternalError: (error) => onInternalError({ error }),
  })
}

/** Builds the streams of decisions. */
export function createDecisionStreams({
  process: { settings },
  reports: { onInternalError },
}: Platform): DecisionStreams {
  return new DecisionStreams({
    path: settings.decisionLog === 'off' ? null : settings.decisionLog,
    percent: settings.decisionLogPercent,
    keepAliveMs: keepAliveOf(settings),
    onInternalError: (error) => onInternalError({ error }),
  })
}

function keepAliveOf({ idleTimeS }: Settings): number {
  return Math.min(KEEP_ALIVE_MS, (idleTimeS * 1000) / 3)
}
