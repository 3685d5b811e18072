// The decisions of persons about pairs of nodes. They are documents of the configuration, so that they are in backups and
// exports, and outlive the nodes: a node that is captured again is decided again.
import type { ConfigReader, DocumentDraft, StoredDocument } from '../config/kind.ts'
import { mintGid } from '../kernel/ids.ts'
import { type MatchedTypes, typesOf } from './entity-matching-pipeline.ts'
import type { NodePair } from './run-state.ts'

/** Kind name of decisions. Their parent is the pipeline. */
export const matchDecisionsKind = 'entity-matching-decisions'

/** Decisions of one pipeline. All processes have them in memory. */
export const DECISIONS_MAX = 10_000

/** The two decisions. */
export const decisionValues = ['SAME', 'NOT_SAME'] as const
/** A decision. */
export type DecisionValue = (typeof decisionValues)[number]

/** A decision about a pair. */
export interface MatchDecision extends NodePair {
  readonly decision: DecisionValue
  /** The agent, the service account, or the user of the operating system. */
  readonly by: string
  /** RFC 3339. */
  readonly time: string
  /** Empty: none was given. */
  readonly comment: string
}

/** Within one type a pair has no direction: its relationship begins at the lower external id. */
export function orderedPair({ source, target }: MatchedTypes, pair: NodePair): NodePair {
  return source === target && pair.source > pair.target ? { source: pair.target, target: pair.source } : pair
}

/** Names are unique within a project, and found without a search. */
function nameOf(pipelineId: string, { source, target }: NodePair): string {
  return `${pipelineId} ${JSON.stringify([source, target])}`
}

/** The decision about an ordered pair, or null. */
export function findDecision(reader: ConfigReader, pipeline: StoredDocument, pair: NodePair): MatchDecision | null {
  const found = reader.getByName(matchDecisionsKind, pipeline.project_id, nameOf(pipeline.id, pair))
  return found === null ? null : decisionOf(found)
}

/** The decisions of a pipeline, in the order of their creation. */
export function decisionsOf(reader: ConfigReader, pipelineId: string): readonly StoredDocument[] {
  return reader.children(matchDecisionsKind, pipelineId)
}

/** The decision that a document contains. */
export function decisionOf({ fields }: StoredDocument): MatchDecision {
  return fields as unknown as MatchDecision
}

/**
 * Stores a decision about a pair, in place of an earlier one. Returns its document; null: the pipeline has too many decisions.
 * `nowMs`: the time of the decision.
 */
export function putDecision(
  draft: DocumentDraft,
  pipeline: StoredDocument,
  decision: MatchDecision,
  nowMs: number,
): StoredDocument | null {
  const pair = orderedPair(typesOf(pipeline), decision)
  const name = nameOf(pipeline.id, pair)
  const before = draft.getByName(matchDecisionsKind, pipeline.project_id, name)
  if (before === null && decisionsOf(draft, pipeline.id).length >= DECISIONS_MAX) return null
  const { by, time } = decision
  const document: StoredDocument = {
    kind: matchDecisionsKind,
    id: before?.id ?? mintGid(nowMs),
    revision: (before?.revision ?? 0) + 1,
    organization_id: pipeline.organization_id,
    project_id: pipeline.project_id,
    parent_id: pipeline.id,
    name,
    create_time: before?.create_time ?? time,
    created_by: before?.created_by ?? by,
    update_time: time,
    updated_by: by,
    fields: { ...decision, ...pair },
  }
  draft.put(document)
  return document
}
