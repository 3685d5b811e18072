// The list of rewrite rules and the order in which they run. Each rule is a pure function from plan to plan. Without any
// rule the rows are the same and the run is slower.
import type { PlanningContext } from '../plan/build-plan.ts'
import type { Plan } from '../plan/operators.ts'
import type { OptimizerContext } from './demand.ts'
import { bidirectionalExpand, pruningExpand } from './expand-chains.ts'
import { expandInto } from './expand-into.ts'
import { nodeByLabelScan, nodeIndexSeek, nodeUniqueIndexSeek } from './index-seek.ts'
import { orderedExpand } from './ordered-expand.ts'
import { pathLength } from './path-length.ts'
import { rewriteBottomUp } from './plan-tree.ts'
import { pruningVarExpand } from './pruning-var-expand.ts'
import { pushDownFilter } from './push-down-filter.ts'
import { removeRedundantDistinct } from './redundant-distinct.ts'
import { singleRowApply } from './single-row-apply.ts'
import { top } from './top.ts'
import { unnestExists } from './unnest-exists.ts'
import { dropUnreadVariables } from './unread-variables.ts'

/** A rewrite of plans that keeps their rows. */
export interface OptimizerRule {
  readonly name: string
  apply(plan: Plan, context: OptimizerContext): Plan
}

/** All rules, in the order in which they run, each once. No rule creates work for a rule before it. */
export const rules: readonly OptimizerRule[] = [
  { name: 'push-down-filter', apply: pushDownFilter },
  {
    name: 'unnest-exists',
    apply: (plan, context) =>
      rewriteBottomUp(plan, context, (part) =>
        unnestExists(part, context, (inner) => optimize(inner, withoutColumns(context))),
      ),
  },
  { name: 'single-row-apply', apply: (plan, context) => rewriteBottomUp(plan, context, singleRowApply) },
  {
    name: 'node-by-label-scan',
    apply: (plan, context) => rewriteBottomUp(plan, context, (part) => nodeByLabelScan(part, context.counts)),
  },
  { name: 'node-unique-index-seek', apply: (plan, context) => rewriteBottomUp(plan, context, nodeUniqueIndexSeek) },
  { name: 'node-index-seek', apply: (plan, context) => rewriteBottomUp(plan, context, nodeIndexSeek) },
  {
    name: 'expand-into',
    apply: (plan, context) => rewriteBottomUp(plan, context, (part) => expandInto(part, context.extra)),
  },
  { name: 'path-length', apply: (plan, context) => rewriteBottomUp(plan, context, pathLength) },
  { name: 'unread-variables', apply: dropUnreadVariables },
  { name: 'pruning-var-expand', apply: pruningVarExpand },
  { name: 'bidirectional-expand-into', apply: bidirectionalExpand },
  { name: 'pruning-expand', apply: pruningExpand },
  { name: 'ordered-expand', apply: orderedExpand },
  { name: 'redundant-distinct', apply: (plan, context) => rewriteBottomUp(plan, context, removeRedundantDistinct) },
  { name: 'top', apply: (plan, context) => rewriteBottomUp(plan, context, top) },
]

/** Names of the rules that drop what lies on a path. A decision trace shows paths, so it runs without them. */
export const pathErasingRules: ReadonlySet<string> = new Set([
  'pruning-var-expand',
  'bidirectional-expand-into',
  'pruning-expand',
])

/** The plan after all rules except those named in `disabledRules`. */
export function optimize(plan: Plan, context: OptimizerContext, disabledRules?: ReadonlySet<string>): Plan {
  return rules.reduce((current, rule) => (disabledRules?.has(rule.name) ? current : rule.apply(current, context)), plan)
}

function withoutColumns({ columns: _, ...context }: OptimizerContext): PlanningContext {
  return context
}
