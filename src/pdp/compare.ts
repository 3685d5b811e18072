// Answers a request to compare the ACTIVE policies of a project with a proposal: which decisions would change.

import { platformParameters } from '../engine/conditions.ts'
import { graphNotFound, type ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json/json.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import type { AgentCaller, Claims } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { compiledModel, definedNames, noModel, type StoredModel } from '../model/stored-model.ts'
import {
  type BrokenForbid,
  type CompiledDocument,
  compileDecisionDocument,
  compileDecisionPolicy,
  compiledIn,
  isForbidding,
} from '../policy/compile-policy.ts'
import type { BrokenDraft } from '../policy/draft-policies.ts'
import { inputIssues } from '../policy/input-parameters.ts'
import { mayName } from '../policy/model-consequences.ts'
import { modelWarnings, modelWarningsNow } from '../policy/model-warnings.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import {
  type ComparedPolicy,
  type ComparisonLimits,
  comparePolicies,
  isInScope,
  type PolicySets,
} from './compare-policies.ts'
import type { ComparisonScope } from './comparison-parameters.ts'
import type { ComparisonReport, ComparisonRequest, LeftOutPolicy } from './comparison-schema.ts'
import type { DecisionDeps } from './decision-deps.ts'
import type { ParameterMask } from './parameter-mask.ts'

const DEFAULT_SAMPLE = 3

/** Part of the time of a batch that a comparison takes at most. The rest is for the answer, also on a busy machine. */
const TIME_SHARE_MAX = 0.75
/** Part without a budget: several at the same time, one after the other in a lane, end before the last one has waited too long. */
const TIME_SHARE = 0.2

/**
 * Compares the ACTIVE policies of the caller's project with those that the request proposes.
 * Errors: `not-found` (no graph), `invalid` (a proposed policy does not compile, an unknown name, input parameters).
 */
export function compareProposal(
  deps: DecisionDeps,
  caller: AgentCaller,
  mask: ParameterMask,
  request: ComparisonRequest,
): Result<ComparisonReport, ServiceError> {
  const startedMs = performance.now()
  const { projectId } = caller
  const graphs = deps.graphsOf(projectId)
  if (graphs === null) return graphNotFound
  const scope = scopeOf(request)
  const issues = inputIssues(scope.inputParams ?? {}, {
    at: 'context.input_params',
    reserved: platformParameters,
    stringMax: deps.inputStringMax,
  })
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  const sets = policySets(deps, projectId, request)
  if (!sets.ok) return sets
  const compared = comparePolicies(deps, graphs, caller, scope, sets.value, limitsOf(deps, request))
  if (!compared.ok) return compared
  const { gains, losses, leftOut, steps } = compared.value
  const broken = request.draft === true ? deps.drafts.allBroken(projectId) : []
  const left = [
    ...broken.map(leftOutDraft),
    ...deps.policies.all(projectId).broken.map(leftOutBroken),
    ...leftOutTags(sets.value, scope),
    ...leftOut,
  ]
  const sum = (changes: typeof gains): number =>
    changes.reduce((all, { pairs, actions }) => all + pairs * actions.length, 0)
  return ok({
    complete: left.length === 0,
    gained: sum(gains),
    lost: sum(losses),
    gains: [...gains],
    losses: [...losses],
    left_out: left,
    parameters: mask.apply(parametersOf(request)),
    steps,
    duration_ms: performance.now() - startedMs,
  })
}

/**
 * The warnings that storing the proposed model would give: stored data that it would not fit. Empty without a proposed model. Rejects if a
 * graph cannot be read.
 */
export async function proposedModelWarnings(
  { storesOf }: Pick<DecisionDeps, 'storesOf'>,
  projectId: string,
  { model }: ComparisonRequest,
): Promise<readonly string[]> {
  if (typeof model !== 'string' || storesOf === undefined) return []
  return await modelWarnings(storesOf(projectId), compiledModel({ model }))
}

/** As `proposedModelWarnings`, for graphs of this process and a caller that cannot wait. */
export function proposedModelWarningsNow(
  { storesOf }: Pick<DecisionDeps, 'storesOf'>,
  projectId: string,
  { model }: ComparisonRequest,
): readonly string[] {
  if (typeof model !== 'string' || storesOf === undefined) return []
  return modelWarningsNow(storesOf(projectId), compiledModel({ model }))
}

/** The report with warnings about the proposed model. */
export function withWarnings(report: ComparisonReport, warnings: readonly string[]): ComparisonReport {
  return warnings.length === 0 ? report : { ...report, warnings: [...warnings] }
}

function scopeOf({ subject = {}, action = {}, resource = {}, context, token }: ComparisonRequest): ComparisonScope {
  return {
    subject,
    action,
    resource,
    inputParams: context?.input_params,
    policyTags: context?.policy_tags,
    token:
      token === undefined ? null : { claims: token.claims ?? {}, delegation: (token.delegation as Claims) ?? null },
  }
}

/** A caller may lower the limits, and not raise them. */
function limitsOf(deps: DecisionDeps, { budget = {}, sample = DEFAULT_SAMPLE }: ComparisonRequest): ComparisonLimits {
  const rowsHeldMax = deps.limits.rowsHeldMax ?? Number.POSITIVE_INFINITY
  return {
    timeMs: Math.min(budget.time_ms ?? deps.batchTimeMs * TIME_SHARE, deps.batchTimeMs * TIME_SHARE_MAX),
    stepsMax: budget.steps ?? Number.POSITIVE_INFINITY,
    rowsHeldMax: Math.min(budget.rows ?? rowsHeldMax, rowsHeldMax),
    sampleMax: sample,
  }
}

function policySets(
  deps: DecisionDeps,
  projectId: string,
  { policies = [], removed_policies = [], replace_all = false, draft = false, model: text }: ComparisonRequest,
): Result<PolicySets, ServiceError> {
  const issues: string[] = []
  const stored = deps.modelOf?.(projectId) ?? noModel
  const model = text === undefined ? stored : text === null ? noModel : compiledModel({ model: text })
  const derived = [...definedNames(stored), ...definedNames(model)]
  const modelOf = (policy: CompiledPolicy | CompiledDocument, meaning: StoredModel): string =>
    mayName(policy.document.condition.cypher, derived) ? (meaning.ok ? (meaning.value?.text ?? '') : '') : ''
  const asStored = (policy: CompiledPolicy): ComparedPolicy => ({
    ...policy,
    isStored: true,
    model: modelOf(policy, stored),
  })
  if (!model.ok) return err({ kind: 'invalid', issues: model.error })
  const inForce = deps.policies.all(projectId)
  const old = compiledIn(inForce).map(asStored)
  const names = new Set(old.map(({ name }) => name))
  for (const [i, name] of removed_policies.entries()) {
    if (!names.has(name)) issues.push(`removed_policies[${i}]: no ACTIVE decision policy is named \`${name}\``)
  }
  const proposed: ComparedPolicy[] = []
  const given = new Set<string>()
  for (const [i, { name, policy, tags }] of policies.entries()) {
    if (given.has(name)) issues.push(`policies[${i}].name: \`${name}\` is given twice`)
    given.add(name)
    const compiled = compileDecisionPolicy(writeJson(policy), model.value)
    if (compiled.ok)
      proposed.push({
        ...compiled.value,
        ...{ id: '', name, revision: 0, tags: tags ?? [], isStored: false, model: modelOf(compiled.value, model) },
      })
    else issues.push(...compiled.error.map((issue) => `policies[${i}].${issue}`))
  }
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  const all = draft ? compiledIn(deps.drafts.all(projectId)).map(asStored) : old
  const removed = new Set([...removed_policies, ...given])
  const kept = replace_all ? [] : all.filter(({ name }) => !removed.has(name))
  if (text === undefined) return ok({ old, new: [...kept, ...proposed] })
  const recompiled = kept.flatMap((policy): readonly ComparedPolicy[] => {
    const compiled = compileDecisionDocument(policy.document, model.value)
    if (compiled.ok) return [{ ...policy, ...compiled.value, model: modelOf(policy, model) }]
    issues.push(...compiled.error.map((issue) => `model: the policy \`${policy.name}\` would not compile: ${issue}`))
    return []
  })
  return issues.length > 0 ? err({ kind: 'invalid', issues }) : ok({ old, new: [...recompiled, ...proposed] })
}

/** The policies of both sets whose tags differ. They change decisions with `context.policy_tags`, and those are not compared. */
function leftOutTags({ old, new: after }: PolicySets, scope: ComparisonScope): readonly LeftOutPolicy[] {
  if (scope.policyTags !== undefined) return []
  const before = new Map(old.map((policy) => [policy.name, policy]))
  return after.flatMap((policy) => {
    const stored = before.get(policy.name)
    // Tags do not select among policies that forbid.
    if (isForbidding(policy)) return []
    if (stored === undefined || haveSameTags(stored, policy) || !isInScope(policy, scope)) return []
    const { name, actions, subjectType, resourceType } = policy
    const compared = actions.filter((action) => scope.action.name === undefined || scope.action.name === action)
    if (compared.length === 0) return []
    return {
      policy: { id: stored.id, name },
      in: 'both',
      actions: compared,
      subject_type: subjectType,
      resource_type: resourceType,
      reason: 'tags',
      message: 'its tags differ: decisions with `context.policy_tags` were not compared',
    } as const
  })
}

function haveSameTags({ tags }: CompiledPolicy, other: CompiledPolicy): boolean {
  return new Set(tags).symmetricDifference(new Set(other.tags)).size === 0
}

function leftOutDraft({ id, name, actions, subjectType, resourceType, issues }: BrokenDraft): LeftOutPolicy {
  return {
    policy: { id, name },
    in: 'new',
    actions: [...actions],
    subject_type: subjectType,
    resource_type: resourceType,
    reason: 'draft',
    message: `the draft does not compile: ${issues[0]?.split('\n')[0] ?? ''}`,
  }
}

function leftOutBroken({ id, name, ...types }: BrokenForbid): LeftOutPolicy {
  return {
    policy: { id, name },
    in: 'both',
    ...{ actions: [...types.actions], subject_type: types.subjectType, resource_type: types.resourceType },
    reason: 'fault',
    message:
      'the policy does not compile any more, and denies everything that it names: the decisions are compared without it',
  }
}

function parametersOf({ subject, action, resource, context }: ComparisonRequest): Record<string, unknown> {
  const parameters: Record<string, unknown> = { ...(isJsonObject(context?.input_params) ? context.input_params : {}) }
  for (const [end, value] of Object.entries({ subject, action, resource })) {
    if (value?.properties !== undefined) parameters[`${end}_properties`] = value.properties
  }
  return parameters
}
