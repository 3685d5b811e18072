// Lists the decision policies in force for a subject type, for clients that keep a copy of them.
import { z } from 'zod'
import { label } from '../config/element-schemas.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import { compiledIn } from '../policy/compile-policy.ts'
import type { DecisionDeps } from './decision-deps.ts'

/** Query parameters of the policy list. */
export const policiesQuery = z.strictObject({ subject_type: label })

/** The response body. */
export interface PolicyList {
  readonly results: readonly { readonly policy: unknown; readonly tags: readonly string[] }[]
}

/**
 * Returns the ACTIVE decision policies of the caller's project for a subject type. Throws LaneRequiredError if it had
 * to compile too much.
 */
export function listPolicies(deps: DecisionDeps, caller: AgentCaller, subjectType: string): PolicyList {
  const policies = compiledIn(deps.policies.ofSubjectType(caller.projectId, subjectType))
  return { results: policies.map(({ document, tags }) => ({ policy: document, tags })) }
}
