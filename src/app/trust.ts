// Builds trust scoring: the graphs of projects, and the events of passes. The background process runs it; a process without one
// runs passes on demand.
import { locationsOf } from '../config/db-connection.ts'
import { projectsKind } from '../config/kind.ts'
import type { GraphStore } from '../engine/store.ts'
import { trustEventLog } from '../events/recorders/record-trust-runs.ts'
import { TrustScoring } from '../trust/trust-scoring.ts'
import type { EventRecording } from './events.ts'
import { leadership, type Platform } from './open-store.ts'

/** Creates the scoring of all projects. It does nothing until it is started. */
export function createTrustScoring(platform: Platform, { sinks }: EventRecording): TrustScoring {
  const {
    process: { clock },
    reports: { report },
    configuration: { documents },
  } = platform
  return new TrustScoring({
    documents,
    graphsOf: (projectId) => graphsOf(platform, projectId),
    events: trustEventLog(sinks, clock),
    clock,
    report,
    ...leadership(platform),
  })
}

/** The graphs with nodes: not the global one, which has proxies. The order of locations is that of their names. */
async function graphsOf(
  { configuration: { documents }, graphs: { registry: graphs } }: Platform,
  projectId: string,
): Promise<readonly GraphStore[] | null> {
  documents.catchUp()
  await graphs.ready(projectId)
  const all = graphs.graphsOf(projectId)
  const project = documents.get(projectsKind, projectId)
  if (all === null || project === null) return null
  const locations = [...locationsOf(project).keys()].sort()
  return [...new Set([all.default, ...locations.flatMap((location) => all.at(location) ?? [])])]
}
