// What decisions are given by the wiring, and what they tell it: faults inside policies, and every answer they gave.

import type { BudgetLimits } from '../engine/conditions.ts'
import type { ExecutionError } from '../engine/errors.ts'
import type { AgentCaller } from '../kernel/caller.ts'
import type { ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import type { InlineHistory } from '../kernel/inline-history.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { PageTokens } from './page-token.ts'
import type { RequestContextMembers } from './schema.ts'
import type { SearchCache } from './search-cache.ts'

export interface Entity {
  readonly type: string
  /** Null on the side that is sought. */
  readonly id: string | null
  readonly properties?: Readonly<Record<string, unknown>> | undefined
}

export interface Question {
  readonly subject: Entity
  readonly resource: Entity
  readonly action: { readonly name: string; readonly properties?: Readonly<Record<string, unknown>> | undefined }
  readonly context?: RequestContextMembers
}

export type RequestKind = 'evaluation' | 'resource search' | 'subject search' | 'action search'

/** A fault inside one policy: it does not grant (ruling D1), and its author wants to know why. */
export interface PolicyFault {
  readonly projectId: string
  readonly policyId: string
  /** Of the policy: a change of it may have mended it. */
  readonly revision: number
  readonly requestKind: RequestKind
  readonly code: ExecutionError['code']
  readonly message: string
}

/** One decision or search that was answered, refusals included. What it points at is the question's own: not to be changed. */
export interface DecisionEvent {
  readonly kind: RequestKind
  /** The X-Request-ID of the call. */
  readonly requestId: string
  readonly caller: AgentCaller
  /** Its place in a batch; null where it was a call of its own. */
  readonly item: number | null
  /** The same object for all items of a batch, and for them alone. */
  readonly batch?: object
  /** Null for an item of a batch that is no question. */
  readonly request: Question | null
  /** Null for searches and refusals. */
  readonly decision: boolean | null
  /** How many results the answer holds; null for evaluations and refusals. */
  readonly found: number | null
  /** Why there was no answer. */
  readonly error: ServiceError | null
  readonly durationMs: number
}

export interface DecisionDeps {
  readonly policies: {
    find(projectId: string, subjectType: string, action: string, resourceType: string): readonly CompiledPolicy[]
    actions(projectId: string, subjectType: string, resourceType: string): readonly string[]
    ofSubjectType(projectId: string, subjectType: string): readonly CompiledPolicy[]
  }
  /** Null while the project has no graph: not provisioned yet, or deleted. */
  graphsOf(projectId: string): ProjectGraphs | null
  /** Of one evaluation with all its policies, of one search. */
  readonly limits: BudgetLimits
  /** Characters of one string among the input parameters. */
  readonly inputStringMax: number
  /** Items of one batch. */
  readonly evaluationsMax: number
  /**
   * Milliseconds that a batch or an explanation may take on the serving loop; what takes longer throws LaneRequiredError.
   * Absent: no such limit. A single question has `limits.inlineMs`.
   */
  readonly inlineMs?: number
  /** By kind of question; absent where everything runs here. */
  readonly inlineHistory?: Readonly<Record<RequestKind, InlineHistory>>
  /** An item of a batch that would begin later than this is not asked any more. */
  readonly batchTimeMs: number
  /** Results of one answer. */
  readonly searchPageMax: number
  readonly pageTokens: PageTokens
  readonly searchCache: SearchCache
  onPolicyFault(fault: PolicyFault): void
  /** What kept an item of a batch from its answer, where the operator must know of it. */
  onServiceFault(fault: ThrownServiceError): void
  /** Null: nobody listens, and no time is taken. Called synchronously; must not throw and must not wait. */
  readonly onDecided: ((event: DecisionEvent) => void) | null
}
