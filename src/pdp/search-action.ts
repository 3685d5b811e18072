// All actions that the subject may do on the resource: exactly those for which evaluate is true. Only what a policy names
// can be granted, so only these are asked; the properties of an action are not part of such a question (AuthZEN 8).
import type { AgentCaller } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { ok, type Result } from '../kernel/result.ts'
import { decide, type EvaluationContext } from './decide.ts'
import type { DecisionDeps, Question } from './decision-deps.ts'
import { missingParameters } from './evaluation-inputs.ts'
import type { ReadSession } from './read-session.ts'
import type { ActionSearchAnswer, ActionSearchRequest } from './schema.ts'
import { budgetError, runSearch } from './search.ts'
import { pageOfNames } from './search-page.ts'

export function searchActions(
  parts: DecisionDeps,
  caller: AgentCaller,
  requestId: string,
  request: ActionSearchRequest,
): Result<ActionSearchAnswer, ServiceError> {
  const { subject, resource, context } = request
  const question: Question = { subject, resource, action: { name: '' }, context }
  const found = runSearch(parts, caller, requestId, 'action search', question, request.page, (asker, reading, cut) => {
    const actions = search(asker, reading, question)
    return actions.ok ? ok(pageOfNames(parts, cut, actions.value)) : actions
  })
  if (!found.ok) return found
  const results = found.value.ids.map((name) => ({ name }))
  return ok(found.value.page === null ? { results } : { page: found.value.page, results })
}

function search(
  asker: EvaluationContext,
  reading: ReadSession,
  question: Question,
): Result<ReadonlySet<string>, ServiceError> {
  const { deps, caller } = asker
  const found = new Set<string>()
  const missing: string[] = []
  for (const name of deps.policies.actions(caller.projectId, question.subject.type, question.resource.type)) {
    const verdict = decide(asker, reading, { ...question, action: { name } })
    // What a limit left unasked must not look like what is not allowed.
    if (reading.exhausted !== null) return budgetError(reading.exhausted)
    if (verdict.ok) {
      if (verdict.value.decision) found.add(name)
    } else if ('missing' in verdict) missing.push(...verdict.missing)
    else return verdict
  }
  return found.size === 0 && missing.length > 0 ? missingParameters(missing) : ok(found)
}
