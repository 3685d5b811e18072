// The configuration kind of entity matching pipelines: which node types are compared, and how similar two nodes must
// be. Stored, not executed (docs/decisions/0028-stored-but-not-executed.md).
import { z } from 'zod'
import { type ConfigKind, envelope, envelopeUpdate, nodeTypeName, projectsKind, reference } from '../config/kind.ts'
import { ok } from '../kernel/result.ts'

/** Kind name of entity matching pipelines. */
export const entityMatchingPipelinesKind = 'entity-matching-pipelines'

/** The states of a run. */
export const matchingStatuses = ['INVALID', 'PENDING', 'IN_PROGRESS', 'SUCCESS', 'ERROR'] as const

const matchingStatus = z.enum(matchingStatuses).meta({ id: 'MatchingStatus' })

const cutoff = z.number().min(0).max(1)

/** Intervals are rejected because nothing would run them. */
const rerunInterval = z
  .string()
  .max(0, { error: 'intervals are not supported: omit the member or leave it empty' })
  .nullish()

const nodeTypes = z.array(nodeTypeName).min(1).max(100)
const nodeFilter = z
  .strictObject({ source_node_types: nodeTypes, target_node_types: nodeTypes })
  .meta({ id: 'NodeFilter' })

/** State of the last run. A run changes it without a new revision. */
const initialOutcome = {
  property_mapping_status: 'PENDING',
  property_mapping_message: '',
  entity_matching_status: 'PENDING',
  entity_matching_message: '',
  property_mappings: [],
  last_run_time: '',
  report_url: '',
  report_type: '',
  matched_entities: 0,
}

/** The kind `entity-matching-pipelines`. */
export const entityMatchingPipelines: ConfigKind = {
  path: entityMatchingPipelinesKind,
  label: 'entity matching pipeline',
  parent: { field: 'project_id', kind: projectsKind },
  operations: { create: true, update: true, delete: true, byName: true },
  createSchema: z.strictObject({
    ...envelope,
    project_id: reference,
    node_filter: nodeFilter,
    similarity_score_cutoff: cutoff,
    rerun_interval: rerunInterval,
  }),
  updateSchema: z.strictObject({
    ...envelopeUpdate,
    similarity_score_cutoff: cutoff.nullish(),
    rerun_interval: rerunInterval,
  }),
  readShape: {
    node_filter: nodeFilter,
    similarity_score_cutoff: z.number(),
    rerun_interval: z.string(),
    property_mapping_status: matchingStatus,
    property_mapping_message: z.string(),
    entity_matching_status: matchingStatus,
    entity_matching_message: z.string(),
    property_mappings: z.array(
      z
        .strictObject({
          source_node_type: z.string(),
          source_node_property: z.string(),
          target_node_type: z.string(),
          target_node_property: z.string(),
          similarity_score_cutoff: z.number(),
        })
        .meta({ id: 'PropertyMapping' }),
    ),
    last_run_time: z.string(),
    report_url: z.string(),
    report_type: z.string(),
    matched_entities: z.number(),
  },
  secrets: [],
  omittedInLists: [],
  defaults: { rerun_interval: '', ...initialOutcome },
  check: (fields) => ok({ fields }),
}
