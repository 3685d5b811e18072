// The configuration kind of trust score profiles: which nodes are scored, when, and the weight of each dimension.
// Stored, not executed (docs/decisions/0028-stored-but-not-executed.md).
import { z } from 'zod'
import { type ConfigKind, envelope, envelopeUpdate, nodeTypeName, projectsKind, reference } from '../config/kind.ts'
import { ok } from '../kernel/result.ts'

/** Kind name of trust score profiles. */
export const trustScoreProfilesKind = 'trust-score-profiles'

/** The dimensions of a trust score. */
export const dimensionNames = ['VERIFICATION', 'ORIGIN', 'FRESHNESS', 'COMPLETENESS', 'VALIDITY'] as const
/** How often a profile runs. */
export const schedules = ['THREE_HOURS', 'SIX_HOURS', 'TWELVE_HOURS', 'DAILY'] as const

const dimensionName = z.enum(dimensionNames).meta({ id: 'TrustDimensionName' })
const schedule = z.enum(schedules).meta({ id: 'TrustScoreSchedule' })
const dimension = z
  .strictObject({ name: dimensionName, weight: z.number().min(0).max(1) })
  .meta({ id: 'TrustDimension' })

/** A dimension of weight 0 is computed but not part of the score, so at least one weight must be above 0. */
const dimensions = z
  .array(dimension)
  .min(1)
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, { error: 'duplicate dimension' })
  .refine((all) => all.some(({ weight }) => weight > 0), { error: 'expected at least one weight above 0' })

/** State of the last run; empty before the first. A run changes it without a new revision. */
const lastRun = { last_run_id: '', last_run_start_time: '', last_run_end_time: '', dimensions_execution_times: {} }

/** The kind `trust-score-profiles`. */
export const trustScoreProfiles: ConfigKind = {
  path: trustScoreProfilesKind,
  label: 'trust score profile',
  parent: { field: 'project_id', kind: projectsKind },
  operations: { create: true, update: true, delete: true, byName: true },
  createSchema: z.strictObject({
    ...envelope,
    project_id: reference,
    node_classification: nodeTypeName,
    dimensions,
    schedule,
  }),
  updateSchema: z.strictObject({
    ...envelopeUpdate,
    dimensions: dimensions.nullish(),
    schedule: schedule.nullish(),
  }),
  readShape: {
    node_classification: z.string(),
    dimensions: z.array(dimension),
    schedule,
    last_run_id: z.string(),
    last_run_start_time: z.string(),
    last_run_end_time: z.string(),
    dimensions_execution_times: z.partialRecord(
      dimensionName,
      z
        .strictObject({ execution_start_time: z.string(), execution_end_time: z.string() })
        .meta({ id: 'TrustDimensionTimes' }),
    ),
  },
  secrets: [],
  omittedInLists: [],
  check: (fields) => ok({ fields }),
  defaults: lastRun,
}
