// Binds a path with a selector (`SHORTEST 2`, `ANY`, `shortestPath` …) to one step between its two ends. The predicates
// inside of the path decide which paths are candidates; the WHERE of the MATCH filters the paths that the selector keeps.
import type { PathPattern, PathSelector } from '../../../grammar/ast.ts'
import type { BoundExpression, BoundHopTest, BoundRelationship, BoundSelection, Slot } from './bound.ts'
import { slotsOf } from './expression-tree.ts'
import type { PatternBuilder } from './pattern-builder.ts'

/** A path with a selector whose nodes and steps are bound, before its predicates are. */
export interface SelectedPath {
  readonly pattern: PathPattern
  readonly keep: BoundSelection['keep']
  readonly count: number
  /** The first and the last node, in the patterns of the MATCH. */
  readonly ends: Pick<BoundRelationship, 'left' | 'right'>
  readonly nodes: readonly Slot[]
  readonly steps: readonly BoundRelationship[]
  /** The slot of the list of all relationships. */
  readonly slot: Slot
  readonly path: Slot | null
}

/** Which paths a selector keeps; null for `ALL`, which keeps every path. */
export function keptBy({ shortest, selector }: PathPattern): Pick<BoundSelection, 'keep' | 'count'> | null {
  if (shortest !== null) return { keep: shortest === 'all' ? 'groups' : 'shortest', count: 1 }
  return selector === null ? null : keptBySelector(selector)
}

function keptBySelector({ keep, count }: PathSelector): Pick<BoundSelection, 'keep' | 'count'> | null {
  if (keep === 'all') return null
  // Any paths are right, so the shortest are, and they are found first.
  return { keep: keep === 'groups' ? 'groups' : 'shortest', count }
}

/** The step of a path with a selector. `predicates` are those inside of the path. */
export function selectionStep(
  selected: SelectedPath,
  predicates: readonly BoundExpression[],
  builder: PatternBuilder,
): BoundRelationship {
  const { pattern, keep, count, ends, nodes, slot, path } = selected
  const nodeTests: BoundExpression[][] = nodes.map(() => [])
  const hopTests = new Map<number, BoundExpression[]>()
  const whole: BoundExpression[] = []
  const inside = new Set([...nodes.slice(1, -1), ...selected.steps.map((step) => step.slot)].map(({ index }) => index))
  const own = new Set([...inside, nodes[0]!.index, nodes.at(-1)!.index, slot.index, ...(path ? [path.index] : [])])
  for (const step of selected.steps) for (const { slot } of step.quantified?.groups ?? []) own.add(slot.index)
  const outer = new Set([...builder.deps.outer.values()].map(({ index }) => index))
  for (const predicate of predicates) {
    const reads = slotsOf(predicate)
    const early = reads.find(({ index }) => !own.has(index) && !outer.has(index))
    if (early !== undefined) {
      const message = `a path with a selector cannot read \`${early.name}\` of another pattern of the same MATCH`
      builder.report('NotSupported', message, pattern.span)
      continue
    }
    const local = reads.filter(({ index }) => own.has(index))
    const node = nodes.findIndex((one, i) => i > 0 && i < nodes.length - 1 && local.every((read) => read === one))
    const hop = selected.steps.findIndex(
      (step, i) => step.range === null && local.every((read) => [nodes[i], step.slot, nodes[i + 1]].includes(read)),
    )
    if (local.length > 0 && node >= 0) nodeTests[node]!.push(predicate)
    else if (local.length > 0 && hop >= 0) hopTests.set(hop, [...(hopTests.get(hop) ?? []), predicate])
    else whole.push(predicate)
  }
  const steps = selected.steps.map((step, i): BoundRelationship => {
    const tests = hopTests.get(i)
    return tests === undefined ? step : { ...step, each: testOf(tests, step.slot, nodes[i]!, nodes[i + 1]!) }
  })
  const first = steps[0]!
  return {
    slot,
    ...ends,
    direction: first.direction,
    types: first.types,
    range: { min: 0, max: null },
    bound: false,
    named: first.named,
    each: null,
    quantified: null,
    selection: { keep, count, nodes, nodeTests, steps, predicates: whole, path: isRead(path, whole) ? path : null },
  }
}

function testOf(tests: readonly BoundExpression[], element: Slot, left: Slot, right: Slot): BoundHopTest {
  const predicate: BoundExpression = tests.length === 1 ? tests[0]! : { kind: 'and', operands: tests }
  return { element, left, right, predicate }
}

function isRead(slot: Slot | null, predicates: readonly BoundExpression[]): boolean {
  return predicates.some((predicate) => slotsOf(predicate).some(({ index }) => index === slot?.index))
}
