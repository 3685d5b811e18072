// A filter right above a scan says which nodes the scan is after: scan a label instead of everything, seek a key or an
// indexed value instead of a label. The predicates stay where the access path does not fully stand for them.
import { isLabelTest } from '../bind/bind-labels.ts'
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { slotsOf } from '../bind/expression-tree.ts'
import { equalityOn, type GraphCounts } from '../plan/expand-order.ts'
import type { AllNodesScanPlan, FilterPlan, NodeByLabelScanPlan, Plan } from '../plan/operators.ts'
import { slotsProvidedBy } from './plan-tree.ts'

/** AllNodes + label test → LabelScan of the rarest label. */
export function nodeByLabelScan(plan: Plan, counts: GraphCounts): Plan {
  const scan = scanBelow(plan, 'all-nodes')
  if (!scan) return plan
  const labels = scan.filter.predicates.flatMap((predicate) => impliedLabels(predicate, scan.node.slot))
  if (labels.length === 0) return plan
  const label = labels.reduce((best, next) => (counts.nodes(next) < counts.nodes(best) ? next : best))
  const narrowed: NodeByLabelScanPlan = { op: 'label-scan', input: scan.node.input, slot: scan.node.slot, label }
  const stays = scan.filter.predicates.filter((predicate) => !isLabelTest(predicate, scan.node.slot, label))
  return stays.length > 0 ? { op: 'filter', input: narrowed, predicates: stays } : narrowed
}

/** LabelScan + `external_id = value` → NodeByKey. */
export function nodeUniqueIndexSeek(plan: Plan): Plan {
  const scan = scanBelow(plan, 'label-scan')
  if (!scan) return plan
  const { filter, node } = scan
  const found = seekable(filter, node, (own) => own === 'external_id')
  if (!found) return plan
  const seek: Plan = {
    op: 'node-by-key',
    input: node.input,
    slot: node.slot,
    label: node.label,
    externalId: found.value,
  }
  const stays = filter.predicates.filter((predicate) => predicate !== found.predicate)
  return stays.length > 0 ? { op: 'filter', input: seek, predicates: stays } : seek
}

/** LabelScan + `property = value` → NodeByProperty; the index names candidates, so the predicate stays. */
export function nodeIndexSeek(plan: Plan): Plan {
  const scan = scanBelow(plan, 'label-scan')
  if (!scan) return plan
  const { filter, node } = scan
  const found = seekable(filter, node, (own) => own === null)
  if (!found) return plan
  const { input, slot, label } = node
  const { key: property, value, mayBeUnknown } = found
  return { ...filter, input: { op: 'node-by-property', input, slot, label, property, value, mayBeUnknown } }
}

function scanBelow<Op extends 'all-nodes' | 'label-scan'>(
  plan: Plan,
  op: Op,
): { readonly filter: FilterPlan; readonly node: Extract<AllNodesScanPlan | NodeByLabelScanPlan, { op: Op }> } | null {
  if (plan.op !== 'filter' || plan.input.op !== op) return null
  return { filter: plan, node: plan.input as Extract<AllNodesScanPlan | NodeByLabelScanPlan, { op: Op }> }
}

/** The first equality on the scanned node whose other side is known before the scan. */
function seekable(filter: FilterPlan, scan: NodeByLabelScanPlan, wanted: (own: string | null) => boolean) {
  const before = slotsProvidedBy(scan.input)
  for (const predicate of filter.predicates) {
    const equality = equalityOn(predicate, scan.slot.index)
    if (!equality || !wanted(equality.own)) continue
    if (slotsOf(equality.value).every((slot) => before.has(slot.index))) return { ...equality, predicate }
  }
  return null
}

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
