// Explains a decision: the decision itself, made as an evaluation makes it, and the outcome of each policy, all on the
// same snapshots. See docs/decisions/0021-explanations-and-masking.md.
import type { DecisionTrace, FailedComparison, MatchedPattern, ProfileNode } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import { toJson } from '../engine/value/json-conversion.ts'
import { TRUST_SCORE_LABEL } from '../kernel/element-rules.ts'
import { graphNotFound, type ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import { LaneRequiredError } from '../kernel/request/lane-required.ts'
import { nextExecutionMs, requestStartMs } from '../kernel/request/remote-reads.ts'
import { ok, type Result } from '../kernel/result.ts'
import { escapeInvisible, escapeInvisibleIn } from '../kernel/text/invisible-characters.ts'
import { type BrokenForbid, compiledIn, isForbidding } from '../policy/compile-policy.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import { decide, type EvaluationContext } from './decide.ts'
import type { DecisionDeps, EvaluationRequest } from './decision-deps.ts'
import { bindParameters, hasAnyTag, policiesFor, tokenMatchesSubject } from './evaluation-inputs.ts'
import type {
  EntityName,
  ExplainedScore,
  Explanation,
  FailedComparisonText,
  MatchedElements,
  NearestMiss,
  PlanStep,
  PolicyExplanation,
} from './explain-schema.ts'
import { type DimensionWeights, scoresOfNodes } from './explain-scores.ts'
import type { ParameterMask } from './parameter-mask.ts'
import { policiesOfStatus } from './policy-status.ts'
import { type ReadSession, readInSession } from './read-session.ts'

/**
 * Explains one request. Errors are those of an evaluation. Throws LaneRequiredError if it takes longer than
 * `deps.inlineMs` on the event loop.
 */
export function explainDecision(
  deps: DecisionDeps,
  caller: AgentCaller,
  mask: ParameterMask,
  request: EvaluationRequest,
): Result<Explanation, ServiceError> {
  const { subject, resource, action } = request
  const graphs = deps.graphsOf(caller.projectId)
  if (graphs === null) return graphNotFound
  const startedMs = performance.now()
  return readInSession(graphs, deps, (session) => {
    session.budget.start(deps.limits)
    // Errors of policies are part of the answer and are not logged.
    const evaluation: EvaluationContext = { deps: { ...deps, onPolicyError: () => {} }, caller, kind: 'evaluation' }
    const decided = decide(evaluation, session, request)
    if (!decided.ok) return decided
    // An input parameter that none of these policies reads is accepted, as in an evaluation.
    const requested = compiledIn(policiesFor(deps, caller.projectId, request))
    const bound = bindParameters(deps, caller, request, requested)
    if (!bound.ok) return bound
    session.parameters = bound.value
    // Each policy has a budget of its own. All policies together have the time of a batch, because an explanation
    // blocks the event loop.
    const endsMs = requestStartMs() + deps.batchTimeMs
    const laneMs = deps.inlineMs === undefined ? Number.POSITIVE_INFINITY : startedMs + deps.inlineMs
    const weightsOf: DimensionWeights = (nodeType) => deps.dimensionWeights?.(caller.projectId, nodeType) ?? null
    const policies = policiesOfStatus(deps, request.context).find(
      caller.projectId,
      subject.type,
      action.name,
      resource.type,
    )
    const explanations = compiledIn(policies).map((policy) => {
      if (performance.now() > laneMs) throw new LaneRequiredError('explanation')
      return explainPolicy(policy, caller, session, request, endsMs, mask, weightsOf)
    })
    const model = deps.modelUsed?.(caller.projectId) ?? null
    explanations.push(...policies.broken.map(brokenExplanation))
    return ok({
      ...decided.value,
      ...(model !== null && { model }),
      parameters: parametersUsed(requested, bound.value, mask),
      policies: explanations,
      duration_ms: performance.now() - startedMs,
    })
  })
}

/** Of a policy that would forbid, and denies everything, because it does not compile any more. */
function brokenExplanation({ id, name, revision, version, tags }: BrokenForbid): PolicyExplanation {
  const fault = { code: 'plan', message: 'the policy does not compile any more: store it again, or remove it' }
  return { id, name, revision, version, tags: [...tags], effect: 'forbid', outcome: 'faulted', fault, duration_ms: 0 }
}

function readsScores({ condition }: CompiledPolicy): boolean {
  return condition.symbols.some(({ kind, name }) => kind === 'label' && name === TRUST_SCORE_LABEL)
}

/** Of the subject, the resource, and the nodes of the match or of the nearest miss. */
function scoresOf(
  { matched, nearest_miss }: PolicyOutcome,
  session: ReadSession,
  { subject, resource }: EvaluationRequest,
  weightsOf: DimensionWeights,
): ExplainedScore[] {
  const found = matched ?? nearest_miss?.reached?.sample
  return scoresOfNodes([subject, resource, ...(found?.nodes ?? [])], session.snapshots(), weightsOf)
}

type PolicyOutcome = Omit<PolicyExplanation, 'id' | 'name' | 'revision' | 'version' | 'tags' | 'effect' | 'duration_ms'>

function explainPolicy(
  policy: CompiledPolicy,
  caller: AgentCaller,
  session: ReadSession,
  request: EvaluationRequest,
  endsMs: number,
  mask: ParameterMask,
  weightsOf: DimensionWeights,
): PolicyExplanation {
  const startedMs = performance.now()
  const outcome: PolicyOutcome =
    nextExecutionMs() > endsMs
      ? { outcome: 'skipped', because: 'time' }
      : outcomeOf(policy, caller, session, request, endsMs, mask)
  const { id, name, revision, version, tags } = policy
  const scores = readsScores(policy) ? { trust_scores: scoresOf(outcome, session, request, weightsOf) } : {}
  return {
    id,
    name,
    revision,
    version,
    tags: [...tags],
    ...(isForbidding(policy) && { effect: 'forbid' }),
    ...outcome,
    ...scores,
    duration_ms: performance.now() - startedMs,
  }
}

function outcomeOf(
  policy: CompiledPolicy,
  caller: AgentCaller,
  session: ReadSession,
  request: EvaluationRequest,
  endsMs: number,
  mask: ParameterMask,
): PolicyOutcome {
  const tags = request.context?.policy_tags
  const forbids = isForbidding(policy)
  if (!forbids && tags !== undefined && !hasAnyTag(policy, tags)) return { outcome: 'skipped', because: 'tags' }
  if (!tokenMatchesSubject(caller.user, request.subject)) return { outcome: 'skipped', because: 'token' }
  const { parameters } = session
  const missing = policy.inputParameters.filter((name) => !parameters.has(name))
  const withoutParameters = { outcome: forbids ? 'forbidden' : 'skipped', because: 'parameters' } as const
  if (missing.length > 0) return { ...withoutParameters, missing }
  startUntil(session, endsMs)
  try {
    const { filter } = policy
    const isOff = forbids
      ? filter?.excludes(session.budget, parameters)
      : filter?.admits(session.budget, parameters) === false
    if (filter !== null && isOff) {
      const { leaves, advice } = filter.explainRejection(session.budget, parameters)
      return {
        outcome: 'skipped',
        because: 'filter',
        filter: { failing: [...leaves], advice: advice.map((one) => escapeInvisibleIn(one) as typeof one) },
      }
    }
    const { subject, resource } = request
    const holds = policy.condition.check(session, subject.id ?? '', resource.id ?? '')
    const outcome = forbids ? (holds ? 'forbidden' : 'passed') : holds ? 'granted' : 'denied'
    return { outcome, ...details(policy, session, request, holds, endsMs, mask) }
  } catch (error) {
    if (!(error instanceof ExecutionError)) throw error
    if (error.code === 'missing-parameter') {
      return { ...withoutParameters, missing: error.subject === null ? [] : [error.subject] }
    }
    return { outcome: 'faulted', fault: { code: error.code, message: escapeInvisible(error.redactedMessage) } }
  }
}

/** Each policy has the time of an evaluation, within the time that all of them share. */
function startUntil({ budget, limits }: ReadSession, endsMs: number): void {
  const timeMs = Math.max(1, Math.min(limits.timeMs, endsMs - nextExecutionMs()))
  budget.start({ ...limits, timeMs })
}

/** Collecting details costs more than deciding. If it exceeds a limit, the outcome is returned without details. */
function details(
  policy: CompiledPolicy,
  session: ReadSession,
  request: EvaluationRequest,
  holds: boolean,
  endsMs: number,
  mask: ParameterMask,
): Partial<PolicyOutcome> {
  startUntil(session, endsMs)
  try {
    const why = policy.condition.trace(session, request.subject.id ?? '', request.resource.id ?? '')
    if (why.decision !== holds) return {}
    return {
      unknown: [...why.unknown],
      ...(why.matched === null ? {} : { matched: elementsOf(why.matched) }),
      ...(why.nearestMiss === null ? {} : { nearest_miss: missOf(why.nearestMiss, mask) }),
      plan: stepOf(why.profile),
    }
  } catch (error) {
    if (!(error instanceof ExecutionError)) throw error
    return { fault: { code: error.code, message: escapeInvisible(error.redactedMessage) } }
  }
}

type TracedMiss = NonNullable<DecisionTrace['nearestMiss']>

function missOf({ reached, stopped }: TracedMiss, mask: ParameterMask): NearestMiss {
  const { found, alternatives } = stopped
  return {
    reached: reachedOf(reached),
    stopped: {
      ...stoppedOf(stopped, mask),
      ...(found === null ? {} : { found: elementsOf(found) }),
      ...(alternatives.length === 0
        ? {}
        : {
            alternatives: alternatives.map((one) => ({
              alternative: one.alternative,
              reached: reachedOf(one.reached),
              stopped: stoppedOf(one.stopped, mask),
            })),
          }),
    },
  }
}

function reachedOf(reached: TracedMiss['reached']): NearestMiss['reached'] {
  if (reached === null) return null
  return { step: escapeInvisible(reached.step), rows: reached.rows, sample: elementsOf(reached.sample) }
}

function stoppedOf(
  { step, says, comparisons }: Pick<TracedMiss['stopped'], 'step' | 'says' | 'comparisons'>,
  mask: ParameterMask,
): Pick<NearestMiss['stopped'], 'step' | 'says' | 'comparisons'> {
  return {
    step: escapeInvisible(step),
    says: escapeInvisible(says),
    ...(comparisons.length === 0 ? {} : { comparisons: comparisons.map((one) => comparisonOf(one, mask)) }),
  }
}

/** A value is shown if no name on the way to it is masked. */
function comparisonOf({ text, values }: FailedComparison, mask: ParameterMask): FailedComparisonText {
  return {
    text: escapeInvisible(text),
    values: values.map(({ text: of, names, value }) => ({
      of: escapeInvisible(of),
      value:
        value === null
          ? null
          : mask.valueAt(
              names,
              toJson(value, () => null),
            ),
    })),
  }
}

/** Returns the elements of a match as an answer has them. */
export function elementsOf({ nodes, relationships, derived }: MatchedPattern): MatchedElements {
  return {
    nodes: nodes.map((node) => ({ ...entityOf(node), variable: node.variable })),
    relationships: relationships.map(relationshipOf),
    ...(derived.length === 0
      ? {}
      : {
          derived: derived.map((one) => ({
            ...derivedOf(one),
            alternative: one.alternative,
            relationships: one.relationships.map(relationshipOf),
            derived: one.derived.map(derivedOf),
          })),
        }),
  }
}

type Matched = MatchedPattern['relationships'][number]

function relationshipOf({ variable, type, source, target }: Matched): MatchedElements['relationships'][number] {
  return { variable, type, source: entityOf(source), target: entityOf(target) }
}

function derivedOf({ type, source, target }: Omit<Matched, 'variable'>) {
  return { type, source: entityOf(source), target: entityOf(target) }
}

function entityOf({ type, externalId }: { type: string | null; externalId: string | null }): EntityName {
  return { type, id: externalId }
}

function stepOf({ operator, detail, rows, reads, timeMs, children }: ProfileNode): PlanStep {
  const below = children.map(({ role, node }) => ({ role, ...stepOf(node) }))
  return { operator, detail: escapeInvisible(detail), rows, reads, time_ms: timeMs, children: below }
}

/** Returns the masked values of the parameters that the policies read, from any source. */
function parametersUsed(
  policies: readonly CompiledPolicy[],
  parameters: BoundParameters,
  mask: ParameterMask,
): Record<string, unknown> {
  const used = Object.create(null) as Record<string, unknown>
  const names = policies.flatMap((policy) => policy.parameters)
  for (const name of new Set(names)) {
    const value = parameters.get(name)
    if (value !== undefined) used[name] = toJson(value, () => null)
  }
  return mask.apply(used)
}
