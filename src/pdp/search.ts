// All resources for a subject, or all subjects for a resource: exactly those x for which evaluate(x) is true.
// As there, a policy that lacks a parameter does not apply, and when nothing is found but a parameter was missing, the
// caller is told (422). A limit reached is an error, never a short answer (ruling D4). All policies share one budget.
import { Budget } from '../engine/conditions.ts'
import { RunFault } from '../engine/errors.ts'
import { emptyChunk, type Snapshot } from '../engine/store.ts'
import type { Value } from '../engine/value/value.ts'
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { CompiledPolicy } from '../policy/library.ts'
import {
  bindParameters,
  type DecisionParts,
  isSpent,
  lacking,
  missingParameters,
  noGraph,
  policiesFor,
  type Question,
} from './question.ts'
import type { ResourceSearchRequest, SearchAnswer, SubjectSearchRequest } from './schema.ts'

export function searchResources(
  parts: DecisionParts,
  caller: AgentCaller,
  request: ResourceSearchRequest,
): Result<SearchAnswer, ServiceError> {
  const { subject, action } = request
  const { type, properties } = request.resource
  return search(parts, caller, { subject, action, resource: { type, id: null, properties }, context: request.context })
}

export function searchSubjects(
  parts: DecisionParts,
  caller: AgentCaller,
  request: SubjectSearchRequest,
): Result<SearchAnswer, ServiceError> {
  const { resource, action } = request
  const { type, properties } = request.subject
  return search(parts, caller, { subject: { type, id: null, properties }, action, resource, context: request.context })
}

function search(parts: DecisionParts, caller: AgentCaller, question: Question): Result<SearchAnswer, ServiceError> {
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const policies = policiesFor(parts, caller, question)
  const parameters = bindParameters(parts, question, policies)
  if (!parameters.ok) return parameters

  const sought = question.resource.id === null ? 'resource' : 'subject'
  const found = new Set<string>()
  const missing: string[] = []
  const budget = new Budget()
  budget.start(parts.limits)
  const snapshot = graphs.default.snapshot()
  try {
    for (const policy of policies) {
      const ask: Ask = { parts, policy, snapshot, budget, parameters: parameters.value, question, sought }
      try {
        const name = lacking(policy, parameters.value)
        if (name !== null) missing.push(name)
        else if (policy.condition.parameters.includes(`${sought}_external_id`)) askEach(ask, found)
        else for (const id of confirmed(ask, askOnce(ask))) found.add(id)
      } catch (fault) {
        if (!(fault instanceof RunFault)) throw fault
        if (fault.code === 'missing-parameter' && fault.subject !== null) {
          missing.push(fault.subject)
          continue
        }
        parts.onFault({
          projectId: caller.projectId,
          policyId: policy.id,
          question: `${sought} search`,
          code: fault.code,
          message: fault.message,
        })
        if (fault.code === 'budget') return overBudget(fault)
        // One candidate's fault must not hide the others: asked one by one, only those that fault are left out.
        try {
          askEach(ask, found)
        } catch (limit) {
          if (limit instanceof RunFault && limit.code === 'budget') return overBudget(limit)
          throw limit
        }
      }
    }
  } finally {
    snapshot.close()
  }
  if (found.size === 0 && missing.length > 0) return missingParameters(missing)
  const { type } = question[sought]
  return ok({ results: Array.from(found, (id) => ({ type, id })) })
}

interface Ask {
  readonly parts: DecisionParts
  readonly policy: CompiledPolicy
  readonly snapshot: Snapshot
  readonly budget: Budget
  readonly parameters: ReadonlyMap<string, Value>
  readonly question: Question
  readonly sought: 'subject' | 'resource'
}

function askOnce({ parts, policy, snapshot, budget, parameters, question, sought }: Ask): string[] {
  const asking = { snapshot, parameters, limits: parts.limits, budget }
  return sought === 'resource'
    ? policy.condition.resources(asking, question.subject.id ?? '')
    : policy.condition.subjects(asking, question.resource.id ?? '')
}

/**
 * The search and the check walk different ways and need not meet the same faults; where there may be any, the check has
 * the last word, so that a search finds exactly what an evaluation permits.
 */
function confirmed(ask: Ask, found: readonly string[]): readonly string[] {
  return ask.policy.condition.mayFault ? found.filter((id) => grants(ask, id)) : found
}

/** As in an evaluation of this pair: a fault does not grant, and a limit is thrown on. */
function grants({ parts, policy, snapshot, budget, parameters, question, sought }: Ask, id: string): boolean {
  const subjectId = sought === 'subject' ? id : question.subject.id
  const resourceId = sought === 'resource' ? id : question.resource.id
  if (subjectId === null || resourceId === null) return false
  try {
    return policy.condition.check({ snapshot, parameters, limits: parts.limits, budget }, subjectId, resourceId)
  } catch (fault) {
    if (!(fault instanceof RunFault) || isSpent(fault)) throw fault
    return false
  }
}

/**
 * Asks the check for every node of the sought type: slow, and right where one plan for all cannot be (a condition that
 * reads the external id of the sought side as a parameter, or faults on some of the candidates).
 */
function askEach(ask: Ask, found: Set<string>): void {
  const { snapshot, budget, parameters, question, sought } = ask
  const { type } = question[sought]
  const label = snapshot.symbol('label', type)
  if (label === 0) return
  const bound = new Map(parameters)
  const each: Ask = { ...ask, parameters: bound }
  const chunk = emptyChunk()
  for (let from = 0; ; from = chunk.next) {
    snapshot.nodesWithLabel(label, from, chunk)
    for (let i = 0; i < chunk.length; i++) {
      // A check that ends at its first step touches little, and there may be a million of them.
      budget.touch(1)
      const node = chunk.ids[i] ?? 0
      const id = snapshot.nodeOwn(node, 'external_id')
      // The label list also holds nodes of another type that carry this label beside it.
      if (typeof id !== 'string' || snapshot.nodeOwn(node, 'type') !== type) continue
      bound.set(`${sought}_external_id`, id)
      if (grants(each, id)) found.add(id)
    }
    if (!chunk.more) return
  }
}

function overBudget(fault: RunFault): Result<never, ServiceError> {
  return err({ kind: 'budget', limit: fault.subject ?? 'traversalStepsMax', message: fault.message })
}
