// Builds entity matching: the graphs of projects, the events, and the operations. A process of its own executes pipelines; a process
// without one executes them on demand.
import { locationsOf } from '../config/db-connection.ts'
import { etagOf } from '../config/etag.ts'
import { projectsKind } from '../config/kind.ts'
import { decisionEventLog, matchingEventLog } from '../events/recorders/record-matching.ts'
import { EntityMatching } from '../matching/entity-matching.ts'
import { MatchingOperations } from '../matching/matching-operations.ts'
import type { MatchedGraphs } from '../matching/node-batches.ts'
import type { EventRecording } from './events.ts'
import type { Platform } from './open-store.ts'

/** Creates the execution of the pipelines of all projects. It does nothing until it is asked to. */
export function createEntityMatching(platform: Platform, { sinks }: EventRecording): EntityMatching {
  const {
    process: { clock },
    reports: { report },
    configuration: { documents },
  } = platform
  return new EntityMatching({
    documents,
    graphsOf: (projectId) => matchedGraphsOf(platform, projectId),
    events: matchingEventLog(sinks, clock),
    clock,
    report,
  })
}

/** Creates the operations on pipelines. */
export function createMatchingOperations(platform: Platform, { sinks }: EventRecording): MatchingOperations {
  const {
    process: { clock },
    configuration: { documents },
  } = platform
  return new MatchingOperations({
    documents,
    graphsOf: (projectId) => matchedGraphsOf(platform, projectId),
    events: decisionEventLog(sinks, clock),
    clock,
    etagOf,
  })
}

/** The order of locations is that of their names. */
async function matchedGraphsOf(
  { configuration: { documents }, graphs: { registry: graphs } }: Platform,
  projectId: string,
): Promise<MatchedGraphs | null> {
  documents.catchUp()
  await graphs.ready(projectId)
  const all = graphs.graphsOf(projectId)
  const project = documents.get(projectsKind, projectId)
  if (all === null || project === null) return null
  const locations = [...locationsOf(project).keys()].sort()
  return {
    nodes: [...new Set([all.default, ...locations.flatMap((location) => all.at(location) ?? [])])],
    global: all.global,
  }
}
