// The runs of a pipeline as it stores them, in fields that no response contains: the run that was requested, the run in progress, and the
// result of the last one.
import type { DocumentFields } from '../config/kind.ts'
import type { RecordedTrace } from '../kernel/request/request-trace.ts'
import type { StoredRun } from '../runs/document-runs.ts'
import type { LinkageMapping, SuggestedMapping } from './linkage/types.ts'

/** Properties to compare. */
export type RunMapping = Required<Pick<LinkageMapping, 'sourceProperty' | 'targetProperty' | 'cutoff'>> &
  Pick<LinkageMapping, 'kind'>

/** A pair of external ids: of a source node and of a target node. */
export interface NodePair {
  readonly source: string
  readonly target: string
}

/** A pair of which a person knows whether it is the same entity. */
export interface LabelledPair extends NodePair {
  readonly isSame: boolean
}

/** A run that was asked for and has not begun. */
export interface RequestedRun {
  readonly runId: string
  /** RFC 3339. */
  readonly time: string
  /** The agent, the service account, or the user of the operating system. */
  readonly by: string
  /** The `X-Request-ID` of the request; absent in documents of earlier versions. */
  readonly requestId?: string
  /** The trace of the request; absent: it was not traced. */
  readonly trace?: RecordedTrace
  readonly cutoff: number
  /** Null: the suggested mappings. */
  readonly mappings: readonly RunMapping[] | null
}

/** The parts of a run, in this order. */
export type MatchingPhase = 'read' | 'link' | 'write'

/** A run in progress. A process that is killed leaves it, and the next one begins it again. */
export interface MatchingRunState extends StoredRun<RequestedRun> {
  readonly cutoff: number
  readonly mappings: readonly RunMapping[]
  readonly phase: MatchingPhase
  /** The share of the phase that is done, from 0 to 1. */
  readonly done: number
}

/** The counts of a run that has ended. */
export interface RunResult {
  readonly runId: string
  readonly matchedPairs: number
  readonly matchedEntities: number
  /** Relationships that were created or changed. */
  readonly relationshipsWritten: number
  readonly relationshipsRemoved: number
}

/** The run in progress that the fields of a pipeline contain, or null. */
export function runOf({ run }: DocumentFields): MatchingRunState | null {
  return (run ?? null) as MatchingRunState | null
}

/** The requested run, or null. */
export function requestOf({ requested_run }: DocumentFields): RequestedRun | null {
  return (requested_run ?? null) as RequestedRun | null
}

/** The suggested mappings; empty: there are no suggestions yet. */
export function suggestionsOf({ suggestions }: DocumentFields): readonly SuggestedMapping[] {
  return (suggestions ?? []) as readonly SuggestedMapping[]
}

/** The progress of the run in progress, as responses show it; null: no run is in progress. One that has failed waits to be repeated. */
export function progressOf(fields: DocumentFields): DocumentFields | null {
  const run = runOf(fields)
  if (run === null || fields.entity_matching_status !== 'IN_PROGRESS') return null
  const { runId, startedMs, phase, done } = run
  return { run_id: runId, start_time: new Date(startedMs).toISOString(), phase, done }
}
