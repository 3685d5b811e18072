// The relationships that runs and decisions write: `_SAME_AS` from the source node to the target node. A relationship of that type
// without `pipeline_id` belongs to another part of the service, and is never changed.
import type { ConfigReader } from '../config/kind.ts'
import type { PropertyInput, RelationshipImage, RelationshipKey, WriteBatch } from '../engine/store.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import { Float } from '../kernel/float.ts'
import type { MatchDecision } from './decisions.ts'
import { entityMatchingPipelinesKind, type MatchedTypes } from './entity-matching-pipeline.ts'
import type { NodePair } from './run-state.ts'

/** The type of the relationships. Captures and queries cannot write it, because it is reserved. */
export const SAME_AS = '_SAME_AS'
/** The property that names the pipeline. */
export const PIPELINE_PROPERTY = 'pipeline_id'
const RUN_PROPERTY = 'run_id'

/** A pair that a run found. */
export interface FoundMatch {
  readonly runId: string
  /** From 0 to 1. */
  readonly score: number
  /** The properties with evidence for the match, the strongest first: `name`, or `name/full_name` if the names differ. */
  readonly properties: readonly string[]
  /** Parallel: how similar they are, from 0 to 1. */
  readonly similarities: readonly number[]
}

/** Whether a relationship may be changed, by its `pipeline_id`; null: it has none. */
export type OwnershipTest = (owner: PropertyValue | null) => boolean

/** The relationships that a pipeline may change: its own, and those that deleted pipelines have kept. */
export function ownOrKept(reader: ConfigReader, pipelineId: string): OwnershipTest {
  return (owner) =>
    owner === pipelineId || (typeof owner === 'string' && reader.get(entityMatchingPipelinesKind, owner) === null)
}

/** The relationships that have the id of a pipeline. */
export function onlyOwn(pipelineId: string): OwnershipTest {
  return (owner) => owner === pipelineId
}

/** The key of the relationship of a pair. */
export function sameAsKey({ source, target }: MatchedTypes, pair: NodePair): RelationshipKey {
  return {
    source: { type: source, externalId: pair.source },
    target: { type: target, externalId: pair.target },
    type: SAME_AS,
  }
}

/** The properties that the relationship of a pair should have; null: it should not exist. */
export function wantedProperties(
  pipelineId: string,
  match: FoundMatch | null,
  decision: MatchDecision | null,
): ReadonlyMap<string, PropertyValue> | null {
  if (decision?.decision === 'NOT_SAME') return null
  if (decision !== null) {
    return new Map<string, PropertyValue>([
      [PIPELINE_PROPERTY, pipelineId],
      ['score', new Float(1)],
      ['decision', decision.decision],
      ['decided_by', decision.by],
      ['decided_time', decision.time],
    ])
  }
  if (match === null) return null
  const { runId, score, properties, similarities } = match
  return new Map<string, PropertyValue>([
    [PIPELINE_PROPERTY, pipelineId],
    ['score', new Float(score)],
    [RUN_PROPERTY, runId],
    ['matched_properties', properties],
    ['similarities', similarities.map((one) => new Float(one))],
  ])
}

/** Whether a relationship is as wanted. The run that found it before may have been an earlier one. */
export function isAsWanted(
  before: ReadonlyMap<string, PropertyValue | null>,
  wanted: ReadonlyMap<string, PropertyValue>,
): boolean {
  if (before.size !== wanted.size) return false
  for (const [name, value] of wanted) {
    const found = before.get(name)
    if (found === undefined || found === null) return false
    if (name !== RUN_PROPERTY && !isEqual(found, value)) return false
  }
  return true
}

/** The effect of `writeSameAs`. */
type SameAsChange = 'written' | 'removed' | 'unchanged'

/** Makes the relationship of a pair as wanted, within a batch. One that `mayChange` refuses stays as it is. */
export function writeSameAs(
  batch: WriteBatch,
  mayChange: OwnershipTest,
  key: RelationshipKey,
  wanted: ReadonlyMap<string, PropertyValue> | null,
): SameAsChange {
  const image = batch.relationshipImage(key)
  if (image !== null && !mayChange(image.property(PIPELINE_PROPERTY))) return 'unchanged'
  if (wanted === null) {
    if (image === null) return 'unchanged'
    batch.deleteRelationship(key)
    return 'removed'
  }
  const before = valuesOf(image)
  if (isAsWanted(before, wanted)) return 'unchanged'
  const properties: PropertyInput[] = [...wanted].map(([name, value]) => ({ name, value }))
  // An end node was deleted since it was read.
  if (batch.upsertRelationship({ ...key, properties }) === null) return 'unchanged'
  const removed = [...before.keys()].filter((name) => !wanted.has(name))
  if (removed.length > 0) batch.deleteRelationshipProperties(key, removed)
  return 'written'
}

function valuesOf(image: RelationshipImage | null): ReadonlyMap<string, PropertyValue | null> {
  return image === null ? new Map() : new Map([...image.properties()].map(([name, { value }]) => [name, value]))
}

function isEqual(a: PropertyValue, b: PropertyValue): boolean {
  if (a instanceof Float && b instanceof Float) return a.value === b.value
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, i) => isEqual(one, b[i]))
  return a === b
}
