// CONTRACT STUB (the engine's author replaces it): a policy condition compiled once and asked three questions.
import type { Issue } from '../../grammar/issue.ts'
import type { Result } from '../kernel/result.ts'
import type { BudgetLimits } from './exec/context.ts'
import type { Snapshot } from './store.ts'
import type { Value } from './value/value.ts'

/** `open` admits the whole language that the engine executes; the others are policy versions. */
export type DialectName = 'open' | '2.0-kbac' | '3.0-kbac' | '1.0-ciq'

export interface Asking {
  readonly snapshot: Snapshot
  readonly parameters: ReadonlyMap<string, Value>
  readonly limits: BudgetLimits
}

/**
 * A condition that binds `subject` and `resource`: the relation of all (subject, resource) pairs of the given types for
 * which the pattern has a row. Each question asks that one relation, so a search contains x exactly when the check is true.
 * All methods are synchronous and may throw RunFault (missing parameter, type, budget).
 */
export interface Condition {
  /** Without `$`, in the order of the text. */
  readonly parameters: readonly string[]
  /** False when a node is unknown. */
  check(asking: Asking, subjectId: string, resourceId: string): boolean
  /** External ids of all resources for the subject, each once, ascending by node id (stable while the graph is unchanged). */
  resources(asking: Asking, subjectId: string): string[]
  subjects(asking: Asking, resourceId: string): string[]
  /** Stable text of the plan for a question. */
  explain(question: 'check' | 'resources' | 'subjects'): string
}

export interface ConditionInput {
  readonly text: string
  readonly dialect: DialectName
  readonly subjectType: string
  readonly resourceType: string
}

export function compileCondition(_input: ConditionInput): Result<Condition, readonly Issue[]> {
  throw new Error('contract stub')
}
