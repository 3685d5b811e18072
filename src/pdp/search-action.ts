// Action search: all actions for which an evaluation of subject and resource is true. Only actions that a policy names
// can be granted, so only these are evaluated. Action properties are not part of the request (AuthZEN 8).

import type { ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import { ok, type Result } from '../kernel/result.ts'
import { missingParameters } from '../policy/input-parameters.ts'
import { decide, type EvaluationContext } from './decide.ts'
import type { DecisionDeps, EvaluationRequest } from './decision-deps.ts'
import { isFaultReason, NO_POLICY_FOR_TYPES_REASON } from './denial-reasons.ts'
import { policiesOfStatus } from './policy-status.ts'
import type { ReadSession } from './read-session.ts'
import type { ActionSearchAnswer, ActionSearchRequest } from './schema.ts'
import { budgetError, runSearch, searchAnswerOf } from './search.ts'
import { pageOfNames } from './search-page.ts'

/** Returns the actions that the subject may perform on the resource. Errors: as for `runSearch`. */
export function searchActions(
  deps: DecisionDeps,
  caller: AgentCaller,
  origin: RequestOrigin,
  body: ActionSearchRequest,
): Result<ActionSearchAnswer, ServiceError> {
  const { subject, resource, context } = body
  const request: EvaluationRequest = { subject, resource, action: { name: '' }, context }
  const found = runSearch(deps, caller, origin, 'action search', request, body.page, (evaluation, session, window) => {
    const actions = search(evaluation, session, request)
    return actions.ok ? ok(pageOfNames(deps, window, actions.value, session.budget)) : actions
  })
  if (!found.ok) return found
  const results = found.value.ids.map((name) => ({ name }))
  return ok(searchAnswerOf(found.value, results))
}

function search(
  evaluation: EvaluationContext,
  session: ReadSession,
  request: EvaluationRequest,
): Result<ReadonlySet<string>, ServiceError> {
  const { deps, caller } = evaluation
  const found = new Set<string>()
  const missing: string[] = []
  const { subject, resource, context } = request
  const names = policiesOfStatus(deps, context).actions(caller.projectId, subject.type, resource.type)
  if (names.length === 0) session.searchReason = NO_POLICY_FOR_TYPES_REASON
  for (const name of names) {
    const verdict = decide(evaluation, session, { ...request, action: { name } })
    // Actions that were not evaluated because of a limit must not look like denied ones.
    if (session.exhausted !== null) return budgetError(session.exhausted)
    if (verdict.ok) {
      const reason = verdict.value.context?.reason
      if (verdict.value.decision) found.add(name)
      else if (isFaultReason(reason)) session.searchReason ??= reason
    } else if ('missing' in verdict) missing.push(...verdict.missing)
    else return verdict
  }
  return found.size === 0 && missing.length > 0 ? missingParameters(missing) : ok(found)
}
