// The state of a pass in progress. It is stored in the document of the profile, without a new revision, so that another process
// can continue the pass after a crash.
import type { DocumentFields } from '../config/kind.ts'
import type { StoredRun } from '../runs/document-runs.ts'
import type { ReportState } from './report.ts'

/** The phases of a pass, in this order. */
type RunPhase = 'count' | 'score' | 'sweep'

/** Who asked for a pass that the schedule does not cause. */
export interface RunRequest {
  readonly id: string
  /** RFC 3339. */
  readonly time: string
  /** The user of the operating system. */
  readonly by: string
}

/** A pass in progress. All times are milliseconds since the epoch. Scores are computed for the time of its start. */
export interface RunState extends StoredRun<RunRequest> {
  /** The revision of the profile. A pass for another revision starts over. */
  readonly revision: number
  readonly phase: RunPhase
  /** When the phase `score` began. */
  readonly scoringMs: number
  /** Index of the graph. All earlier ones are done in this phase. */
  readonly graph: number
  /** All nodes of the graph with a lower id are done in this phase. */
  readonly from: number
  /** Nodes of the type, counted in the phase `count`. */
  readonly nodesCounted: number
  /** Nodes that have a property, by its name. */
  readonly propertyCounts: Readonly<Record<string, number>>
  /** The properties that nodes of the type usually have. */
  readonly usual: readonly string[]
  readonly nodesTotal: number
  readonly nodesScored: number
  /** Scores that were created or changed. */
  readonly scoresWritten: number
  readonly scoresRemoved: number
  readonly report: ReportState
}

/** The pass in progress that the fields of a profile contain, or null. */
export function runOf({ run }: DocumentFields): RunState | null {
  return (run ?? null) as RunState | null
}

/** The progress of the pass in progress, as responses show it; null: no pass runs. */
export function progressOf(fields: DocumentFields): DocumentFields | null {
  const run = runOf(fields)
  if (run === null) return null
  const { runId, startedMs, phase, nodesScored, nodesTotal } = run
  return {
    run_id: runId,
    start_time: new Date(startedMs).toISOString(),
    phase,
    nodes_scored: nodesScored,
    nodes_total: nodesTotal,
  }
}
