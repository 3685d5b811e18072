// The written list of rules and the order in which they run. Each is a pure function from plan to plan; with the list
// empty the rows are the same, only later.
import type { PlanSite } from '../plan/build-plan.ts'
import type { Plan } from '../plan/operators.ts'
import { ascendToSought } from './ascend-to-sought.ts'
import { connectEnds, spreadEnds } from './chains.ts'
import { closePattern } from './close-pattern.ts'
import { distinctEnds } from './distinct-ends.ts'
import { keepTop } from './keep-top.ts'
import { pruneTrails } from './prune-trails.ts'
import { pushDownFilter } from './push-down-filter.ts'
import { everywhere } from './rewrite.ts'
import { scanByLabel, seekByKey, seekByProperty } from './seek.ts'
import { unnestExists } from './semi-apply.ts'

export interface Rule {
  readonly name: string
  apply(plan: Plan, site: PlanSite): Plan
}

/** In this order, each once: no rule makes work for one before it. */
export const rules: readonly Rule[] = [
  { name: 'push-down-filter', apply: pushDownFilter },
  {
    name: 'unnest-exists',
    apply: (plan, site) => everywhere(plan, (p) => unnestExists(p, site, (i) => optimize(i, site))),
  },
  { name: 'scan-by-label', apply: (plan, site) => everywhere(plan, (p) => scanByLabel(p, site.counts)) },
  { name: 'seek-by-key', apply: (plan) => everywhere(plan, seekByKey) },
  { name: 'seek-by-property', apply: (plan) => everywhere(plan, seekByProperty) },
  { name: 'close-pattern', apply: (plan, site) => everywhere(plan, (p) => closePattern(p, site.extra)) },
  { name: 'prune-trails', apply: pruneTrails },
  { name: 'connect-ends', apply: connectEnds },
  { name: 'spread-ends', apply: spreadEnds },
  { name: 'ascend-to-sought', apply: ascendToSought },
  { name: 'distinct-ends', apply: (plan) => everywhere(plan, distinctEnds) },
  { name: 'keep-top', apply: (plan) => everywhere(plan, keepTop) },
]

/** Rules that forget what lies on the way: left out where the way is part of the answer. */
export const forgetting: ReadonlySet<string> = new Set(['prune-trails', 'connect-ends', 'spread-ends'])

/** `except`: names of rules that are left out. */
export function optimize(plan: Plan, site: PlanSite, except?: ReadonlySet<string>): Plan {
  return rules.reduce((current, rule) => (except?.has(rule.name) ? current : rule.apply(current, site)), plan)
}
