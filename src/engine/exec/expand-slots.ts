// Frame indexes of the operators that expand along relationships.
import type { ExecutionContext } from './execution-context.ts'

/** The slots of the nodes at both ends. */
export interface EndpointPair {
  readonly from: number
  readonly to: number
}

/** The slots of an expand that fills in its relationship. */
export interface ExpandSlots extends EndpointPair {
  readonly relationship: number
  /** Slots of the other relationships of the same MATCH, which must differ; a slot holds an id or a list of ids. */
  readonly distinctFrom: readonly number[]
}

/** Whether another slot holds the relationship: a relationship may occur once in the match of one MATCH. */
export function isRelationshipUsed(
  run: ExecutionContext,
  distinctFrom: readonly number[],
  relationship: number,
): boolean {
  for (const slot of distinctFrom) {
    const other = run.frame[slot]
    if (other === relationship) return true
    if (!Array.isArray(other)) continue
    run.budget.chargeSteps(other.length >> 4)
    if (other.includes(relationship)) return true
  }
  return false
}
