// The passes of all profiles as durable runs, and the removals of the scores of deleted profiles, which leave a document for it.

import type { ConfigWriter, DocumentDraft, StoredDocument } from '../config/kind.ts'
import { readGraph } from '../engine/read-graph.ts'
import type { GraphStore } from '../engine/store.ts'
import { mintGid } from '../kernel/ids.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import { documentRuns, removalRuns, withoutWaiting } from '../runs/document-runs.ts'
import { DurableRuns, failureMessage } from '../runs/durable-runs.ts'
import { emptyReport } from './report.ts'
import type { RunRequest, RunState } from './run-state.ts'
import { lastDueMs, periodMsOf } from './schedule.ts'
import { countNodes, removeScores, ScoringPass } from './scoring-pass.ts'
import { scoringOptionsOf, type TrustScoreSchedule, trustScoreProfilesKind } from './trust-score-profile.ts'

/** Kind name of the documents that deleted profiles leave: their scores are to be removed. */
export const trustScoreRemovalsKind = 'trust-score-removals'

/** The result of a pass, as its event contains it. */
export interface PassResult {
  readonly runId: string
  readonly nodesScored: number
  readonly scoresWritten: number
  readonly scoresRemoved: number
}

/** Records the events of passes, in the transaction that stores the change of the profile. */
export interface TrustEvents {
  /** A pass begins. */
  started(draft: DocumentDraft, profile: StoredDocument, runId: string, request: RunRequest | null): void
  /** A pass has ended. `error`: null: it succeeded. */
  ended(draft: DocumentDraft, profile: StoredDocument, result: PassResult, error: string | null): void
}

/** Collaborators of the scoring. */
interface TrustScoringDeps {
  readonly documents: ConfigWriter
  /**
   * The graphs with the nodes of a project, in an order that stays the same. Null: the project is not provisioned. Rejects if one
   * cannot be opened.
   */
  graphsOf(projectId: string): Promise<readonly GraphStore[] | null>
  readonly events: TrustEvents
  readonly clock: Clock
  readonly report: (message: string) => void
  /** False: another instance runs the passes. Absent: there is no other. */
  readonly isLeading?: () => boolean
}

/** Scores the nodes of all projects. */
export class TrustScoring extends DurableRuns {
  private readonly scoring: TrustScoringDeps

  constructor(deps: TrustScoringDeps) {
    const { documents, clock, report, isLeading } = deps
    super({
      kinds: [removalsOf(deps), passesOf(deps)],
      clock,
      catchUp: () => documents.catchUp(),
      onFailure: (run) => report(failureMessage(run)),
      onLookFailure: (failure) => report(`trust scoring failed: ${String(failure)}`),
      ...(isLeading !== undefined && { isLeading }),
    })
    this.scoring = deps
  }

  /** Runs a pass of a profile now. Does nothing if there is no such profile. */
  async runNow(profileId: string, by: string): Promise<void> {
    const { documents, clock } = this.scoring
    const requestedMs = clock.now()
    await requestRun(documents, profileId, { id: mintGid(requestedMs), time: timestamp(requestedMs), by })
    await this.runDue(profileId)
  }
}

interface OpenedGraphs {
  readonly graphs: readonly GraphStore[]
  readonly nodesTotal: number
}

function passesOf({ documents, graphsOf, events, clock }: TrustScoringDeps) {
  return documentRuns<RunRequest, RunState, OpenedGraphs, RunState>({
    name: 'pass',
    kind: trustScoreProfilesKind,
    documents,
    clock,
    dataOf: nodeTypeOf,
    scheduleOf({ id, fields, create_time }) {
      const schedule = fields.schedule as TrustScoreSchedule
      return {
        periodMs: periodMsOf(schedule),
        doneMs: Date.parse((fields.last_run_start_time as string | undefined) ?? create_time),
        lastDueMs: (nowMs) => lastDueMs(schedule, id, nowMs),
      }
    },
    async prepare(profile) {
      const graphs = await graphsOf(profile.project_id)
      if (graphs === null) throw new Error(`the project ${profile.project_id} is not provisioned`)
      return { graphs, nodesTotal: await readGraph(graphs, (snapshots) => countNodes(snapshots, nodeTypeOf(profile))) }
    },
    begin: ({ revision }, run, { nodesTotal }) =>
      'phase' in run
        ? run
        : {
            ...run,
            revision,
            phase: 'count',
            scoringMs: run.startedMs,
            graph: 0,
            from: 0,
            nodesCounted: 0,
            propertyCounts: {},
            usual: [],
            nodesTotal,
            nodesScored: 0,
            scoresWritten: 0,
            scoresRemoved: 0,
            report: emptyReport,
          },
    begun: (fields, _, isNew) => (isNew ? { ...fields, last_error: '' } : fields),
    isOutdated: ({ revision }, run) => revision !== run.revision,
    work: (profile, run, { graphs }, save) =>
      new ScoringPass(
        { graphs, nodeType: nodeTypeOf(profile), options: scoringOptionsOf(profile), clock, save },
        run,
      ).run(),
    ended(draft, profile, _, state) {
      const endMs = clock.now()
      const { runId, startedMs, scoringMs, report } = state
      const result = resultOf(state)
      const times = scoringOptionsOf(profile).dimensions.map(({ name }) => [
        name,
        {
          // Completeness begins with counting the properties.
          execution_start_time: timestamp(name === 'COMPLETENESS' ? startedMs : scoringMs),
          execution_end_time: timestamp(endMs),
        },
      ])
      events.ended(draft, profile, result, null)
      return {
        ...profile.fields,
        last_run_id: runId,
        last_run_start_time: timestamp(startedMs),
        last_run_end_time: timestamp(endMs),
        dimensions_execution_times: Object.fromEntries(times),
        last_error: '',
        last_result: result,
        report,
      }
    },
    failed: (fields, last_error) => ({ ...fields, last_error }),
    events: {
      started: (draft, profile, { runId, request }) => events.started(draft, profile, runId, request),
      failed: (draft, profile, run, error) => events.ended(draft, profile, resultOf(run), error),
    },
  })
}

function removalsOf({ documents, graphsOf }: TrustScoringDeps) {
  return removalRuns({
    kind: trustScoreRemovalsKind,
    documents,
    async remove(removal, isStopping) {
      const nodeType = nodeTypeOf(removal)
      const { project_id } = removal
      // A new profile of the type takes the scores over.
      const isTaken = (): boolean =>
        documents.inScope(trustScoreProfilesKind, project_id).some((profile) => nodeTypeOf(profile) === nodeType)
      if (isTaken()) return true
      const graphs = await graphsOf(project_id)
      return (await removeScores(graphs ?? [], nodeType, () => isStopping() || isTaken())) || isTaken()
    },
  })
}

function nodeTypeOf({ fields }: StoredDocument): string {
  return fields.node_classification as string
}

function resultOf({ runId, nodesScored, scoresWritten, scoresRemoved }: RunState): PassResult {
  return { runId, nodesScored, scoresWritten, scoresRemoved }
}

/**
 * Stores that the scores of a deleted profile are to be removed. Idempotent. Does nothing if the profile keeps them, or if its
 * project was deleted too.
 */
export async function requestRemoval(documents: ConfigWriter, profile: StoredDocument): Promise<void> {
  const { fields, parent_id } = profile
  if (fields.keep_scores === true) return
  const { node_classification } = fields
  const document: StoredDocument = {
    ...profile,
    kind: trustScoreRemovalsKind,
    name: '',
    fields: { node_classification },
  }
  await documents.write((draft) => {
    if (draft.get('projects', parent_id) !== null) draft.put(document)
  })
}

/**
 * Asks for a pass of a profile. Returns the id of the request: that of an earlier one if its pass has not begun yet. Null: there is
 * no such profile.
 */
export function requestRun(documents: ConfigWriter, id: string, request: RunRequest): Promise<string | null> {
  return documents.write((draft) => {
    const profile = draft.get(trustScoreProfilesKind, id)
    if (profile === null) return null
    const pending = profile.fields.requested_run as RunRequest | undefined
    if (pending !== undefined) return pending.id
    draft.put({ ...profile, fields: { ...withoutWaiting(profile.fields), requested_run: request } })
    return request.id
  })
}
