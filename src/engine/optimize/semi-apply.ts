// A pattern predicate that a row must satisfy (or must not) is a semi-join: the inner match is planned like any other
// and stops at its first row.
import type { BoundExpression } from '../bind/bound.ts'
import { buildMatch, type PlanSite } from '../plan/build-plan.ts'
import type { Plan } from '../plan/operators.ts'

/** `plan`: a filter. `finish` optimises the inner plan with the same rules. */
export function unnestExists(plan: Plan, site: PlanSite, finish: (inner: Plan) => Plan): Plan {
  if (plan.op !== 'filter') return plan
  const patterns = plan.predicates.filter((predicate) => patternOf(predicate) !== null)
  if (patterns.length === 0) return plan
  const others = plan.predicates.filter((predicate) => patternOf(predicate) === null)
  let result: Plan = others.length > 0 ? { ...plan, predicates: others } : plan.input
  for (const predicate of patterns) {
    const { exists, negated } = patternOf(predicate)!
    const known = exists.match.nodes.filter((node) => node.bound).map((node) => node.slot)
    const inner = buildMatch(
      exists.match,
      { op: 'argument', slots: known },
      new Set(known.map((slot) => slot.index)),
      site,
    )
    result = { op: 'semi-apply', input: result, inner: finish(inner), negated }
  }
  return result
}

function patternOf(predicate: BoundExpression) {
  if (predicate.kind === 'exists') return { exists: predicate, negated: false }
  if (predicate.kind === 'not' && predicate.operand.kind === 'exists')
    return { exists: predicate.operand, negated: true }
  return null
}
