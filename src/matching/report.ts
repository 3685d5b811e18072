// The report of a run: how many pairs were found, how certain they are, what needs a review, and why each of these pairs matched. The
// run collects it and stores it with its end, so that reading it takes the same time for every graph.
import { z } from 'zod'
import type { ConfigReader, DocumentDraft, StoredDocument } from '../config/kind.ts'
import { mintGid } from '../kernel/ids.ts'
import type { EntityMatch } from './linkage/types.ts'
import type { LabelledPair, NodePair } from './run-state.ts'

/** Kind name of reports. Their name is the id of the pipeline. */
export const matchReportsKind = 'entity-matching-reports'

/** Pairs, conflicts and groups that a report lists at most, each. */
export const LISTED_MAX = 100
/** Nodes of a listed group. */
const GROUP_NODES_MAX = 50

const share = z.number().min(0).max(1)
const count = z.int().min(0)
const externalId = z.string()

const evidence = z
  .strictObject({
    source_node_property: z.string(),
    target_node_property: z.string(),
    similarity: share.nullable().describe('null: one of the nodes does not have the property'),
    weight: z.number().describe('in bits: positive is evidence for a match, negative against it'),
  })
  .meta({ id: 'MatchEvidence' })

const reviewedPair = z
  .strictObject({
    source_external_id: externalId,
    target_external_id: externalId,
    score: share,
    is_decided: z.boolean().describe('true: a person has decided that the pair is the same'),
    properties: z.array(evidence).describe('the evidence for the match and against it'),
  })
  .meta({ id: 'ReviewedMatch' })

const conflict = z
  .strictObject({
    source_external_id: externalId,
    target_external_id: externalId,
    score: share,
    reason: z
      .enum(['assigned_elsewhere', 'decided_different', 'decided_twice'])
      .describe(
        '`assigned_elsewhere`: a node of the pair has a better match; `decided_different`: the pair is decided to be different, and both are the same as a third node; `decided_twice`: decisions give a node two counterparts where one is allowed',
      ),
  })
  .meta({ id: 'MatchConflict' })

const group = z
  .strictObject({
    nodes: count,
    source_external_ids: z.array(externalId).describe(`at most ${GROUP_NODES_MAX}`),
    target_external_ids: z.array(externalId).describe(`at most ${GROUP_NODES_MAX}`),
  })
  .meta({ id: 'MatchGroup' })

const evaluation = z
  .strictObject({
    labelled_pairs: count,
    true_positives: count,
    false_positives: count,
    false_negatives: count,
    precision: share.nullable().describe('null: no labelled pair was matched'),
    recall: share.nullable().describe('null: no labelled pair is the same'),
    f1: share.nullable(),
  })
  .meta({ id: 'MatchEvaluation' })

/** The report, as stored and in responses. */
export const matchReport = z
  .strictObject({
    pipeline_id: z.string(),
    run_id: z.string(),
    run_start_time: z.iso.datetime(),
    run_end_time: z.iso.datetime(),
    source_node_type: z.string(),
    target_node_type: z.string(),
    similarity_score_cutoff: share,
    property_mappings: z.array(
      z
        .strictObject({
          source_node_property: z.string(),
          target_node_property: z.string(),
          kind: z.string().describe('how the values were compared'),
        })
        .meta({ id: 'ComparedProperty' }),
    ),
    source_nodes: count,
    target_nodes: count,
    compared_pairs: count,
    matched_pairs: count,
    matched_entities: count.describe('the nodes that have a counterpart'),
    relationships_written: count.describe('relationships that were created or changed'),
    relationships_removed: count,
    deciles: z
      .array(z.strictObject({ from: share, to: share, pairs: count }).meta({ id: 'MatchScoreDecile' }))
      .describe('the matched pairs by ten ranges of the score; `from` is included, `to` only in the last one'),
    groups: z.strictObject({ count, largest: z.array(group) }).meta({ id: 'MatchGroups' }),
    conflicts: z.strictObject({ count, pairs: z.array(conflict) }).meta({ id: 'MatchConflicts' }),
    decisions: z.strictObject({ same: count, not_same: count }).meta({ id: 'MatchDecisionCounts' }),
    evaluation: evaluation.nullable().describe('null: the run was given no labelled pairs'),
    pairs_to_review: z
      .array(reviewedPair)
      .describe(`the matched pairs with the lowest scores, without decided ones; at most ${LISTED_MAX}`),
  })
  .meta({ id: 'EntityMatchingReport' })

/** A report. */
export type MatchReport = z.infer<typeof matchReport>
/** A pair of a report. */
export type ReviewedPair = z.infer<typeof reviewedPair>

/** Keeps the numbers and the pairs with the lowest scores, in one walk through all matches. */
export class MatchReportCollector {
  private readonly labels: ReadonlyMap<string, boolean>
  private readonly deciles = Array.from({ length: 10 }, () => 0)
  private review: { readonly match: EntityMatch; readonly pair: NodePair }[] = []
  private matchedSame = 0
  private matchedDifferent = 0

  /** `labels`: ordered pairs. */
  constructor(labels: readonly LabelledPair[]) {
    this.labels = new Map(labels.map((pair) => [keyOf(pair), pair.isSame]))
  }

  /** Adds a match. */
  add(match: EntityMatch, pair: NodePair): void {
    const { score, isDecided } = match
    this.deciles[Math.min(9, Math.floor(score * 10))]! += 1
    const label = this.labels.size === 0 ? undefined : this.labels.get(keyOf(pair))
    if (label === true) this.matchedSame += 1
    if (label === false) this.matchedDifferent += 1
    const { review } = this
    if (isDecided || (review.length === LISTED_MAX && review.at(-1)!.match.score <= score)) return
    const at = review.findIndex((one) => one.match.score > score)
    review.splice(at < 0 ? review.length : at, 0, { match, pair })
    if (review.length > LISTED_MAX) review.pop()
  }

  /** The members of the report that depend on the matches. */
  members(mappings: readonly { readonly sourceProperty: string; readonly targetProperty: string }[]) {
    return {
      deciles: this.deciles.map((pairs, i) => ({ from: i / 10, to: (i + 1) / 10, pairs })),
      evaluation: this.evaluation(),
      pairs_to_review: this.review.map(
        ({ match, pair }): ReviewedPair => ({
          source_external_id: pair.source,
          target_external_id: pair.target,
          score: rounded(match.score),
          is_decided: match.isDecided,
          properties: match.properties.map(({ mapping, similarity, weight }) => ({
            source_node_property: mappings[mapping]!.sourceProperty,
            target_node_property: mappings[mapping]!.targetProperty,
            similarity: similarity === null ? null : rounded(similarity),
            weight: rounded(weight),
          })),
        }),
      ),
    }
  }

  private evaluation(): MatchReport['evaluation'] {
    const { labels, matchedSame, matchedDifferent } = this
    if (labels.size === 0) return null
    const same = [...labels.values()].filter((isSame) => isSame).length
    const matched = matchedSame + matchedDifferent
    const precision = matched === 0 ? null : matchedSame / matched
    const recall = same === 0 ? null : matchedSame / same
    return {
      labelled_pairs: labels.size,
      true_positives: matchedSame,
      false_positives: matchedDifferent,
      false_negatives: same - matchedSame,
      precision,
      recall,
      f1: matched + same === 0 ? null : (2 * matchedSame) / (matched + same),
    }
  }
}

/** To four digits: smaller differences of scores have no meaning, and would rewrite relationships. */
export function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000
}

/** A group of a report. */
export function reportGroup(sources: readonly string[], targets: readonly string[]): z.infer<typeof group> {
  return {
    nodes: sources.length + targets.length,
    source_external_ids: sources.slice(0, GROUP_NODES_MAX),
    target_external_ids: targets.slice(0, GROUP_NODES_MAX),
  }
}

/** Stores a report in place of the one before. */
export function putReport(draft: DocumentDraft, pipeline: StoredDocument, report: MatchReport, nowMs: number): void {
  const before = draft.getByName(matchReportsKind, pipeline.project_id, pipeline.id)
  draft.put({
    ...pipeline,
    kind: matchReportsKind,
    id: before?.id ?? mintGid(nowMs),
    revision: 1,
    parent_id: pipeline.id,
    name: pipeline.id,
    fields: report,
  })
}

/** The report of the last run of a pipeline, or null. */
export function findReport(reader: ConfigReader, { id, project_id }: StoredDocument): MatchReport | null {
  const found = reader.getByName(matchReportsKind, project_id, id)
  return found === null ? null : (found.fields as MatchReport)
}

function keyOf({ source, target }: NodePair): string {
  return JSON.stringify([source, target])
}
