// A pattern predicate that a row must satisfy (or must not) is a semi-join: the inner match is planned like any other
// and stops at its first row.
import type { BoundExpression } from '../bind/bound.ts'
import { buildSubquery, type PlanningContext, type SubqueryExpression } from '../plan/build-plan.ts'
import type { Plan } from '../plan/operators.ts'

/** `plan`: a filter. `finish` optimises the inner plan with the same rules. */
export function unnestExists(plan: Plan, site: PlanningContext, finish: (inner: Plan) => Plan): Plan {
  if (plan.op !== 'filter') return plan
  const patterns = plan.predicates.flatMap((predicate) => patternOf(predicate) ?? [])
  if (patterns.length === 0) return plan
  const others = plan.predicates.filter((predicate) => patternOf(predicate) === null)
  const filtered: Plan = others.length > 0 ? { ...plan, predicates: others } : plan.input
  return patterns.reduce<Plan>(
    (input, { query, negated }) => ({ op: 'semi-apply', input, inner: finish(buildSubquery(query, site)), negated }),
    filtered,
  )
}

function patternOf(
  predicate: BoundExpression,
): { readonly query: SubqueryExpression; readonly negated: boolean } | null {
  const negated = predicate.kind === 'not'
  const query = predicate.kind === 'not' ? predicate.operand : predicate
  const asks = query.kind === 'exists' || (query.kind === 'subquery' && query.form === 'exists')
  return asks ? { query, negated } : null
}
