// Executes pipelines: suggests their property mappings, runs them when a run was requested or is due, again after a crash, and removes
// the relationships of deleted pipelines. One pipeline at a time. All state is in the document of the pipeline.

import type { ConfigReader, ConfigWriter, DocumentDraft, DocumentFields, StoredDocument } from '../config/kind.ts'
import { readGraph } from '../engine/read-graph.ts'
import { assert } from '../kernel/assert.ts'
import { mintGid } from '../kernel/ids.ts'
import { type Backoff, backoffMs } from '../kernel/time/backoff.ts'
import { type Clock, isWithin, timestamp } from '../kernel/time/clock.ts'
import { matchDecisionsKind } from './decisions.ts'
import { entityMatchingPipelinesKind, typesOf } from './entity-matching-pipeline.ts'
import { labelledPairsKind, labelsOf, putLabels } from './labelled-pairs.ts'
import { suggestMappings } from './linkage/suggest-mappings.ts'
import type { SuggestedMapping } from './linkage/types.ts'
import { MatchingRun, type RunOutcome, removeMatches } from './matching-run.ts'
import { countNodes, type MatchedGraphs, sampleProperties } from './node-batches.ts'
import {
  type MatchingStatus,
  type RunEvent,
  requiredStatus,
  runTransitions,
  type SuggestionEvent,
  suggestionTransitions,
} from './pipeline-states.ts'
import { matchReportsKind, putReport } from './report.ts'
import { intervalMsOf, isRerunInterval, lastRunDueMs, type RerunInterval } from './rerun-interval.ts'
import {
  type MatchingPhase,
  type MatchingRunState,
  type RunMapping,
  type RunResult,
  requestOf,
  runOf,
  suggestionsOf,
} from './run-state.ts'

/** Kind name of the documents that deleted pipelines leave: their relationships are to be removed. */
export const matchRemovalsKind = 'entity-matching-removals'

/** A run that has begun more often has not ended because of its process, which it may exhaust. */
const ATTEMPTS_MAX = 5
/** Suggestions that failed, or found nothing to compare, are repeated after this time. It doubles with each attempt. */
const retryDelay: Backoff = { minMs: 10_000, maxMs: 3_600_000 }

/** Records the events of runs, in the transaction that stores the change of the pipeline. */
export interface MatchingEvents {
  /** A run begins. */
  started(draft: DocumentDraft, pipeline: StoredDocument, run: MatchingRunState): void
  /** A run has ended. `error`: null: it succeeded. */
  ended(draft: DocumentDraft, pipeline: StoredDocument, result: RunResult, error: string | null): void
}

/** Collaborators of the execution. */
interface EntityMatchingDeps {
  readonly documents: ConfigWriter
  /** The graphs of a project. Null: the project is not provisioned. Rejects if one cannot be opened. */
  graphsOf(projectId: string): Promise<MatchedGraphs | null>
  readonly events: MatchingEvents
  readonly clock: Clock
  readonly report: (message: string) => void
}

interface DueWork {
  readonly kind: 'remove' | 'suggest' | 'run'
  readonly document: StoredDocument
}

/** Executes the pipelines of all projects. */
export class EntityMatching {
  private readonly deps: EntityMatchingDeps
  private readonly schedule: MatchingSchedule
  private isStopping = false
  private working: Promise<void> = Promise.resolve()
  /** Documents whose work failed in this process; a later process tries again. */
  private readonly failed = new Set<string>()

  constructor(deps: EntityMatchingDeps) {
    this.deps = deps
    this.schedule = new MatchingSchedule(deps.documents, deps.clock)
  }

  /** Does all work that is due. `pipelineId`: only that of this pipeline. */
  runDue(pipelineId: string | null = null): Promise<void> {
    this.working = this.working.then(() => this.work(pipelineId))
    return this.working
  }

  /** Whether some work failed in a way that its document does not say. It is still due. */
  get hasFailed(): boolean {
    return this.failed.size > 0
  }

  /** Ends the work in progress; the next process begins it again. */
  async close(): Promise<void> {
    this.isStopping = true
    await this.working
  }

  private async work(pipelineId: string | null): Promise<void> {
    for (;;) {
      if (this.isStopping) return
      this.deps.documents.catchUp()
      const next = this.schedule
        .due()
        .find(({ document: { id } }) => !this.failed.has(id) && (pipelineId === null || id === pipelineId))
      if (next === undefined) return
      await this.attempt(next)
    }
  }

  private async attempt({ kind, document }: DueWork): Promise<void> {
    try {
      if (kind === 'remove') await this.remove(document)
      else if (kind === 'suggest') await this.suggest(document)
      else await this.run(document)
    } catch (failure) {
      const message = failure instanceof Error ? failure.message : String(failure)
      this.deps.report(`entity matching: ${kind} of ${document.kind}/${document.id} failed: ${message}`)
      try {
        const isStored =
          kind === 'suggest'
            ? await this.endSuggestion(document.id, 'failed', message, null)
            : kind === 'run' && (await this.fail(document.id, message))
        if (!isStored) this.failed.add(document.id)
      } catch {
        // The disk refuses writes. By its document the work is still due, and a later process does it.
        this.failed.add(document.id)
      }
    }
  }

  private async graphs(pipeline: StoredDocument): Promise<MatchedGraphs> {
    const graphs = await this.deps.graphsOf(pipeline.project_id)
    if (graphs === null) throw new Error(`the project ${pipeline.project_id} is not provisioned`)
    return graphs
  }

  // -- suggestions

  private async suggest(pipeline: StoredDocument): Promise<void> {
    const { id } = pipeline
    await this.change(id, (fields) => {
      const attempts = ((fields.suggestions_begun as SuggestionAttempts | undefined)?.attempts ?? 0) + 1
      return {
        ...withSuggestionStatus(fields, 'begun', ''),
        suggestions_begun: { atMs: this.deps.clock.now(), attempts },
      }
    })
    const graphs = await this.graphs(pipeline)
    const { source, target } = typesOf(pipeline)
    const missing = await readGraph(graphs.nodes, (snapshots) =>
      [source, target].find((type) => countNodes(snapshots, type) === 0),
    )
    if (missing !== undefined) {
      await this.endSuggestion(id, 'nothing to compare', `the project has no \`${missing}\` nodes`, null)
      return
    }
    const [ofSources, ofTargets] = await readGraph(graphs.nodes, (snapshots) => [
      sampleProperties(snapshots, source),
      sampleProperties(snapshots, target),
    ])
    const suggestions = suggestMappings(ofSources, ofTargets, { isSameType: source === target })
    if (suggestions.length === 0) {
      const message = `no property of \`${source}\` nodes resembles one of \`${target}\` nodes`
      await this.endSuggestion(id, 'nothing to compare', message, null)
    } else await this.endSuggestion(id, 'suggested', '', suggestions)
  }

  private async endSuggestion(
    id: string,
    event: SuggestionEvent,
    message: string,
    suggestions: readonly SuggestedMapping[] | null,
  ): Promise<boolean> {
    return this.change(id, (fields, pipeline) => {
      if (fields.property_mapping_status !== 'IN_PROGRESS') return null
      const { suggestions_begun, ...others } = fields
      const changed = withSuggestionStatus(event === 'suggested' ? others : fields, event, message)
      if (suggestions === null) return changed
      const used = fields.last_mappings ?? null
      return {
        ...changed,
        suggestions,
        ...(used === null && { property_mappings: shownMappings(pipeline, suggestions.map(runMapping)) }),
      }
    })
  }

  // -- runs

  private async run(pipeline: StoredDocument): Promise<void> {
    const { id } = pipeline
    const begun = await this.begin(id)
    if (begun === null) return
    const graphs = await this.graphs(pipeline)
    const { documents } = this.deps
    const outcome = await new MatchingRun({
      documents,
      graphs,
      pipeline: begun.pipeline,
      run: begun.run,
      labels: begun.run.request === null ? [] : labelsOf(documents, begun.pipeline),
      save: (phase, done) => this.save(id, begun.run.runId, phase, done),
    }).run()
    if (outcome.kind === 'abandoned') await this.abandon(id, begun.run.runId)
    else await this.end(id, begun.run.runId, outcome)
  }

  /** Begins a run, or begins the interrupted one again. Null: there is nothing to run. */
  private begin(id: string): Promise<{ readonly pipeline: StoredDocument; readonly run: MatchingRunState } | null> {
    const { documents, clock, events } = this.deps
    return documents.write((draft) => {
      const pipeline = draft.get(entityMatchingPipelinesKind, id)
      if (pipeline === null) return null
      const { requested_run, ...fields } = pipeline.fields
      const current = runOf(fields)
      if (current !== null) {
        const run: MatchingRunState = { ...current, phase: 'read', done: 0, attempts: current.attempts + 1 }
        if (run.attempts > ATTEMPTS_MAX) {
          this.store(draft, pipeline, ended(pipeline.fields, 'failed', ATTEMPTS_MESSAGE))
          events.ended(draft, pipeline, noResult(current.runId), ATTEMPTS_MESSAGE)
          return null
        }
        this.store(draft, pipeline, { ...withRunStatus(pipeline.fields, 'interrupted', ''), run })
        return { pipeline, run }
      }
      const request = requestOf(pipeline.fields)
      const startedMs = clock.now()
      const run: MatchingRunState = {
        runId: request?.runId ?? mintGid(startedMs),
        startedMs,
        request,
        cutoff: request?.cutoff ?? (fields.similarity_score_cutoff as number),
        mappings: mappingsOf(fields, request === null ? null : request.mappings, request !== null),
        phase: 'read',
        done: 0,
        attempts: 1,
      }
      const last_run_time = request === null ? timestamp(startedMs) : (fields.last_run_time as string)
      this.store(draft, pipeline, { ...withRunStatus(fields, 'begun', ''), run, last_run_time })
      events.started(draft, pipeline, run)
      return { pipeline, run }
    })
  }

  private async save(id: string, runId: string, phase: MatchingPhase, done: number): Promise<boolean> {
    const isCurrent = await this.change(id, (fields) => {
      const run = runOf(fields)
      return run?.runId === runId ? { ...fields, run: { ...run, phase, done } } : null
    })
    return isCurrent && !this.isStopping
  }

  /** A process that is stopped has not failed. */
  private async abandon(id: string, runId: string): Promise<void> {
    await this.change(id, (fields) => {
      const run = runOf(fields)
      return run?.runId === runId ? { ...fields, run: { ...run, attempts: run.attempts - 1 } } : null
    })
  }

  private async end(id: string, runId: string, outcome: Exclude<RunOutcome, { kind: 'abandoned' }>): Promise<void> {
    const { documents, clock, events } = this.deps
    await documents.write((draft) => {
      const pipeline = draft.get(entityMatchingPipelinesKind, id)
      const run = pipeline === null ? null : runOf(pipeline.fields)
      if (pipeline === null || run?.runId !== runId) return
      const nowMs = clock.now()
      putLabels(draft, pipeline, [], nowMs)
      if (outcome.kind === 'nothing to compare') {
        this.store(draft, pipeline, ended(pipeline.fields, outcome.kind, outcome.message))
        events.ended(draft, pipeline, noResult(runId), outcome.message)
        return
      }
      const { report } = outcome
      const result: RunResult = {
        runId,
        matchedPairs: report.matched_pairs,
        matchedEntities: report.matched_entities,
        relationshipsWritten: report.relationships_written,
        relationshipsRemoved: report.relationships_removed,
      }
      putReport(draft, pipeline, { ...report, run_end_time: timestamp(nowMs) }, nowMs)
      this.store(draft, pipeline, {
        ...ended(pipeline.fields, 'completed', ''),
        property_mappings: shownMappings(pipeline, run.mappings),
        matched_entities: report.matched_entities,
        last_result: result,
        ...(run.request !== null && { last_mappings: run.request.mappings }),
      })
      events.ended(draft, pipeline, result, null)
    })
  }

  private fail(id: string, message: string): Promise<boolean> {
    const { documents, events } = this.deps
    return documents.write((draft) => {
      const pipeline = draft.get(entityMatchingPipelinesKind, id)
      const run = pipeline === null ? null : runOf(pipeline.fields)
      if (pipeline === null || run === null) return false
      this.store(draft, pipeline, ended(pipeline.fields, 'failed', message))
      events.ended(draft, pipeline, noResult(run.runId), message)
      return true
    })
  }

  // -- deleted pipelines

  private async remove({ id, project_id, fields }: StoredDocument): Promise<void> {
    const { documents, graphsOf } = this.deps
    const graphs = await graphsOf(project_id)
    const { pipeline_id: pipelineId, types } = fields as { pipeline_id: string; types: ReturnType<typeof typesOf> }
    if (graphs !== null && !(await removeMatches(graphs, { pipelineId, types }, () => this.isStopping))) return
    await documents.write((draft) => draft.remove(matchRemovalsKind, id))
  }

  /** Changes the fields of a pipeline without a new revision. Resolves with false if it does not exist, or `change` returns null. */
  private change(
    id: string,
    change: (fields: DocumentFields, pipeline: StoredDocument) => DocumentFields | null,
  ): Promise<boolean> {
    return this.deps.documents.write((draft) => {
      const pipeline = draft.get(entityMatchingPipelinesKind, id)
      const fields = pipeline === null ? null : change(pipeline.fields, pipeline)
      if (pipeline === null || fields === null) return false
      this.store(draft, pipeline, fields)
      return true
    })
  }

  private store(draft: DocumentDraft, pipeline: StoredDocument, fields: DocumentFields): void {
    draft.put({ ...pipeline, fields })
  }
}

const ATTEMPTS_MESSAGE = `the process ended ${ATTEMPTS_MAX} times during the run; its memory may not suffice`

interface SuggestionAttempts {
  /** Milliseconds since the epoch. */
  readonly atMs: number
  readonly attempts: number
}

/** Finds the work that is due. A look takes microseconds. */
export class MatchingSchedule {
  private readonly documents: ConfigReader
  private readonly clock: Clock
  private readonly dueTimes = new WeakMap<StoredDocument, number>()

  constructor(documents: ConfigReader, clock: Clock) {
    this.documents = documents
    this.clock = clock
  }

  /** The work that is due now: removals first, then suggestions, then runs. */
  due(): readonly DueWork[] {
    const pipelines = this.documents.all(entityMatchingPipelinesKind).filter(({ project_id }) => project_id !== '')
    return [
      ...this.documents.all(matchRemovalsKind).map((document) => ({ kind: 'remove', document }) as const),
      ...pipelines
        .filter((one) => this.isSuggestionDue(one))
        .map((document) => ({ kind: 'suggest', document }) as const),
      ...pipelines.filter((one) => this.isRunDue(one)).map((document) => ({ kind: 'run', document }) as const),
    ]
  }

  private isSuggestionDue({ fields }: StoredDocument): boolean {
    const status = suggestionStatusOf(fields)
    if (status === 'SUCCESS') return false
    if (status === 'PENDING' || status === 'IN_PROGRESS') return true
    const begun = fields.suggestions_begun as SuggestionAttempts | undefined
    if (begun === undefined) return true
    return this.clock.now() >= begun.atMs + backoffMs(retryDelay, begun.attempts)
  }

  private isRunDue(pipeline: StoredDocument): boolean {
    const { fields, create_time } = pipeline
    if (shadowing(this.documents, pipeline) !== null) return false
    if (runOf(fields) !== null || requestOf(fields) !== null) return true
    const { rerun_interval: interval } = fields
    if (!isRerunInterval(interval)) return false
    if (suggestionStatusOf(fields) !== 'SUCCESS' && (fields.last_mappings ?? null) === null) return false
    const last = textOf(fields.last_run_time) || create_time
    return Date.parse(last) < this.lastDueMs(pipeline, interval)
  }

  /** Computed once in each interval: croner takes a millisecond. */
  private lastDueMs(pipeline: StoredDocument, interval: RerunInterval): number {
    const nowMs = this.clock.now()
    const known = this.dueTimes.get(pipeline)
    if (known !== undefined && isWithin(nowMs, known, intervalMsOf(interval))) return known
    const dueMs = lastRunDueMs(interval, pipeline.id, nowMs)
    this.dueTimes.set(pipeline, dueMs)
    return dueMs
  }
}

/**
 * The pipeline that matches the types of this one, because it is older; null: this one does. Two would overwrite each other's
 * relationships.
 */
export function shadowing(reader: ConfigReader, pipeline: StoredDocument): StoredDocument | null {
  const { source, target } = typesOf(pipeline)
  const [first] = reader.inScope(entityMatchingPipelinesKind, pipeline.project_id).filter((one) => {
    const types = typesOf(one)
    return types.source === source && types.target === target
  })
  return first === undefined || first.id === pipeline.id ? null : first
}

/** The state of the suggestions of a pipeline. Documents of earlier versions have none. */
export function suggestionStatusOf({ property_mapping_status }: DocumentFields): MatchingStatus {
  return (property_mapping_status ?? 'PENDING') as MatchingStatus
}

/** The state of the runs of a pipeline. */
export function runStatusOf({ entity_matching_status }: DocumentFields): MatchingStatus {
  return (entity_matching_status ?? 'PENDING') as MatchingStatus
}

/** The fields after an event of suggestions. */
export function withSuggestionStatus(fields: DocumentFields, event: SuggestionEvent, message: string): DocumentFields {
  const property_mapping_status = requiredStatus(suggestionTransitions, suggestionStatusOf(fields), event)
  return { ...fields, property_mapping_status, property_mapping_message: message }
}

/** The fields after an event of runs. */
export function withRunStatus(fields: DocumentFields, event: RunEvent, message: string): DocumentFields {
  const entity_matching_status = requiredStatus(runTransitions, runStatusOf(fields), event)
  return { ...fields, entity_matching_status, entity_matching_message: message }
}

function ended(fields: DocumentFields, event: RunEvent, message: string): DocumentFields {
  const { run: _run, ...others } = fields
  return withRunStatus(others, event, message)
}

function noResult(runId: string): RunResult {
  return { runId, matchedPairs: 0, matchedEntities: 0, relationshipsWritten: 0, relationshipsRemoved: 0 }
}

/** The mappings of a run: those given with the request; a scheduled run repeats those of the last request. */
function mappingsOf(
  fields: DocumentFields,
  given: readonly RunMapping[] | null,
  isRequested: boolean,
): readonly RunMapping[] {
  const custom = given ?? (isRequested ? null : ((fields.last_mappings ?? null) as readonly RunMapping[] | null))
  if (custom !== null) return custom
  const suggestions = suggestionsOf(fields)
  assert(suggestions.length > 0, 'a run without suggestions has mappings of its own')
  return suggestions.map(runMapping)
}

function runMapping({ sourceProperty, targetProperty, kind, cutoff = 0 }: SuggestedMapping): RunMapping {
  return { sourceProperty, targetProperty, kind, cutoff }
}

function shownMappings(pipeline: StoredDocument, mappings: readonly RunMapping[]): readonly DocumentFields[] {
  const { source, target } = typesOf(pipeline)
  return mappings.map(({ sourceProperty, targetProperty, cutoff }) => ({
    source_node_type: source,
    source_node_property: sourceProperty,
    target_node_type: target,
    target_node_property: targetProperty,
    similarity_score_cutoff: cutoff,
  }))
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/**
 * Stores that the relationships of a deleted pipeline are to be removed, and removes its decisions and report. Idempotent. Only the
 * latter if the pipeline keeps its relationships, or if its project was deleted too.
 */
export async function requestRemoval(documents: ConfigWriter, pipeline: StoredDocument): Promise<void> {
  const { id, parent_id, fields } = pipeline
  const removal: StoredDocument = {
    ...pipeline,
    kind: matchRemovalsKind,
    name: '',
    fields: { pipeline_id: id, types: typesOf(pipeline) },
  }
  await documents.write((draft) => {
    for (const kind of [matchDecisionsKind, matchReportsKind, labelledPairsKind])
      for (const child of draft.children(kind, id)) draft.remove(kind, child.id)
    if (fields.keep_matches !== true && draft.get('projects', parent_id) !== null) draft.put(removal)
  })
}
