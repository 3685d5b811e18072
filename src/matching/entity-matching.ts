// Entity matching as durable runs: suggests the property mappings of pipelines, runs them, and removes the relationships of deleted ones. All
// state is in the document of the pipeline.

import type { ConfigReader, ConfigWriter, DocumentDraft, DocumentFields, StoredDocument } from '../config/kind.ts'
import { readGraph } from '../engine/read-graph.ts'
import { assert } from '../kernel/assert.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import { ATTEMPTS_MAX, documentRuns, removalRuns, shadowOf } from '../runs/document-runs.ts'
import { DurableRuns, failureMessage, failuresOf, type RunKind } from '../runs/durable-runs.ts'
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
import { intervalMsOf, isRerunInterval, lastRunDueMs } from './rerun-interval.ts'
import {
  type MatchingRunState,
  type RequestedRun,
  type RunMapping,
  type RunResult,
  suggestionsOf,
} from './run-state.ts'

/** Kind name of the documents that deleted pipelines leave: their relationships are to be removed. */
export const matchRemovalsKind = 'entity-matching-removals'

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

/** Executes the pipelines of all projects. */
export class EntityMatching extends DurableRuns {
  constructor(deps: EntityMatchingDeps) {
    const { documents, clock, report } = deps
    super({
      // A run may need suggestions.
      kinds: [removalsOf(deps), suggestionsFor(deps), runsOf(deps)],
      clock,
      catchUp: () => documents.catchUp(),
      onFailure: (run) => report(`entity matching: ${failureMessage(run)}`),
      onLookFailure: (failure) => report(`entity matching failed: ${String(failure)}`),
    })
  }
}

/** Returns whether work is due, for a process that does not execute it. */
export function matchingDue(documents: ConfigWriter, clock: Clock): () => boolean {
  const events: MatchingEvents = { started: () => undefined, ended: () => undefined }
  const runs = new EntityMatching({ documents, clock, events, graphsOf: async () => null, report: () => undefined })
  return () => runs.due().length > 0
}

async function openGraphs({ graphsOf }: EntityMatchingDeps, pipeline: StoredDocument): Promise<MatchedGraphs> {
  const graphs = await graphsOf(pipeline.project_id)
  if (graphs === null) throw new Error(`the project ${pipeline.project_id} is not provisioned`)
  return graphs
}

interface SuggestionAttempts {
  /** Milliseconds since the epoch. */
  readonly atMs: number
  /** Since the last suggestions, or the last request. */
  readonly attempts: number
}

/** An interrupted suggestion begins again. They are repeated when they failed, and when they found nothing to compare. */
function suggestionsFor(deps: EntityMatchingDeps): RunKind<StoredDocument> {
  const { documents, clock } = deps
  const change = (
    id: string,
    fieldsOf: (fields: DocumentFields, pipeline: StoredDocument) => DocumentFields | null,
  ): Promise<void> =>
    documents.write((draft) => {
      const pipeline = draft.get(entityMatchingPipelinesKind, id)
      const fields = pipeline === null ? null : fieldsOf(pipeline.fields, pipeline)
      if (pipeline !== null && fields !== null) draft.put({ ...pipeline, fields })
    })
  const end = (
    id: string,
    event: SuggestionEvent,
    message: string,
    suggestions: readonly SuggestedMapping[] | null,
  ): Promise<void> =>
    change(id, (fields, pipeline) => {
      if (fields.property_mapping_status !== 'IN_PROGRESS') return null
      const { suggestions_begun: _, ...others } = fields
      const changed = withSuggestionStatus(event === 'suggested' ? others : fields, event, message)
      if (suggestions === null) return changed
      const isUnused = (fields.last_mappings ?? null) === null
      return {
        ...changed,
        suggestions,
        ...(isUnused && { property_mappings: shownMappings(pipeline, suggestions.map(runMapping)) }),
      }
    })
  return {
    name: 'suggestion',
    subjects: () => documents.all(entityMatchingPipelinesKind).filter(({ project_id }) => project_id !== ''),
    idOf: ({ id }) => id,
    dueSinceMs: ({ fields }) => (suggestionStatusOf(fields) === 'SUCCESS' ? null : 0),
    failuresOf({ fields }) {
      const status = suggestionStatusOf(fields)
      const begun = fields.suggestions_begun as SuggestionAttempts | undefined
      if (begun === undefined || status === 'PENDING') return null
      // Its process has ended.
      if (status === 'IN_PROGRESS' && begun.attempts < ATTEMPTS_MAX) return null
      return failuresOf(begun.attempts, begun.atMs)
    },
    async attempt(pipeline) {
      const { id } = pipeline
      await change(id, (fields) => {
        const attempts = ((fields.suggestions_begun as SuggestionAttempts | undefined)?.attempts ?? 0) + 1
        return {
          ...withSuggestionStatus(fields, 'begun', ''),
          suggestions_begun: { atMs: clock.now(), attempts },
        }
      })
      const graphs = await openGraphs(deps, pipeline)
      const { source, target } = typesOf(pipeline)
      const missing = await readGraph(graphs.nodes, (snapshots) =>
        [source, target].find((type) => countNodes(snapshots, type) === 0),
      )
      if (missing !== undefined) {
        await end(id, 'nothing to compare', `the project has no \`${missing}\` nodes`, null)
        return 'ended'
      }
      const [ofSources, ofTargets] = await readGraph(graphs.nodes, (snapshots) => [
        sampleProperties(snapshots, source),
        sampleProperties(snapshots, target),
      ])
      const suggestions = suggestMappings(ofSources, ofTargets, { isSameType: source === target })
      if (suggestions.length > 0) await end(id, 'suggested', '', suggestions)
      else {
        const message = `no property of \`${source}\` nodes resembles one of \`${target}\` nodes`
        await end(id, 'nothing to compare', message, null)
      }
      return 'ended'
    },
    fail: ({ id }, error) => end(id, 'failed', error, null),
  }
}

function runsOf(deps: EntityMatchingDeps): RunKind<StoredDocument> {
  const { documents, clock, events } = deps
  return documentRuns<RequestedRun, MatchingRunState, null, RunOutcome>({
    name: 'run',
    kind: entityMatchingPipelinesKind,
    documents,
    clock,
    dataOf: typesText,
    scheduleOf({ id, fields, create_time }) {
      const { rerun_interval: interval } = fields
      if (!isRerunInterval(interval)) return null
      if (suggestionStatusOf(fields) !== 'SUCCESS' && (fields.last_mappings ?? null) === null) return null
      return {
        periodMs: intervalMsOf(interval),
        doneMs: Date.parse(textOf(fields.last_run_time) || create_time),
        lastDueMs: (nowMs) => lastRunDueMs(interval, id, nowMs),
      }
    },
    prepare: async () => null,
    // The comparison is deterministic, and only differences are written: an interrupted run begins again.
    begin({ fields }, { runId, startedMs, request }) {
      return {
        runId,
        startedMs,
        request,
        cutoff: request?.cutoff ?? (fields.similarity_score_cutoff as number),
        mappings: mappingsOf(fields, request === null ? null : request.mappings, request !== null),
        phase: 'read',
        done: 0,
        attempts: 1,
      }
    },
    begun(fields, { request, startedMs }, isNew) {
      const event = runStatusOf(fields) === 'IN_PROGRESS' ? 'interrupted' : 'begun'
      const isScheduled = isNew && request === null
      return { ...withRunStatus(fields, event, ''), ...(isScheduled && { last_run_time: timestamp(startedMs) }) }
    },
    isOutdated: () => false,
    async work(pipeline, run, _, save) {
      const outcome = await new MatchingRun({
        documents,
        graphs: await openGraphs(deps, pipeline),
        pipeline,
        run,
        labels: run.request === null ? [] : labelsOf(documents, pipeline),
        save: (phase, done) => save({ ...run, phase, done }),
      }).run()
      return outcome.kind === 'abandoned' ? null : outcome
    },
    ended(draft, pipeline, run, outcome) {
      const nowMs = clock.now()
      putLabels(draft, pipeline, [], nowMs)
      if (outcome.kind !== 'completed') {
        const { kind, message } = outcome as Extract<RunOutcome, { kind: 'nothing to compare' }>
        events.ended(draft, pipeline, noResult(run.runId), message)
        return withRunStatus(pipeline.fields, kind, message)
      }
      const { report } = outcome
      const result: RunResult = {
        runId: run.runId,
        matchedPairs: report.matched_pairs,
        matchedEntities: report.matched_entities,
        relationshipsWritten: report.relationships_written,
        relationshipsRemoved: report.relationships_removed,
      }
      putReport(draft, pipeline, { ...report, run_end_time: timestamp(nowMs) }, nowMs)
      events.ended(draft, pipeline, result, null)
      return {
        ...withRunStatus(pipeline.fields, 'completed', ''),
        property_mappings: shownMappings(pipeline, run.mappings),
        matched_entities: report.matched_entities,
        last_result: result,
        ...(run.request !== null && { last_mappings: run.request.mappings }),
      }
    },
    failed: (fields, error) => withRunStatus(fields, 'failed', error),
    events: {
      started: events.started,
      failed: (draft, pipeline, { runId }, error) => events.ended(draft, pipeline, noResult(runId), error),
    },
  })
}

function removalsOf({ documents, graphsOf }: EntityMatchingDeps): RunKind<StoredDocument> {
  return removalRuns({
    kind: matchRemovalsKind,
    documents,
    async remove({ project_id, fields }, isStopping) {
      const graphs = await graphsOf(project_id)
      const { pipeline_id: pipelineId, types } = fields as { pipeline_id: string; types: ReturnType<typeof typesOf> }
      return graphs === null || (await removeMatches(graphs, { pipelineId, types }, isStopping))
    },
  })
}

/** Two pipelines of the same types would overwrite each other's relationships. */
function typesText(pipeline: StoredDocument): string {
  const { source, target } = typesOf(pipeline)
  return JSON.stringify([source, target])
}

/** The pipeline that matches the types of this one, because it is older; null: this one does. */
export function shadowing(reader: ConfigReader, pipeline: StoredDocument): StoredDocument | null {
  return shadowOf(reader, pipeline, typesText)
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
