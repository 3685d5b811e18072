// Chooses the access path of a node: a label scan instead of a scan of all nodes, an index seek instead of a label scan. The
// predicates of the filter above stay if the access path does not fully imply them.
import { isImpliedLabelTest } from '../bind/bind-labels.ts'
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { slotsOf } from '../bind/expression-tree.ts'
import { equalityOn, type GraphCounts } from '../plan/expand-order.ts'
import type { Plan, PlanOf } from '../plan/operators.ts'
import { slotsProvidedBy } from './plan-tree.ts'

/** AllNodesScan + label test → NodeByLabelScan of the rarest label. */
export function nodeByLabelScan(plan: Plan, counts: GraphCounts): Plan {
  const scan = scanBelow(plan, 'AllNodesScan')
  if (!scan) return plan
  const { slot, input } = scan.node
  const labels = scan.filter.predicates.flatMap((predicate) => impliedLabels(predicate, slot))
  if (labels.length === 0) return plan
  const label = labels.reduce((best, next) => (counts.nodes(next) < counts.nodes(best) ? next : best))
  const labelScan: Plan = { op: 'NodeByLabelScan', input, slot, label }
  const rest = scan.filter.predicates.filter((predicate) => !isImpliedLabelTest(predicate, slot, label))
  return rest.length > 0 ? { op: 'Filter', input: labelScan, predicates: rest } : labelScan
}

/** NodeByLabelScan + `external_id = value` → NodeUniqueIndexSeek. */
export function nodeUniqueIndexSeek(plan: Plan): Plan {
  const scan = scanBelow(plan, 'NodeByLabelScan')
  if (!scan) return plan
  const { filter, node } = scan
  const equality = findSeekable(filter, node, (own) => own === 'external_id')
  if (!equality) return plan
  const { input, slot, label } = node
  const seek: Plan = { op: 'NodeUniqueIndexSeek', input, slot, label, externalId: equality.value }
  const rest = filter.predicates.filter((predicate) => predicate !== equality.predicate)
  return rest.length > 0 ? { op: 'Filter', input: seek, predicates: rest } : seek
}

/** NodeByLabelScan + `property = value` → NodeIndexSeek. The index returns candidates, so the predicate stays. */
export function nodeIndexSeek(plan: Plan): Plan {
  const scan = scanBelow(plan, 'NodeByLabelScan')
  if (!scan) return plan
  const { filter, node } = scan
  const equality = findSeekable(filter, node, (own) => own === null)
  if (!equality) return plan
  const { input, slot, label } = node
  const { key: property, value, mayBeUnknown } = equality
  return { ...filter, input: { op: 'NodeIndexSeek', input, slot, label, property, value, mayBeUnknown } }
}

type Scan = 'AllNodesScan' | 'NodeByLabelScan'

function scanBelow<Op extends Scan>(
  plan: Plan,
  op: Op,
): { readonly filter: PlanOf<'Filter'>; readonly node: Extract<PlanOf<Scan>, { op: Op }> } | null {
  if (plan.op !== 'Filter' || plan.input.op !== op) return null
  return { filter: plan, node: plan.input as Extract<PlanOf<Scan>, { op: Op }> }
}

/** The first equality on the scanned node whose other side is known before the scan. */
function findSeekable(
  filter: PlanOf<'Filter'>,
  scan: PlanOf<'NodeByLabelScan'>,
  isWanted: (ownField: string | null) => boolean,
) {
  const before = slotsProvidedBy(scan.input)
  for (const predicate of filter.predicates) {
    const equality = equalityOn(predicate, scan.slot.index)
    if (!equality || !isWanted(equality.own)) continue
    if (slotsOf(equality.value).every((slot) => before.has(slot.index))) return { ...equality, predicate }
  }
  return null
}

/** The labels that a node must have for the predicate to be true. */
function impliedLabels(predicate: BoundExpression, slot: Slot): readonly string[] {
  if (
    predicate.kind === 'label-test' &&
    predicate.target.kind === 'slot' &&
    predicate.target.slot.index === slot.index
  ) {
    const { labels } = predicate
    if (labels.kind === 'label') return [labels.name]
    if (labels.kind === 'label-and') return labels.operands.flatMap((l) => (l.kind === 'label' ? [l.name] : []))
    return []
  }
  const equality = equalityOn(predicate, slot.index)
  // A node carries its own type as a label.
  const isType = equality?.own === 'type' && equality.value.kind === 'constant'
  return isType && typeof equality.value.value === 'string' ? [equality.value.value] : []
}
