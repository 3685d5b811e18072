// Runs the passes of all profiles: when they are due, when an operator asks for one, and again after a crash. One pass runs at a
// time. The state of a pass is in the document of its profile; a deleted profile leaves a document for the removal of its scores.

import type { ConfigWriter, DocumentDraft, StoredDocument } from '../config/kind.ts'
import { readGraph } from '../engine/read-graph.ts'
import type { GraphStore } from '../engine/store.ts'
import { mintGid } from '../kernel/ids.ts'
import { type Backoff, backoffMs } from '../kernel/time/backoff.ts'
import { type Clock, isWithin, timestamp } from '../kernel/time/clock.ts'
import { emptyReport } from './report.ts'
import { type RunRequest, type RunState, runOf } from './run-state.ts'
import { lastDueMs, periodMsOf } from './schedule.ts'
import { countNodes, removeScores, ScoringPass } from './scoring-pass.ts'
import { scoringOptionsOf, type TrustScoreSchedule, trustScoreProfilesKind } from './trust-score-profile.ts'

/** Kind name of the documents that deleted profiles leave: their scores are to be removed. */
export const trustScoreRemovalsKind = 'trust-score-removals'

/** How often the profiles are compared with the clock. A comparison takes microseconds. */
const POLL_MS = 1000
/** A pass that failed is repeated after this time. It doubles with each failure. */
const retryDelay: Backoff = { minMs: 10_000, maxMs: 3_600_000 }

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
export class TrustScoring {
  private readonly deps: TrustScoringDeps
  private timer: ReturnType<typeof setInterval> | null = null
  private working: Promise<void> | null = null
  private isStopping = false
  /** Failures in a row, and when to try again, by the id of the document. */
  private readonly failures = new Map<string, { readonly count: number; readonly againMs: number }>()

  private readonly dueTimes = new WeakMap<StoredDocument, number>()
  constructor(deps: TrustScoringDeps) {
    this.deps = deps
  }

  /** Runs passes from now on. */
  start(): void {
    this.timer = setInterval(() => this.poll(), POLL_MS)
    this.poll()
  }

  /** Ends the pass in progress after its batch; the next process continues it. */
  async close(): Promise<void> {
    this.isStopping = true
    if (this.timer !== null) clearInterval(this.timer)
    await this.working
  }

  private poll(): void {
    if (this.deps.isLeading?.() === false) return
    this.working ??= this.runDue()
      .catch((failure: unknown) => this.deps.report(`trust scoring failed: ${String(failure)}`))
      .finally(() => {
        this.working = null
      })
  }

  /** Runs a pass of a profile now. Does nothing if there is no such profile. */
  async runNow(profileId: string, by: string): Promise<void> {
    const { documents, clock } = this.deps
    const requestedMs = clock.now()
    await requestRun(documents, profileId, { id: mintGid(requestedMs), time: timestamp(requestedMs), by })
    await this.runDue(profileId)
  }

  /** Runs all passes and removals that are due. `profileId`: only those of this profile. */
  async runDue(profileId: string | null = null): Promise<void> {
    for (;;) {
      // Other processes change profiles and ask for passes.
      this.deps.documents.catchUp()
      // The lease may have been lost since the last pass; a pass that was asked for here runs anyway.
      const isElsewhere = profileId === null && this.deps.isLeading?.() === false
      const due = this.isStopping || isElsewhere ? [] : this.dueDocuments()
      const next = due.find(({ id }) => profileId === null || id === profileId)
      if (next === undefined) return
      await this.attempt(next)
    }
  }

  private async attempt(document: StoredDocument): Promise<void> {
    const { id } = document
    try {
      if (document.kind === trustScoreRemovalsKind) await this.remove(document)
      else await this.pass(document)
      this.failures.delete(id)
    } catch (failure) {
      const count = (this.failures.get(id)?.count ?? 0) + 1
      const delayMs = backoffMs(retryDelay, count)
      this.failures.set(id, { count, againMs: performance.now() + delayMs })
      const message = failure instanceof Error ? failure.message : String(failure)
      this.deps.report(
        `the pass of ${document.kind}/${id} failed and is repeated after ${delayMs / 1000} s: ${message}`,
      )
      if (document.kind === trustScoreProfilesKind) await this.saveError(id, message)
    }
  }

  private dueDocuments(): StoredDocument[] {
    const { documents } = this.deps
    const nowMs = performance.now()
    const isWaiting = ({ id }: StoredDocument): boolean => (this.failures.get(id)?.againMs ?? 0) > nowMs
    const profiles = documents.all(trustScoreProfilesKind).filter((profile) => this.isDue(profile))
    return [...documents.all(trustScoreRemovalsKind), ...profiles].filter((document) => !isWaiting(document))
  }

  private isDue(profile: StoredDocument): boolean {
    const { fields, project_id, create_time } = profile
    if (fields.run !== undefined || fields.requested_run !== undefined) return !this.isShadowed(profile)
    const schedule = fields.schedule as TrustScoreSchedule
    const dueMs = this.lastDueMs(profile, schedule)
    const last = (fields.last_run_start_time as string | undefined) ?? create_time
    return Date.parse(last) < dueMs && project_id !== '' && !this.isShadowed(profile)
  }

  /** Computed once in each period: croner takes a millisecond. */
  private lastDueMs(profile: StoredDocument, schedule: TrustScoreSchedule): number {
    const nowMs = this.deps.clock.now()
    const known = this.dueTimes.get(profile)
    if (known !== undefined && isWithin(nowMs, known, periodMsOf(schedule))) return known
    const dueMs = lastDueMs(schedule, profile.id, nowMs)
    this.dueTimes.set(profile, dueMs)
    return dueMs
  }

  /** Earlier versions accepted several profiles of a type; the first one scores its nodes. */
  private isShadowed({ id, project_id, fields }: StoredDocument): boolean {
    const [first] = this.deps.documents
      .inScope(trustScoreProfilesKind, project_id)
      .filter((profile) => profile.fields.node_classification === fields.node_classification)
    return first?.id !== id
  }

  private async pass(profile: StoredDocument): Promise<void> {
    const { id, project_id } = profile
    const graphs = await this.deps.graphsOf(project_id)
    // Its schedule brings the next attempt once the project is provisioned.
    if (graphs === null) throw new Error(`the project ${project_id} is not provisioned`)
    const nodeType = profile.fields.node_classification as string
    const begun = await this.begin(id, await readGraph(graphs, (snapshots) => countNodes(snapshots, nodeType)))
    if (begun === null) return
    const { revision, runId } = begun.run
    const pass = new ScoringPass(
      {
        graphs,
        nodeType,
        options: scoringOptionsOf(begun.profile),
        clock: this.deps.clock,
        save: (state) => this.save(id, revision, state),
      },
      begun.run,
    )
    const ended = await pass.run()
    if (ended !== null) await this.end(id, runId, ended)
  }

  /** Continues the pass in progress, or begins one. Null: the profile was deleted. */
  private begin(
    id: string,
    nodesTotal: number,
  ): Promise<{ readonly profile: StoredDocument; readonly run: RunState } | null> {
    const { documents, clock, events } = this.deps
    return documents.write((draft) => {
      const profile = draft.get(trustScoreProfilesKind, id)
      if (profile === null) return null
      const { revision, fields } = profile
      const current = runOf(fields)
      if (current !== null && current.revision === revision) return { profile, run: current }
      const { requested_run, ...others } = fields
      const request = (requested_run ?? current?.request ?? null) as RunRequest | null
      const startedMs = clock.now()
      const run: RunState = {
        runId: current?.runId ?? mintGid(startedMs),
        startedMs,
        revision,
        request,
        phase: 'count',
        scoringMs: startedMs,
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
      }
      draft.put({ ...profile, fields: { ...others, last_error: '', run } })
      if (current === null) events.started(draft, profile, run.runId, request)
      return { profile, run }
    })
  }

  /** Resolves with false if the pass must end. */
  private async save(id: string, revision: number, run: RunState): Promise<boolean> {
    const isCurrent = await this.deps.documents.write((draft) => {
      const profile = draft.get(trustScoreProfilesKind, id)
      if (profile === null || runOf(profile.fields)?.runId !== run.runId) return false
      draft.put({ ...profile, fields: { ...profile.fields, run } })
      return profile.revision === revision
    })
    return isCurrent && !this.isStopping
  }

  private async end(id: string, runId: string, state: RunState): Promise<void> {
    const { documents, clock, events } = this.deps
    await documents.write((draft) => {
      const profile = draft.get(trustScoreProfilesKind, id)
      if (profile === null || runOf(profile.fields)?.runId !== runId) return
      const endMs = clock.now()
      const { run: _run, ...fields } = profile.fields
      const { startedMs, scoringMs, nodesScored, scoresWritten, scoresRemoved, report } = state
      const result: PassResult = { runId, nodesScored, scoresWritten, scoresRemoved }
      const times = scoringOptionsOf(profile).dimensions.map(({ name }) => [
        name,
        {
          // Completeness begins with counting the properties.
          execution_start_time: timestamp(name === 'COMPLETENESS' ? startedMs : scoringMs),
          execution_end_time: timestamp(endMs),
        },
      ])
      draft.put({
        ...profile,
        fields: {
          ...fields,
          last_run_id: runId,
          last_run_start_time: timestamp(startedMs),
          last_run_end_time: timestamp(endMs),
          dimensions_execution_times: Object.fromEntries(times),
          last_error: '',
          last_result: result,
          report,
        },
      })
      events.ended(draft, profile, result, null)
    })
  }

  private async saveError(id: string, message: string): Promise<void> {
    const { documents, events } = this.deps
    await documents.write((draft) => {
      const profile = draft.get(trustScoreProfilesKind, id)
      if (profile === null || profile.fields.last_error === message) return
      draft.put({ ...profile, fields: { ...profile.fields, last_error: message } })
      const run = runOf(profile.fields)
      if (run === null) return
      const { runId, nodesScored, scoresWritten, scoresRemoved } = run
      events.ended(draft, profile, { runId, nodesScored, scoresWritten, scoresRemoved }, message)
    })
  }

  private async remove({ id, project_id, fields }: StoredDocument): Promise<void> {
    const { documents, graphsOf } = this.deps
    const nodeType = fields.node_classification as string
    const isStillUnwanted = (): boolean => !hasProfile(documents.inScope(trustScoreProfilesKind, project_id), nodeType)
    if (isStillUnwanted()) {
      const graphs = await graphsOf(project_id)
      const isDone = await removeScores(graphs ?? [], nodeType, () => this.isStopping || !isStillUnwanted())
      // A new profile of the type takes the scores over.
      if (!isDone && isStillUnwanted()) return
    }
    await documents.write((draft) => draft.remove(trustScoreRemovalsKind, id))
  }
}

function hasProfile(profiles: readonly StoredDocument[], nodeType: string): boolean {
  return profiles.some(({ fields }) => fields.node_classification === nodeType)
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
    draft.put({ ...profile, fields: { ...profile.fields, requested_run: request } })
    return request.id
  })
}
