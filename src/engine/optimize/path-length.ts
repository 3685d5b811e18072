// Computes the length of a path from the list of its relationships, so that the path need not be built: its nodes cost a read
// of the store each.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { mapChildren } from '../bind/expression-tree.ts'
import type { Plan } from '../plan/operators.ts'

/** `length(path)` → `size(relationships)`, above the MakePath of a path that is one repeated step. */
export function pathLength(plan: Plan): Plan {
  if (plan.op !== 'Filter' && plan.op !== 'Projection' && plan.op !== 'EagerAggregation') return plan
  const relationships = relationshipsOfPaths(plan.input)
  if (relationships.size === 0) return plan
  const rewrite = (expression: BoundExpression): BoundExpression => withSizes(expression, relationships)
  const item = <Item extends { readonly expression: BoundExpression }>(original: Item): Item => {
    const expression = rewrite(original.expression)
    return expression === original.expression ? original : { ...original, expression }
  }
  switch (plan.op) {
    case 'Filter':
      return { ...plan, predicates: plan.predicates.map(rewrite) }
    case 'Projection':
      return { ...plan, items: plan.items.map(item) }
    case 'EagerAggregation':
      return {
        ...plan,
        grouping: plan.grouping.map(item),
        aggregates: plan.aggregates.map((aggregate) => ({
          ...aggregate,
          argument: aggregate.argument && rewrite(aggregate.argument),
        })),
      }
  }
}

/** By the slot of each path in the current row: the slot of its relationships, if this is one list. */
function relationshipsOfPaths(plan: Plan): ReadonlyMap<number, Slot> {
  const found = new Map<number, Slot>()
  let at = plan
  while (at.op === 'MakePath' || at.op === 'GroupVariables' || at.op === 'Filter') {
    if (at.op === 'MakePath') {
      const [only] = at.relationships
      if (at.relationships.length === 1 && only!.kind === 'relationships') found.set(at.slot.index, only!)
    }
    at = at.input
  }
  return found
}

function withSizes(expression: BoundExpression, relationships: ReadonlyMap<number, Slot>): BoundExpression {
  if (expression.kind === 'function' && expression.name === 'length') {
    const [path] = expression.args
    const list = path?.kind === 'slot' ? relationships.get(path.slot.index) : undefined
    if (list) return { ...expression, name: 'size', args: [{ kind: 'slot', slot: list }] }
  }
  return mapChildren(expression, (child) => withSizes(child, relationships))
}
