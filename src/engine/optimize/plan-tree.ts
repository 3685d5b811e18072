// Walks over plans for the rules: rebuild with new inputs, and which slots a plan has filled in.
import type { Slot } from '../bind/bound.ts'
import type { Plan } from '../plan/operators.ts'

/** The same operator over changed inputs; the same object when nothing changed. */
export function mapInputs(plan: Plan, change: (input: Plan) => Plan): Plan {
  switch (plan.op) {
    case 'argument':
      return plan
    case 'union': {
      const branches = plan.branches.map(change)
      return branches.every((branch, i) => branch === plan.branches[i]) ? plan : { ...plan, branches }
    }
    case 'optional':
    case 'semi-apply':
    case 'apply': {
      const input = change(plan.input)
      const inner = change(plan.inner)
      return input === plan.input && inner === plan.inner ? plan : { ...plan, input, inner }
    }
    default: {
      const input = change(plan.input)
      return input === plan.input ? plan : { ...plan, input }
    }
  }
}

/** Applies a rule to every operator, from the leaves up. */
export function rewriteBottomUp(plan: Plan, rule: (plan: Plan) => Plan): Plan {
  return rule(mapInputs(plan, (input) => rewriteBottomUp(input, rule)))
}

/** Indexes of the slots that have a value in the rows of the plan. */
export function slotsProvidedBy(plan: Plan): ReadonlySet<number> {
  const found = new Set<number>()
  collectProvided(plan, found)
  return found
}

function collectProvided(plan: Plan, found: Set<number>): void {
  if (plan.op === 'union') for (const branch of plan.branches) collectProvided(branch, found)
  else if (plan.op !== 'argument') collectProvided(plan.input, found)
  if (plan.op === 'optional' || plan.op === 'apply') collectProvided(plan.inner, found)
  for (const slot of slotsFilledBy(plan)) found.add(slot.index)
}

/** The slots that an operator itself fills in. */
export function slotsFilledBy(plan: Plan): readonly Slot[] {
  switch (plan.op) {
    case 'argument':
      return plan.slots
    case 'node-by-key':
    case 'node-by-property':
    case 'label-scan':
    case 'all-nodes':
    case 'unwind':
    case 'make-path':
      return [plan.slot]
    case 'expand':
      return [plan.to, plan.relationship]
    case 'expand-into':
      return [plan.relationship]
    case 'var-expand':
      return plan.into ? [plan.relationship] : [plan.to, plan.relationship]
    case 'reach':
      return plan.into ? [] : [plan.to]
    case 'connect':
      return []
    case 'spread':
    case 'ascend':
      return [plan.to]
    case 'relationship-ends':
    case 'trail-ends':
      return [plan.from.slot, plan.to.slot]
    case 'shortest-path':
      return [plan.relationship]
    case 'cast':
      return plan.casts.map((cast) => cast.to)
    case 'project':
      return plan.items.map((item) => item.slot)
    case 'aggregate':
      return [...plan.grouping.map((item) => item.slot), ...plan.aggregates.map((item) => item.slot)]
    default:
      return []
  }
}
