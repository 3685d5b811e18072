// Collaborators of the decision point, the request that it evaluates, and the events that it reports.
import type { BudgetLimits, PlanUses } from '../engine/conditions.ts'
import type { ExecutionError } from '../engine/errors.ts'
import type { GraphStore } from '../engine/store.ts'
import type { ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import type { InlineHistory } from '../kernel/request/inline-history.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import type { StoredModel, UsedModel } from '../model/stored-model.ts'
import type { GrantingPolicy, PolicyName } from '../policy/compile-policy.ts'
import type { DraftPolicies } from '../policy/draft-policies.ts'
import type { PolicyIndex } from '../policy/policy-index.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { PageTokens } from './page-token.ts'
import type { RequestContextMembers } from './schema.ts'
import type { SearchCache } from './search-cache.ts'

/** The subject or the resource of a request. */
export interface Entity {
  readonly type: string
  /** Null for the entity that a search looks for. */
  readonly id: string | null
  readonly properties?: Readonly<Record<string, unknown>> | undefined
}

/**
 * A request to decide: the body of an evaluation, or the request that a search makes of its body. Unknown members of a
 * body stay in it and are ignored.
 */
export interface EvaluationRequest {
  readonly subject: Entity
  readonly resource: Entity
  readonly action: { readonly name: string; readonly properties?: Readonly<Record<string, unknown>> | undefined }
  readonly context?: RequestContextMembers
}

/** The kind of a request. */
export type RequestKind = 'evaluation' | 'resource search' | 'subject search' | 'action search'

/**
 * An error inside one policy during evaluation: the policy does not grant
 * (docs/decisions/0008-policy-filters-and-parameters.md).
 */
export interface PolicyError {
  readonly projectId: string
  readonly policyId: string
  /** Revision of the policy document. */
  readonly revision: number
  readonly requestKind: RequestKind
  readonly code: ExecutionError['code']
  readonly message: string
}

/**
 * One answered decision or search, including errors. It refers to the request's own objects, which must not be changed.
 */
export interface DecisionEvent {
  readonly kind: RequestKind
  readonly origin: RequestOrigin
  /** Set for a search that is a part of another request. */
  readonly partOf?: 'what-authorized' | 'who-authorized'
  readonly caller: AgentCaller
  /** Index in a batch; null for a single call. */
  readonly item: number | null
  /** The same object for all items of a batch; absent for a single call. */
  readonly batch?: object
  /** Null for a malformed item of a batch. */
  readonly request: EvaluationRequest | null
  /** Null for searches and errors. */
  readonly decision: boolean | null
  /** Why an evaluation is a denial, if there is more to say than that no policy grants. */
  readonly reason: string | null
  /** Number of results in the answer; null for evaluations and errors. */
  readonly found: number | null
  /** The error; null if there is an answer. */
  readonly error: ServiceError | null
  readonly durationMs: number
  /** When it began, of `performance.now()`. */
  readonly startedMs: number
  /** The id of the answer; null: the decision log is off. */
  readonly id: string | null
  /** The policy that granted; null: none did, it is not an evaluation, or neither `decisionId` nor `namesGranting` is set. */
  readonly granting: GrantingPolicy | null
  /** The policy that denied what another one grants; null: none did, or it is not an evaluation. */
  readonly forbidding: PolicyName | null
  /** The plans that were run; null: they are not observed. */
  readonly plans: PlanUses | null
}

/** The decision policies of a project. */
export type DecisionPolicies = Pick<PolicyIndex, 'find' | 'actions' | 'subjectTypes' | 'ofSubjectType' | 'all'>

/** The decision policies of a project as if its drafts were in force, and the drafts that cannot be. */
type DraftDecisionPolicies = Pick<DraftPolicies, keyof DecisionPolicies | 'broken' | 'allBroken'>

/** Collaborators and limits of the decision point. */
export interface DecisionDeps {
  /** Those in force. */
  readonly policies: DecisionPolicies
  /** The model of a project, which a comparison replaces. Absent: no project has one. */
  readonly modelOf?: (projectId: string) => StoredModel
  /** What records and answers say of the model of a project; null: it has none. Absent: no project has one. */
  readonly modelUsed?: (projectId: string) => UsedModel | null
  /** For requests with `context.policy_status: "DRAFT"`. */
  readonly drafts: DraftDecisionPolicies
  /** Returns the graphs of a project; null while it is not provisioned, or after its deletion. */
  graphsOf(projectId: string): ProjectGraphs | null
  /** All graphs of a project, whose data is compared with a proposed model. Absent: none is. */
  storesOf?(projectId: string): readonly GraphStore[]
  /** The weights of the profile that scores a node type, by dimension in lower case; for explanations. Null: no profile does. */
  dimensionWeights?(projectId: string, nodeType: string): ReadonlyMap<string, number> | null
  /** Limits of one evaluation with all its policies, or of one search. */
  readonly limits: BudgetLimits
  /** Maximum characters of one string in the input parameters. */
  readonly inputStringMax: number
  /** Maximum items of one batch. */
  readonly evaluationsMax: number
  /**
   * Maximum milliseconds of a batch or an explanation on the event loop; a longer one throws LaneRequiredError.
   * Absent: no limit. Single requests have `limits.inlineMs`.
   */
  readonly inlineMs?: number
  /** By kind of request; absent if nothing runs in lanes. */
  readonly inlineHistory?: Readonly<Record<RequestKind, InlineHistory>>
  /** Maximum milliseconds of a batch: an item that would start later is not evaluated. */
  readonly batchTimeMs: number
  /** Maximum results of one page. */
  readonly searchPageMax: number
  /** Creates and reads page tokens. */
  readonly pageTokens: PageTokens
  /** Caches results for further pages. */
  readonly searchCache: SearchCache
  /** Called for each error inside a policy. */
  onPolicyError(error: PolicyError): void
  /** Called for an error of the service that failed one item of a batch, if the operator must know. */
  onServiceError(error: ThrownServiceError): void
  /**
   * Called after each decision or search, synchronously; must not throw or block. Null: no listener, and durations are
   * not measured.
   */
  readonly onDecided: ((event: DecisionEvent) => void) | null
  /** Generates the id of an answer; null: answers have none. */
  readonly decisionId: (() => string) | null
  /** True: `onDecided` needs the policy that granted. */
  readonly namesGranting?: boolean
  /** True: `onDecided` needs the plans that were run. */
  readonly observesPlans?: boolean
}
