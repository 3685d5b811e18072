// Which plans a request has run, for traces. Nothing is described until someone reads it.
import { inputsOf } from './plan/operator-descriptors.ts'
import type { Plan } from './plan/operators.ts'

/** A plan that was run. */
interface PlanUse {
  /** The operators without their details, so without names and values: `First(ExpandInto(Argument))`. */
  readonly operators: string
  /** True: the plan was made before. False: it was made for this run. */
  readonly isCached: boolean
}

/** Plans that are kept. A search may run a plan for each candidate, so each plan counts once. */
const PLANS_MAX = 20
/** Characters of the operators of one plan. */
const OPERATORS_LENGTH_MAX = 500

/** Collects the plans of one request. */
export class PlanUses {
  private readonly isCachedByPlan = new Map<Plan, boolean>()

  /** Notes the run of a plan. */
  add(plan: Plan, isCached: boolean): void {
    if (this.isCachedByPlan.has(plan) || this.isCachedByPlan.size >= PLANS_MAX) return
    this.isCachedByPlan.set(plan, isCached)
  }

  /** The plans in the order of their first run. */
  list(): readonly PlanUse[] {
    return Array.from(this.isCachedByPlan, ([plan, isCached]) => ({ operators: operatorsOf(plan), isCached }))
  }
}

/** A stable text: equal plans have equal texts in each process and version of the graph. */
function operatorsOf(plan: Plan): string {
  const text = nested(plan)
  return text.length <= OPERATORS_LENGTH_MAX ? text : `${text.slice(0, OPERATORS_LENGTH_MAX - 1)}…`
}

function nested(plan: Plan): string {
  const inputs = inputsOf(plan).map((input) => nested(input.plan))
  return inputs.length === 0 ? plan.op : `${plan.op}(${inputs.join(', ')})`
}
