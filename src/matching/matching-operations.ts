// The operations on a pipeline at run time: read suggestions, request runs, read states and reports, and decide about pairs. The schemas of requests and answers, and the operations that the routes and the command line call.
import { z } from 'zod'
import { propertyName, textOf } from '../config/element-schemas.ts'
import { type ConfigReader, type ConfigWriter, projectsKind, type StoredDocument } from '../config/kind.ts'
import { readGraph } from '../engine/read-graph.ts'
import type { GraphStore } from '../engine/store.ts'
import { externalIdLength } from '../kernel/element-rules.ts'
import { graphNotFound, type ServiceError } from '../kernel/errors.ts'
import { isGid, mintGid } from '../kernel/ids.ts'
import type { Caller } from '../kernel/request/caller.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import { tracedBy } from '../kernel/request/request-trace.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import {
  DECISIONS_MAX,
  type DecisionValue,
  decisionOf,
  decisionsOf,
  decisionValues,
  findDecision,
  type MatchDecision,
  matchDecisionsKind,
  orderedPair,
  putDecision,
} from './decisions.ts'
import { runStatusOf, shadowing, suggestionStatusOf, withRunStatus, withSuggestionStatus } from './entity-matching.ts'
import {
  entityMatchingPipelinesKind,
  type MatchedTypes,
  matchingStatus,
  propertyMapping,
  similarityCutoff,
  typesOf,
} from './entity-matching-pipeline.ts'
import { LABELLED_PAIRS_MAX, putLabels } from './labelled-pairs.ts'
import { valueKinds } from './linkage/types.ts'
import { hasNode, type MatchedGraphs, matchOwner } from './node-batches.ts'
import { nextStatus, runTransitions, suggestionTransitions } from './pipeline-states.ts'
import { findReport, type MatchReport } from './report.ts'
import { type NodePair, type RequestedRun, requestOf, suggestionsOf } from './run-state.ts'
import { ownOrKept, sameAsKey, wantedProperties, writeSameAs } from './same-as.ts'

const externalId = textOf(externalIdLength)
const score = z.number().min(0).max(1)
const valueKind = z.enum(valueKinds).meta({ id: 'MatchedValueKind' })
const decisionValue = z.enum(decisionValues).meta({ id: 'MatchDecisionValue' })

/** The answer with suggested mappings. */
export const suggestionsAnswer = z
  .strictObject({
    id: z.string(),
    suggested_property_mappings: z.array(
      z
        .strictObject({
          ...propertyMapping.shape,
          kind: valueKind.describe('how the values are compared'),
          score: score.describe('how well the properties fit'),
          reason: z
            .strictObject({ names: score, values: score, form: score })
            .meta({ id: 'MappingReason' })
            .describe(
              'similarity of the names, overlap of the values in a sample, and similarity of the form of the values',
            ),
        })
        .meta({ id: 'SuggestedPropertyMapping' }),
    ),
  })
  .meta({ id: 'MappingSuggestions' })

/** The answer while there are no suggestions. */
export const notReadyAnswer = z
  .strictObject({ message: z.string(), details: z.array(z.string()) })
  .meta({ id: 'PropertyMappingsNotReady' })

const customMapping = z
  .strictObject({
    source_node_property: propertyName,
    target_node_property: propertyName,
    similarity_score_cutoff: score.optional().describe('values that are less similar count as different; default 0'),
    kind: valueKind.optional().describe('how the values are compared; default: found from the values'),
  })
  .meta({ id: 'CustomPropertyMapping' })

const labelledPair = z
  .strictObject({
    source_external_id: externalId,
    target_external_id: externalId,
    same: z.boolean().describe('whether the nodes are the same entity'),
  })
  .meta({ id: 'LabelledPair' })

/** The body of a request of a run. */
export const matchRunRequest = z
  .strictObject({
    similarity_score_cutoff: similarityCutoff.describe('pairs with a lower score do not match'),
    custom_property_mappings: z
      .array(customMapping)
      .min(1)
      .max(100)
      .optional()
      .describe('absent: the suggested mappings; later runs by the rerun interval repeat them'),
    labelled_pairs: z
      .array(labelledPair)
      .max(LABELLED_PAIRS_MAX)
      .optional()
      .describe('pairs that are known to be the same or not; the report then has precision and recall'),
  })
  .meta({ id: 'EntityMatchingRun' })

/** The answer to a requested run. */
export const matchRunAnswer = z
  .strictObject({
    id: z.string().describe('the identifier of the pipeline'),
    etag: z.string().describe('the ETag of the pipeline, which runs do not change'),
    last_run_time: z.iso.datetime().describe('the time of this request'),
    run_id: z.string(),
  })
  .meta({ id: 'EntityMatchingRunAnswer' })

/** The states of a pipeline. */
export const matchStatusAnswer = z
  .strictObject({
    id: z.string(),
    property_mapping_status: matchingStatus,
    entity_matching_status: matchingStatus,
  })
  .meta({ id: 'PipelineStatus' })

/** The body of a decision. */
export const decisionRequest = z
  .strictObject({
    source_external_id: externalId.describe('of a node of the source type'),
    target_external_id: externalId.describe('of a node of the target type'),
    decision: decisionValue,
    comment: z.string().max(1000).optional(),
  })
  .meta({ id: 'MatchDecisionRequest' })

/** A decision in answers. */
export const decisionAnswer = z
  .strictObject({
    id: z.string(),
    source_external_id: externalId,
    target_external_id: externalId,
    decision: decisionValue,
    decided_by: z.string().describe('the agent, the service account, or the user of the operating system'),
    decided_time: z.iso.datetime(),
    comment: z.string(),
  })
  .meta({ id: 'MatchDecision' })

const PAGE_MAX = 500
/** The query of a list of decisions. */
export const decisionQuery = z.strictObject({
  page_size: z
    .string()
    .regex(/^(?:[1-9]\d?|[1-4]\d\d|500)$/, { error: `expected an integer from 1 to ${PAGE_MAX}` })
    .optional()
    .describe(`1 to ${PAGE_MAX}, default ${PAGE_MAX}`),
  page_token: z.string().max(256).optional().describe('`next_page_token` of the page before'),
})

/** A page of decisions, in the order in which they were made. */
export const decisionPage = z
  .strictObject({
    decisions: z.array(decisionAnswer),
    next_page_token: z.string().describe('empty: this is the last page'),
  })
  .meta({ id: 'MatchDecisionPage' })

/** See `matchRunRequest`. */
export type MatchRunRequest = z.infer<typeof matchRunRequest>
/** See `matchRunAnswer`. */
export type MatchRunAnswer = z.infer<typeof matchRunAnswer>
/** See `decisionRequest`. */
export type DecisionRequest = z.infer<typeof decisionRequest>
/** See `decisionAnswer`. */
export type DecisionAnswer = z.infer<typeof decisionAnswer>

/** Records the events of decisions, in the transaction that stores them. */
export interface DecisionEvents {
  /** `decision`: null: the earlier decision was deleted. */
  decided(
    asked: { readonly caller: Caller; readonly origin: RequestOrigin },
    draft: Parameters<Parameters<ConfigWriter['write']>[0]>[0],
    pipeline: StoredDocument,
    pair: NodePair,
    decision: DecisionValue | null,
  ): void
}

/** Collaborators of the operations. */
interface MatchingOperationsDeps {
  readonly documents: ConfigWriter
  /** The graphs of a project. Null: the project is not provisioned. */
  graphsOf(projectId: string): Promise<MatchedGraphs | null>
  readonly events: DecisionEvents
  readonly clock: Clock
  etagOf(pipeline: StoredDocument): string
}

type Operated<T> = Result<T, ServiceError>

/**
 * The operations. Errors of all: `not-found` if the caller has no such pipeline; of those that change something: `forbidden` for a
 * service account that may only read.
 */
export class MatchingOperations {
  private readonly deps: MatchingOperationsDeps

  constructor(deps: MatchingOperationsDeps) {
    this.deps = deps
  }

  /** The suggested mappings, or the reason why they are not ready. */
  suggestions(
    caller: Caller,
    id: string,
  ): Operated<z.infer<typeof suggestionsAnswer> | z.infer<typeof notReadyAnswer>> {
    const found = this.find(caller, id)
    if (!found.ok) return found
    const { fields } = found.value
    const { source, target } = typesOf(found.value)
    const status = suggestionStatusOf(fields)
    if (status === 'SUCCESS') {
      return ok({
        id,
        suggested_property_mappings: suggestionsOf(fields).map(
          ({ sourceProperty, targetProperty, kind, score: fit, reason, cutoff = 0 }) => ({
            source_node_type: source,
            source_node_property: sourceProperty,
            target_node_type: target,
            target_node_property: targetProperty,
            similarity_score_cutoff: cutoff,
            kind,
            score: fit,
            reason: { ...reason },
          }),
        ),
      })
    }
    const message = (fields.property_mapping_message as string | undefined) ?? ''
    return ok({
      message: `the property mappings are not ready: ${status}`,
      details: message === '' ? [] : [message],
    })
  }

  /** Requests that mappings are suggested again, from the present data. Errors: also `conflict` while that is in progress. */
  async suggestAgain(caller: Caller, id: string): Promise<Operated<z.infer<typeof notReadyAnswer>>> {
    const found = this.findToChange(caller, id)
    if (!found.ok) return found
    return this.deps.documents.write((draft) => {
      const pipeline = draft.get(entityMatchingPipelinesKind, id)
      if (pipeline === null) return notFound(id)
      const { fields } = pipeline
      if (nextStatus(suggestionTransitions, suggestionStatusOf(fields), 'requested') === null)
        return err({ kind: 'conflict', message: 'property mappings are being suggested' })
      const { suggestions_begun: _, ...others } = fields
      draft.put({ ...pipeline, fields: withSuggestionStatus(others, 'requested', '') })
      return ok({ message: 'the property mappings are not ready: PENDING', details: [] })
    })
  }

  /**
   * Requests a run. Errors: also `conflict` while a run is requested or in progress, without mappings, or if an older pipeline
   * matches the types, and `invalid` for properties that no node has.
   */
  async requestRun(
    caller: Caller,
    id: string,
    body: MatchRunRequest,
    origin: RequestOrigin,
  ): Promise<Operated<MatchRunAnswer>> {
    const { documents, clock, etagOf } = this.deps
    const found = this.findToChange(caller, id)
    if (!found.ok) return found
    const custom = body.custom_property_mappings ?? null
    const issues = [
      ...(await this.unknownProperties(found.value, custom ?? [])),
      ...labelIssues(typesOf(found.value), body),
    ]
    if (issues.length > 0) return err({ kind: 'invalid', issues })
    const nowMs = clock.now()
    return documents.write((draft) => {
      const pipeline = draft.get(entityMatchingPipelinesKind, id)
      if (pipeline === null) return notFound(id)
      const { fields } = pipeline
      const conflict = runConflict(pipeline, custom !== null, shadowing(draft, pipeline))
      if (conflict !== null) return err({ kind: 'conflict', message: conflict })
      const request: RequestedRun = {
        runId: mintGid(nowMs),
        time: timestamp(nowMs),
        by: idOf(caller),
        requestId: origin.requestId,
        ...tracedBy(origin),
        cutoff: body.similarity_score_cutoff,
        mappings:
          custom?.map(({ source_node_property, target_node_property, similarity_score_cutoff, kind }) => ({
            sourceProperty: source_node_property,
            targetProperty: target_node_property,
            cutoff: similarity_score_cutoff ?? 0,
            kind: kind ?? null,
          })) ?? null,
      }
      const labels = body.labelled_pairs ?? []
      putLabels(
        draft,
        pipeline,
        labels.map(({ source_external_id, target_external_id, same }) => ({
          ...orderedPair(typesOf(pipeline), { source: source_external_id, target: target_external_id }),
          isSame: same,
        })),
        nowMs,
      )
      // One that has failed and waits to be repeated is replaced.
      const { run: _, retry: __, ...others } = withRunStatus(fields, 'requested', '')
      const changed = { ...others, requested_run: request, last_run_time: request.time }
      draft.put({ ...pipeline, fields: changed })
      return ok({ id, etag: etagOf(pipeline), last_run_time: request.time, run_id: request.runId })
    })
  }

  /** The states of a pipeline. */
  status(caller: Caller, id: string): Operated<z.infer<typeof matchStatusAnswer>> {
    const found = this.find(caller, id)
    if (!found.ok) return found
    const { fields } = found.value
    return ok({
      id,
      property_mapping_status: suggestionStatusOf(fields),
      entity_matching_status: runStatusOf(fields),
    })
  }

  /** The report of the last run. Errors: also `not-found` before the first one has ended. */
  report(caller: Caller, id: string): Operated<MatchReport> {
    const found = this.find(caller, id)
    if (!found.ok) return found
    const report = findReport(this.deps.documents, found.value)
    return report === null
      ? err({ kind: 'not-found', message: 'no run of this entity matching pipeline has ended yet' })
      : ok(report)
  }

  /** The graphs with the relationships of a pipeline. Errors: as `report`. */
  async matchesOf(
    caller: Caller,
    id: string,
  ): Promise<Operated<{ readonly graphs: MatchedGraphs; readonly pipeline: StoredDocument }>> {
    const report = this.report(caller, id)
    const found = this.find(caller, id)
    if (!report.ok || !found.ok) return report.ok ? (found as Operated<never>) : report
    const graphs = await this.deps.graphsOf(found.value.project_id)
    return graphs === null ? graphNotFound : ok({ graphs, pipeline: found.value })
  }

  /**
   * Stores a decision and makes the relationship of the pair as decided. Errors: also `invalid` if a node does not exist, and
   * `conflict` if an older pipeline matches the types, if another pipeline owns the relationship, or if the pipeline has too
   * many decisions.
   */
  async decide(
    caller: Caller,
    id: string,
    body: DecisionRequest,
    origin: RequestOrigin,
  ): Promise<Operated<DecisionAnswer>> {
    const { documents, clock, events } = this.deps
    const found = this.findToChange(caller, id)
    if (!found.ok) return found
    const types = typesOf(found.value)
    const given: NodePair = { source: body.source_external_id, target: body.target_external_id }
    if (types.source === types.target && given.source === given.target)
      return err({ kind: 'invalid', issues: ['target_external_id: expected another node than `source_external_id`'] })
    const graphs = await this.deps.graphsOf(found.value.project_id)
    if (graphs === null) return graphNotFound
    const missing = await readGraph(graphs.nodes, (snapshots) =>
      (['source', 'target'] as const)
        .filter((end) => !snapshots.some((snapshot) => hasNode(snapshot, types[end], given[end])))
        .map((end) => missingNode(end, types[end], given[end])),
    )
    if (missing.length > 0) return err({ kind: 'invalid', issues: missing })
    const pair = orderedPair(types, given)
    const key = sameAsKey(types, pair)
    // Another pipeline of the types is younger. It can remove its relationships, and write no further ones.
    const pairGraphs = await graphsOfPair(graphs, key.source, key.target)
    const owners = await readGraph(pairGraphs, (snapshots) => snapshots.map((snapshot) => matchOwner(snapshot, key)))
    const nowMs = clock.now()
    const decision: MatchDecision = {
      ...pair,
      decision: body.decision,
      by: idOf(caller),
      time: timestamp(nowMs),
      comment: body.comment ?? '',
    }
    // Before the graph: a run that writes in between finds the decision.
    const stored = await documents.write((draft): Operated<StoredDocument> => {
      const pipeline = draft.get(entityMatchingPipelinesKind, id)
      if (pipeline === null) return notFound(id)
      const refused = shadowedBy(shadowing(draft, pipeline)) ?? ownedByOther(draft, id, owners)
      if (refused !== null) return err({ kind: 'conflict', message: refused })
      const document = putDecision(draft, pipeline, decision, nowMs)
      if (document === null)
        return err({ kind: 'conflict', message: `the pipeline has ${DECISIONS_MAX} decisions, the maximum` })
      events.decided({ caller, origin }, draft, pipeline, pair, decision.decision)
      return ok(document)
    })
    if (!stored.ok) return stored
    await this.apply(graphs, found.value, pair)
    return ok(shownDecision(stored.value))
  }

  /** Lists decisions. Errors: also `invalid` for a text that is not a page token. */
  decisions(caller: Caller, id: string, query: URLSearchParams): Operated<z.infer<typeof decisionPage>> {
    const found = this.find(caller, id)
    if (!found.ok) return found
    const all = decisionsOf(this.deps.documents, id)
    const token = query.get('page_token')
    if (token !== null && !isGid(token))
      return err({ kind: 'invalid', issues: ['page_token: expected a `next_page_token`'] })
    // Ids ascend; the decision of the token may have been deleted.
    const start = token === null ? 0 : all.findIndex((one) => one.id > token)
    const size = Number(query.get('page_size') ?? PAGE_MAX)
    const page = start < 0 ? [] : all.slice(start, start + size)
    const hasMore = start >= 0 && start + size < all.length
    return ok({ decisions: page.map(shownDecision), next_page_token: hasMore ? (page.at(-1)?.id ?? '') : '' })
  }

  /** Deletes a decision. The next run decides about the pair. Errors: also `not-found` if there is no such decision. */
  async deleteDecision(
    caller: Caller,
    id: string,
    decisionId: string,
    origin: RequestOrigin,
  ): Promise<Operated<{ readonly id: string }>> {
    const { documents, events } = this.deps
    const found = this.findToChange(caller, id)
    if (!found.ok) return found
    const graphs = await this.deps.graphsOf(found.value.project_id)
    if (graphs === null) return graphNotFound
    const removed = await documents.write((draft): Operated<NodePair> => {
      const document = draft.get(matchDecisionsKind, decisionId)
      if (document === null || document.parent_id !== id)
        return err({ kind: 'not-found', message: `the pipeline has no decision \`${decisionId}\`` })
      draft.remove(matchDecisionsKind, decisionId)
      const pair = decisionOf(document)
      events.decided({ caller, origin }, draft, found.value, pair, null)
      return ok(pair)
    })
    if (!removed.ok) return removed
    await this.apply(graphs, found.value, removed.value)
    return ok({ id: decisionId })
  }

  /** Makes the relationship of a pair that of its present decision. */
  private async apply(graphs: MatchedGraphs, pipeline: StoredDocument, pair: NodePair): Promise<void> {
    const { documents } = this.deps
    const key = sameAsKey(typesOf(pipeline), pair)
    for (const graph of await graphsOfPair(graphs, key.source, key.target)) {
      await graph.write((batch) => {
        documents.catchUp()
        // Deleted in between: the removal of its relationships may be over.
        if (documents.get(entityMatchingPipelinesKind, pipeline.id) === null) return
        const decision = findDecision(documents, pipeline, pair)
        writeSameAs(batch, ownOrKept(documents, pipeline.id), key, wantedProperties(pipeline.id, null, decision))
      })
    }
  }

  private async unknownProperties(
    pipeline: StoredDocument,
    mappings: NonNullable<MatchRunRequest['custom_property_mappings']>,
  ): Promise<string[]> {
    if (mappings.length === 0) return []
    const graphs = await this.deps.graphsOf(pipeline.project_id)
    const known = await knownProperties(graphs, mappings)
    const seen = new Set<string>()
    return mappings.flatMap(({ source_node_property: source, target_node_property: target }, i) => {
      const at = `custom_property_mappings[${i}]`
      const key = JSON.stringify([source, target])
      if (seen.has(key)) return [`${at}: duplicate mapping`]
      seen.add(key)
      return (['source_node_property', 'target_node_property'] as const).flatMap((end) => {
        const name = end === 'source_node_property' ? source : target
        return known.has(name) ? [] : [`${at}.${end}: no node has a property \`${name}\``]
      })
    })
  }

  private find(caller: Caller, id: string): Operated<StoredDocument> {
    const { documents } = this.deps
    const pipeline = documents.get(entityMatchingPipelinesKind, id)
    const isOwn =
      caller.kind === 'agent'
        ? pipeline?.project_id === caller.projectId
        : pipeline?.organization_id === caller.organizationId
    return pipeline !== null && isOwn ? ok(pipeline) : notFound(id)
  }

  private findToChange(caller: Caller, id: string): Operated<StoredDocument> {
    if (caller.kind === 'service-account' && caller.role !== 'all_editor') {
      const message = `the role \`${caller.role}\` may not run entity matching pipelines`
      return err({ kind: 'forbidden', message })
    }
    const found = this.find(caller, id)
    if (!found.ok) return found
    const project = this.deps.documents.get(projectsKind, found.value.project_id)
    return project?.fields.ikg_status === 'ACTIVE' ? found : graphNotFound
  }
}

function runConflict({ fields }: StoredDocument, hasMappings: boolean, older: StoredDocument | null): string | null {
  if (older !== null) return shadowedBy(older)
  if (nextStatus(runTransitions, runStatusOf(fields), 'requested') === null) return 'a run is in progress'
  if (requestOf(fields) !== null) return 'a run is requested already'
  const status = suggestionStatusOf(fields)
  if (hasMappings || suggestionsOf(fields).length > 0) return null
  const message = (fields.property_mapping_message as string | undefined) ?? ''
  const why = message === '' ? status : `${status}, ${message}`
  return `there are no property mappings (${why}); wait for the suggestions, or send \`custom_property_mappings\``
}

function shadowedBy(older: StoredDocument | null): string | null {
  return older === null ? null : `the pipeline \`${older.name}\` matches these node types already`
}

/** The reason if a relationship of the pair belongs to another pipeline that exists. */
function ownedByOther(reader: ConfigReader, id: string, owners: readonly unknown[]): string | null {
  for (const owner of owners) {
    const other = typeof owner === 'string' && owner !== id ? reader.get(entityMatchingPipelinesKind, owner) : null
    if (other !== null)
      return `the relationship of the pair belongs to the pipeline \`${other.name}\`; delete its decision about the pair, or the pipeline`
  }
  return null
}

function labelIssues(types: MatchedTypes, { labelled_pairs: pairs = [] }: MatchRunRequest): string[] {
  const seen = new Set<string>()
  return pairs.flatMap(({ source_external_id, target_external_id }, i) => {
    const { source, target } = orderedPair(types, { source: source_external_id, target: target_external_id })
    const key = JSON.stringify([source, target])
    if (seen.has(key)) return [`labelled_pairs[${i}]: duplicate pair`]
    seen.add(key)
    return []
  })
}

/** The properties of the mappings that some node has, or has had. */
async function knownProperties(
  graphs: MatchedGraphs | null,
  mappings: NonNullable<MatchRunRequest['custom_property_mappings']>,
): Promise<ReadonlySet<string>> {
  if (graphs === null) return new Set()
  const names = mappings.flatMap(({ source_node_property, target_node_property }) => [
    source_node_property,
    target_node_property,
  ])
  return readGraph(
    graphs.nodes,
    (snapshots) => new Set(names.filter((name) => snapshots.some((snapshot) => snapshot.hasSeen('property', name)))),
  )
}

/** The graph of the relationship: that of both nodes, or the global one. */
async function graphsOfPair(
  { nodes, global }: MatchedGraphs,
  source: { readonly type: string; readonly externalId: string },
  target: { readonly type: string; readonly externalId: string },
): Promise<readonly GraphStore[]> {
  const hasBoth = await readGraph(nodes, (snapshots) =>
    snapshots.map((snapshot) => [source, target].every(({ type, externalId }) => hasNode(snapshot, type, externalId))),
  )
  const shared = nodes.filter((_, i) => hasBoth[i])
  return shared.length > 0 ? shared : global === null ? [] : [global]
}

function missingNode(end: 'source' | 'target', type: string, id: string): string {
  return `${end}_external_id: the node \`${type}\` \`${id}\` does not exist`
}

function shownDecision(document: StoredDocument): DecisionAnswer {
  const { source, target, decision, by, time, comment } = decisionOf(document)
  return {
    id: document.id,
    source_external_id: source,
    target_external_id: target,
    decision,
    decided_by: by,
    decided_time: time,
    comment,
  }
}

function idOf(caller: Caller): string {
  return caller.kind === 'agent' ? caller.agentId : caller.serviceAccountId
}

function notFound(id: string): Result<never, ServiceError> {
  return err({ kind: 'not-found', message: `no entity matching pipeline \`${id}\`` })
}
