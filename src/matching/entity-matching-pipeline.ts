// The configuration kind of entity matching pipelines: which node types are compared, how similar two nodes must be, and when runs
// are repeated. Runs write what they found into further fields, without a new revision.
import { z } from 'zod'
import { defineKind, field, hidden, shown } from '../config/define-kind.ts'
import { capturedType } from '../config/element-schemas.ts'
import type { ConfigKind, StoredDocument } from '../config/kind.ts'
import { err, ok } from '../kernel/result.ts'
import { undeclaredLabels } from '../model/stored-model.ts'
import { matchingStatuses } from './pipeline-states.ts'
import { isRerunInterval, rerunIntervals } from './rerun-interval.ts'
import { progressOf } from './run-state.ts'

/** Kind name of entity matching pipelines. */
export const entityMatchingPipelinesKind = 'entity-matching-pipelines'

/** The media type of the report without an `Accept` header. */
const REPORT_TYPE = 'application/json'

/** The state of suggestions or of runs, in responses. */
export const matchingStatus = z.enum(matchingStatuses).meta({ id: 'MatchingStatus' })

/** A similarity from 0 to 1. */
export const similarityCutoff = z.number().min(0).max(1)

const rerunInterval = z.string().refine((text) => text === '' || isRerunInterval(text), {
  error: `expected ${Object.keys(rerunIntervals)
    .map((one) => `\`${one}\``)
    .join(', ')} or an empty string`,
})

const nodeTypes = z.array(capturedType).min(1).max(100)
const nodeFilter = z
  .strictObject({
    source_node_types: nodeTypes.describe('only the first one is used'),
    target_node_types: nodeTypes.describe('only the first one is used; the source type: duplicates are found'),
  })
  .meta({ id: 'NodeFilter' })

const keepMatches = z
  .boolean()
  .describe(
    'true: the relationships stay in the graph when the pipeline is deleted, until another pipeline of the same types takes them over; default false',
  )

/** A property that is compared with another, in responses. */
export const propertyMapping = z
  .strictObject({
    source_node_type: z.string(),
    source_node_property: z.string(),
    target_node_type: z.string(),
    target_node_property: z.string(),
    similarity_score_cutoff: z.number().describe('values that are less similar count as different'),
  })
  .meta({ id: 'PropertyMapping' })

const progress = z
  .strictObject({
    run_id: z.string(),
    start_time: z.string(),
    phase: z.enum(['read', 'link', 'write']).describe('reading nodes, comparing them, writing relationships'),
    done: z.number().min(0).max(1).describe('the share of the phase that is done'),
  })
  .meta({ id: 'MatchingProgress' })

/** The kind `entity-matching-pipelines`. `publicUrl`: the base URL for clients; empty: reports have a path instead of a URL. */
export function entityMatchingPipelines(publicUrl: string): ConfigKind {
  return defineKind({
    path: entityMatchingPipelinesKind,
    label: 'entity matching pipeline',
    fields: {
      node_filter: field(nodeFilter).required().fixed(),
      similarity_score_cutoff: field(similarityCutoff).required(),
      rerun_interval: field(rerunInterval)
        .describe('when runs are repeated: a whole number of hours that divides a day, such as `6h`; empty: never')
        .default(''),
      keep_matches: field(keepMatches).default(false),
      // The state of the last run. A run changes it without a new revision.
      property_mapping_status: shown(matchingStatus).default('PENDING'),
      property_mapping_message: shown(z.string()).default(''),
      entity_matching_status: shown(matchingStatus).default('PENDING'),
      entity_matching_message: shown(z.string()).default(''),
      property_mappings: shown(
        z.array(propertyMapping).describe('what the last run compared; before the first one: what is suggested'),
      ).default([]),
      last_run_time: shown(z.string().describe('when the last run was requested, or became due; empty: never')).default(
        '',
      ),
      report_url: shown(
        z
          .string()
          .describe(
            'where the report of the last run is; only a path if the setting `public_url` is empty; empty before the first run has ended',
          ),
      ),
      report_type: shown(z.string()),
      matched_entities: shown(z.number().describe('the nodes that have a counterpart by the last run')).default(0),
      run_progress: shown(progress.nullable().describe('the run in progress; null: no run is in progress')),
      run: hidden(),
      requested_run: hidden(),
      retry: hidden(),
      suggestions: hidden(),
      suggestions_begun: hidden(),
      last_mappings: hidden(),
      last_result: hidden(),
    },
    computedFields: ({ id, fields }) => ({
      report_url: fields.last_result === undefined ? '' : `${publicUrl}${reportPathOf(id)}`,
      report_type: fields.last_result === undefined ? '' : REPORT_TYPE,
      run_progress: progressOf(fields),
    }),
    check(fields, { reader, current, parent }) {
      if (current !== null) return ok({ fields })
      const { source_node_types, target_node_types } = fields.node_filter as z.infer<typeof nodeFilter>
      const named = [
        ['node_filter.source_node_types', source_node_types],
        ['node_filter.target_node_types', target_node_types],
      ] as const
      const issues = undeclaredLabels(
        reader,
        parent.id,
        named.flatMap(([member, types]) => types.map((type, i) => [`${member}[${i}]`, type] as const)),
      )
      return issues.length === 0 ? ok({ fields }) : err({ kind: 'invalid', issues })
    },
  })
}

/** The path of the report of a pipeline. */
function reportPathOf(pipelineId: string): string {
  return `/entity-matching/v1/pipelines/${pipelineId}/report`
}

/** The two types that a pipeline compares. */
export interface MatchedTypes {
  readonly source: string
  readonly target: string
}

/** The types of a pipeline. Only the first of each list is used. */
export function typesOf({ fields }: Pick<StoredDocument, 'fields'>): MatchedTypes {
  const filter = fields.node_filter as Readonly<Record<'source_node_types' | 'target_node_types', readonly string[]>>
  return { source: filter.source_node_types[0] as string, target: filter.target_node_types[0] as string }
}
