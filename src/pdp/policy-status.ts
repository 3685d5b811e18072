// Requests about drafts: `context.policy_status` selects whether the DRAFT policies of a project decide too. Drafts show what their
// authors plan, so the caller needs the permission to read the configuration.

import type { ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import { err, type Result } from '../kernel/result.ts'
import { type CompiledPolicy, compiledIn } from '../policy/compile-policy.ts'
import type { DecisionDeps, DecisionPolicies, EvaluationRequest } from './decision-deps.ts'

type AskedContext = EvaluationRequest['context']

/** Whether the request asks about drafts. */
export function asksDrafts(context: AskedContext): boolean {
  return context !== undefined && context.policy_status === 'DRAFT'
}

/** The policies in force, and for a request about drafts these too. */
export function policiesOfStatus(
  { policies, drafts }: Pick<DecisionDeps, 'policies' | 'drafts'>,
  context: AskedContext,
): DecisionPolicies {
  return asksDrafts(context) ? drafts : policies
}

const notPermitted: Result<never, ServiceError> = err({
  kind: 'forbidden',
  message: '`context.policy_status` is `DRAFT`, and the caller does not have the permission ReadAuthZConfigs',
})

/**
 * The error of a request about drafts: the caller must not read them (`forbidden`), or a draft for these types and this action does
 * not compile (`invalid`). Null: none.
 */
export function draftError(
  { drafts }: Pick<DecisionDeps, 'drafts'>,
  caller: AgentCaller,
  { subject, action, resource, context }: EvaluationRequest,
): Result<never, ServiceError> | null {
  if (!asksDrafts(context)) return null
  if (!caller.permissions.has('ReadAuthZConfigs')) return notPermitted
  const broken = drafts.broken(caller.projectId, subject.type, action.name, resource.type)
  if (broken.length === 0) return null
  return err({
    kind: 'invalid',
    issues: broken.flatMap(({ name, issues }) =>
      issues.map((issue) => `context.policy_status: the draft \`${name}\` does not compile: ${issue}`),
    ),
  })
}

/** The policies with which a request was decided, for its records. */
export function policiesDecided(
  deps: {
    readonly policies: Pick<DecisionPolicies, 'find'>
    readonly drafts: Pick<DecisionPolicies, 'find'>
  },
  { projectId, permissions }: AgentCaller,
  { subject, action, resource, context }: EvaluationRequest,
): readonly CompiledPolicy[] {
  const isDraft = asksDrafts(context) && permissions.has('ReadAuthZConfigs')
  return compiledIn((isDraft ? deps.drafts : deps.policies).find(projectId, subject.type, action.name, resource.type))
}
