// Turns a pattern predicate into a semi-join. The inner match is planned like any other and stops at its first row.
import type { BoundExpression } from '../bind/bound.ts'
import { buildSubquery, type PlanningContext, type SubqueryExpression } from '../plan/build-plan.ts'
import type { Plan } from '../plan/operators.ts'

/** Filter with `EXISTS` or `NOT EXISTS` → SemiApply or AntiSemiApply. `finish` optimizes the inner plan. */
export function unnestExists(plan: Plan, context: PlanningContext, finish: (inner: Plan) => Plan): Plan {
  if (plan.op !== 'Filter') return plan
  const patterns = plan.predicates.flatMap((predicate) => existsIn(predicate) ?? [])
  if (patterns.length === 0) return plan
  const others = plan.predicates.filter((predicate) => existsIn(predicate) === null)
  const filtered: Plan = others.length > 0 ? { ...plan, predicates: others } : plan.input
  return patterns.reduce<Plan>(
    (input, { query, negated }) => ({ op: 'SemiApply', input, inner: finish(buildSubquery(query, context)), negated }),
    filtered,
  )
}

function existsIn(
  predicate: BoundExpression,
): { readonly query: SubqueryExpression; readonly negated: boolean } | null {
  const negated = predicate.kind === 'not'
  const query = predicate.kind === 'not' ? predicate.operand : predicate
  const isExists = query.kind === 'exists' || (query.kind === 'subquery' && query.form === 'exists')
  return isExists ? { query, negated } : null
}
