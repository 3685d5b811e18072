// Reads the report of the last pass of a profile: the schema of the response, and its contents.
import { z } from 'zod'
import type { ConfigReader } from '../config/kind.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { FORMULA_VERSION } from './dimensions.ts'
import type { ReportState } from './report.ts'
import { dimensionNames } from './scoring-rules.ts'
import { trustScoreProfilesKind } from './trust-score-profile.ts'

const name = z.enum(dimensionNames).meta({ id: 'TrustDimensionName' })
const score = z.number().min(0).max(1)
const count = z.int().min(0)

const improvement = z
  .strictObject({
    dimension: name,
    gain: score.describe('how much the final score rises if the dimension becomes 1'),
    details: z.array(z.string()).describe('at most 20 properties with what is to be added, verified or corrected'),
  })
  .meta({ id: 'TrustImprovement' })

const worstNode = z
  .strictObject({
    external_id: z.string(),
    location: z.string().optional().describe('the location, in a composite project'),
    final_score: score,
    dimensions: z.partialRecord(name, score).describe('a dimension is absent if the node has nothing to judge for it'),
    improvements: z.array(improvement).describe('what would raise the score; the largest gain first'),
  })
  .meta({ id: 'TrustScoredNode' })

/** The response. */
export const trustScoreReport = z
  .strictObject({
    profile_id: z.string(),
    node_classification: z.string(),
    run_id: z.string(),
    run_end_time: z.iso.datetime(),
    formula_version: z.int(),
    nodes: count.describe('nodes of the type'),
    nodes_without_score: count.describe('nodes that have nothing to judge'),
    mean_score: score.nullable().describe('null: no node has a final score'),
    deciles: z
      .array(z.strictObject({ from: score, to: score, nodes: count }).meta({ id: 'TrustScoreDecile' }))
      .describe('ten ranges of the final score; `from` is included, `to` only in the last one'),
    dimensions: z.array(
      z
        .strictObject({ name, nodes: count.describe('nodes with a value'), mean: score })
        .meta({ id: 'TrustDimensionReport' }),
    ),
    worst_nodes: z.array(worstNode).describe('the 20 nodes with the lowest final scores; the lowest first'),
  })
  .meta({ id: 'TrustScoreReport' })

/**
 * The report of the last pass of a profile.
 * Errors: `not-found` if the caller has no such profile, or no pass has ended yet.
 */
export function readTrustReport(
  documents: ConfigReader,
  caller: ServiceAccountCaller,
  id: string,
): Result<z.infer<typeof trustScoreReport>, ServiceError> {
  const profile = documents.get(trustScoreProfilesKind, id)
  if (profile === null || profile.organization_id !== caller.organizationId)
    return err({ kind: 'not-found', message: `no trust score profile \`${id}\`` })
  const { report, last_run_id, last_run_end_time, node_classification } = profile.fields
  if (report === undefined)
    return err({ kind: 'not-found', message: 'no pass of this trust score profile has ended yet' })
  const { deciles, unscored, sum, dimensions, worst } = report as ReportState
  const scored = deciles.reduce((all, nodes) => all + nodes, 0)
  return ok({
    profile_id: id,
    node_classification: node_classification as string,
    run_id: last_run_id as string,
    run_end_time: last_run_end_time as string,
    formula_version: FORMULA_VERSION,
    nodes: scored + unscored,
    nodes_without_score: unscored,
    mean_score: scored === 0 ? null : Math.min(1, sum / scored),
    deciles: deciles.map((nodes, i) => ({ from: i / 10, to: (i + 1) / 10, nodes })),
    dimensions: dimensionNames.flatMap((one) => {
      const [nodes, total] = dimensions[one] ?? [0, 0]
      return nodes === 0 ? [] : [{ name: one, nodes, mean: Math.min(1, total / nodes) }]
    }),
    worst_nodes: worst.map((node) => ({
      ...node,
      improvements: node.improvements.map((one) => ({ ...one, details: [...one.details] })),
    })),
  })
}
