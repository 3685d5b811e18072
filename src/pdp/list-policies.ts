// The decision policies that are in force for a type of subject, for whoever keeps a copy of them (facts 1.3.5).
import { z } from 'zod'
import type { AgentCaller } from '../kernel/caller.ts'
import type { DecisionDeps } from './decision-deps.ts'

export const policiesQuery = z.strictObject({
  subject_type: z
    .string()
    .min(2)
    .max(64)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'expected a label: letters, digits and underscores, no digit first' }),
})

export interface PolicyList {
  readonly results: readonly { readonly policy: unknown; readonly tags: readonly string[] }[]
}

export function listPolicies(parts: DecisionDeps, caller: AgentCaller, subjectType: string): PolicyList {
  const policies = parts.policies.ofSubjectType(caller.projectId, subjectType)
  return { results: policies.map(({ document, tags }) => ({ policy: document, tags })) }
}
