// The predicates and slots inside one step of a pattern: a variable-length relationship, a quantified path pattern, or a
// path with a selector.
import type { BoundExpression, BoundHop, BoundHopTest, BoundRelationship, Slot } from './bound.ts'

type PredicateChange = (predicate: BoundExpression) => BoundExpression

/** The same step with each predicate in it replaced. */
export function mapStepPredicates(step: BoundRelationship, change: PredicateChange): BoundRelationship {
  const { each, quantified, selection } = step
  if (each === null && quantified === null && selection === null) return step
  return {
    ...step,
    each: each && changedTest(each, change),
    quantified: quantified && {
      ...quantified,
      further: quantified.further.map((hop) => ({ ...hop, each: hop.each && changedTest(hop.each, change) })),
      predicates: quantified.predicates.map(change),
    },
    selection: selection && {
      ...selection,
      nodeTests: selection.nodeTests.map((tests) => tests.map(change)),
      steps: selection.steps.map((inner) => mapStepPredicates(inner, change)),
      predicates: selection.predicates.map(change),
    },
  }
}

function changedTest(test: BoundHopTest, change: PredicateChange): BoundHopTest {
  return { ...test, predicate: change(test.predicate) }
}

/** The predicates in a step. */
export function stepPredicates(step: BoundRelationship): readonly BoundExpression[] {
  const found: BoundExpression[] = []
  mapStepPredicates(step, (predicate) => {
    found.push(predicate)
    return predicate
  })
  return found
}

/** The hops of one repetition of a step, from left to right; of a path with a selector, those of all its steps. */
export function hopsOf(step: BoundRelationship): readonly BoundHop[] {
  if (step.selection !== null) return step.selection.steps.flatMap(hopsOf)
  return step.quantified === null ? [step] : [step, ...step.quantified.further]
}

/** The slots that a step fills in addition to its own. The end nodes are not among them: they belong to the MATCH. */
export function innerSlotsOf(step: BoundRelationship): readonly Slot[] {
  const { each, quantified, selection } = step
  if (each === null && quantified === null && selection === null) return []
  const slots: Slot[] = []
  for (const test of [each, ...(quantified?.further.map((hop) => hop.each) ?? [])]) {
    if (test === null) continue
    slots.push(test.element)
    if (test.left !== null) slots.push(test.left)
    if (test.right !== null) slots.push(test.right)
  }
  if (quantified !== null) {
    slots.push(...quantified.nodes, ...quantified.relationships, ...quantified.groups.map((group) => group.slot))
  }
  if (selection !== null) {
    const between = [...selection.nodes.slice(1, -1)]
    for (const inner of selection.steps) between.push(inner.slot, ...innerSlotsOf(inner))
    // The test of the first or the last hop names an end of the path.
    const ends = new Set([selection.nodes[0]!.index, selection.nodes.at(-1)!.index])
    slots.push(...between.filter((slot) => !ends.has(slot.index)))
  }
  return slots
}
