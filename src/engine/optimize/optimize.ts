// The written list of rules and the order in which they run. Each is a pure function from plan to plan; with the list
// empty the rows are the same, only later.
import type { PlanningContext } from '../plan/build-plan.ts'
import type { Plan } from '../plan/operators.ts'
import { bidirectionalExpand, pruningExpand } from './expand-chains.ts'
import { expandInto } from './expand-into.ts'
import { nodeByLabelScan, nodeIndexSeek, nodeUniqueIndexSeek } from './index-seek.ts'
import { orderedExpand } from './ordered-expand.ts'
import { rewriteBottomUp } from './plan-tree.ts'
import { pruningVarExpand } from './pruning-var-expand.ts'
import { pushDownFilter } from './push-down-filter.ts'
import { removeRedundantDistinct } from './redundant-distinct.ts'
import { top } from './top.ts'
import { unnestExists } from './unnest-exists.ts'

export interface OptimizerRule {
  readonly name: string
  apply(plan: Plan, site: PlanningContext): Plan
}

/** In this order, each once: no rule makes work for one before it. */
export const rules: readonly OptimizerRule[] = [
  { name: 'push-down-filter', apply: pushDownFilter },
  {
    name: 'unnest-exists',
    apply: (plan, site) => rewriteBottomUp(plan, (p) => unnestExists(p, site, (i) => optimize(i, site))),
  },
  { name: 'scan-by-label', apply: (plan, site) => rewriteBottomUp(plan, (p) => nodeByLabelScan(p, site.counts)) },
  { name: 'seek-by-key', apply: (plan) => rewriteBottomUp(plan, nodeUniqueIndexSeek) },
  { name: 'seek-by-property', apply: (plan) => rewriteBottomUp(plan, nodeIndexSeek) },
  { name: 'close-pattern', apply: (plan, site) => rewriteBottomUp(plan, (p) => expandInto(p, site.extra)) },
  { name: 'prune-trails', apply: pruningVarExpand },
  { name: 'connect-ends', apply: bidirectionalExpand },
  { name: 'spread-ends', apply: pruningExpand },
  { name: 'ascend-to-sought', apply: orderedExpand },
  { name: 'distinct-ends', apply: (plan) => rewriteBottomUp(plan, removeRedundantDistinct) },
  { name: 'keep-top', apply: (plan) => rewriteBottomUp(plan, top) },
]

/** Rules that forget what lies on the way: left out where the way is part of the answer. */
export const pathErasingRules: ReadonlySet<string> = new Set(['prune-trails', 'connect-ends', 'spread-ends'])

/** `except`: names of rules that are left out. */
export function optimize(plan: Plan, site: PlanningContext, except?: ReadonlySet<string>): Plan {
  return rules.reduce((current, rule) => (except?.has(rule.name) ? current : rule.apply(current, site)), plan)
}
