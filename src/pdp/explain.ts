// Why a decision is what it is: the decision itself, made as an evaluation makes it, and beside it what each policy says to
// the question, all of the same snapshots.
import type { DecisionTrace, MatchedPattern, ProfileNode } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import { toJson } from '../engine/value/json-conversion.ts'
import type { Value } from '../engine/value/value.ts'
import type { AgentCaller } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { LaneRequiredError } from '../kernel/lane-required.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import { decide, type EvaluationContext } from './decide.ts'
import type { DecisionDeps, Question } from './decision-deps.ts'
import { bindParameters, graphNotFound, hasAnyTag, policiesFor, tokenMatchesSubject } from './evaluation-inputs.ts'
import type {
  EntityName,
  Explanation,
  MatchedElements,
  NearestMiss,
  PlanStep,
  PolicyExplanation,
} from './explain-schema.ts'
import type { ParameterMask } from './parameter-mask.ts'
import { ReadSession } from './read-session.ts'
import type { EvaluationRequest } from './schema.ts'

/** What an evaluation answers with a refusal is refused here in the same words. */
export function explainDecision(
  parts: DecisionDeps,
  caller: AgentCaller,
  mask: ParameterMask,
  request: EvaluationRequest,
): Result<Explanation, ServiceError> {
  const { subject, resource, action, context } = request
  const question: Question = { subject, resource, action, context }
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return graphNotFound
  const startedMs = performance.now()
  const reading = new ReadSession(graphs, parts.limits)
  try {
    reading.budget.start(parts.limits)
    // Its faults are told in the answer, to whoever asked.
    const asker: EvaluationContext = { deps: { ...parts, onPolicyFault: () => {} }, caller, kind: 'evaluation' }
    const decided = decide(asker, reading, question)
    if (!decided.ok) return decided
    // What no policy that was asked takes refuses nothing here, as it refuses no evaluation.
    const asked = policiesFor(parts, caller.projectId, question)
    const bound = bindParameters(parts, caller, question, asked)
    if (!bound.ok) return bound
    reading.parameters = bound.value
    // Each policy has a budget of its own; all of them together have the time of a batch, for nobody else is answered meanwhile.
    const endsMs = startedMs + parts.batchTimeMs
    const laneMs = parts.inlineMs === undefined ? Number.POSITIVE_INFINITY : startedMs + parts.inlineMs
    const policies = parts.policies.find(caller.projectId, subject.type, action.name, resource.type)
    const explained = policies.map((policy) => {
      if (performance.now() > laneMs) throw new LaneRequiredError('explanation')
      return explainPolicy(policy, caller, reading, question, endsMs)
    })
    return ok({
      ...decided.value,
      parameters: parametersUsed(asked, bound.value, mask),
      policies: explained,
      duration_ms: performance.now() - startedMs,
    })
  } finally {
    reading.close()
  }
}

type PolicyOutcome = Omit<PolicyExplanation, 'id' | 'name' | 'version' | 'tags' | 'duration_ms'>

function explainPolicy(
  policy: CompiledPolicy,
  caller: AgentCaller,
  reading: ReadSession,
  question: Question,
  endsMs: number,
): PolicyExplanation {
  const startedMs = performance.now()
  const said: PolicyOutcome =
    startedMs > endsMs ? { outcome: 'skipped', because: 'time' } : whatItSays(policy, caller, reading, question, endsMs)
  const { id, name, version, tags } = policy
  return { id, name, version, tags: [...tags], ...said, duration_ms: performance.now() - startedMs }
}

function whatItSays(
  policy: CompiledPolicy,
  caller: AgentCaller,
  reading: ReadSession,
  question: Question,
  endsMs: number,
): PolicyOutcome {
  const tags = question.context?.policy_tags
  if (tags !== undefined && !hasAnyTag(policy, tags)) return { outcome: 'skipped', because: 'tags' }
  if (!tokenMatchesSubject(caller.user, question.subject)) return { outcome: 'skipped', because: 'token' }
  const { parameters } = reading
  const missing = policy.inputParameters.filter((name) => !parameters.has(name))
  if (missing.length > 0) return { outcome: 'skipped', because: 'parameters', missing }
  startUntil(reading, endsMs)
  try {
    if (policy.filter !== null && !policy.filter.admits(parameters)) {
      const { leaves, advice } = policy.filter.explainRejection(parameters)
      return { outcome: 'skipped', because: 'filter', filter: { failing: [...leaves], advice: [...advice] } }
    }
    const { subject, resource } = question
    const granted = policy.condition.check(reading, subject.id ?? '', resource.id ?? '')
    return { outcome: granted ? 'granted' : 'denied', ...details(policy, reading, question, granted, endsMs) }
  } catch (fault) {
    if (!(fault instanceof ExecutionError)) throw fault
    if (fault.code === 'missing-parameter') {
      return { outcome: 'skipped', because: 'parameters', missing: fault.subject === null ? [] : [fault.subject] }
    }
    return { outcome: 'faulted', fault: { code: fault.code, message: fault.redactedMessage } }
  }
}

/** Each policy has the time of an evaluation, and all of them together that of a batch. */
function startUntil({ budget, limits }: ReadSession, endsMs: number): void {
  const timeMs = Math.max(1, Math.min(limits.timeMs, endsMs - performance.now()))
  budget.start({ ...limits, timeMs })
}

/** Looking costs more than deciding: where it meets a limit, the outcome stands without its details. */
function details(
  policy: CompiledPolicy,
  reading: ReadSession,
  question: Question,
  granted: boolean,
  endsMs: number,
): Partial<PolicyOutcome> {
  startUntil(reading, endsMs)
  try {
    const why = policy.condition.trace(reading, question.subject.id ?? '', question.resource.id ?? '')
    if (why.decision !== granted) return {}
    return {
      unknown: [...why.unknown],
      ...(why.matched === null ? {} : { matched: elementsOf(why.matched) }),
      ...(why.nearestMiss === null ? {} : { nearest_miss: missOf(why.nearestMiss) }),
      plan: stepOf(why.profile),
    }
  } catch (fault) {
    if (!(fault instanceof ExecutionError)) throw fault
    return { fault: { code: fault.code, message: fault.redactedMessage } }
  }
}

function missOf({ reached, stopped }: NonNullable<DecisionTrace['nearestMiss']>): NearestMiss {
  const { step, says, found } = stopped
  return {
    reached: reached === null ? null : { step: reached.step, rows: reached.rows, sample: elementsOf(reached.sample) },
    stopped: { step, says, ...(found === null ? {} : { found: elementsOf(found) }) },
  }
}

function elementsOf({ nodes, relationships }: MatchedPattern): MatchedElements {
  const entity = ({ type, externalId }: { type: string | null; externalId: string | null }): EntityName => ({
    type,
    id: externalId,
  })
  return {
    nodes: nodes.map((node) => ({ ...entity(node), variable: node.variable })),
    relationships: relationships.map(({ variable, type, source, target }) => ({
      variable,
      type,
      source: entity(source),
      target: entity(target),
    })),
  }
}

function stepOf({ operator, detail, rows, reads, timeMs, children }: ProfileNode): PlanStep {
  const below = children.map(({ role, node }) => ({ role, ...stepOf(node) }))
  return { operator, detail, rows, reads, time_ms: timeMs, children: below }
}

/** What the policies read, whoever supplied it. */
function parametersUsed(
  policies: readonly CompiledPolicy[],
  parameters: ReadonlyMap<string, Value>,
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
