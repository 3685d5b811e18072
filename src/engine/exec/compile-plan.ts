// Logical plan → physical operators for one set of environments. Names become symbol ids here, so what is compiled holds
// as long as the symbol epochs do.
import { assertNever } from '../../kernel/assert.ts'
import type { BoundExpression, BoundRelationship, Slot } from '../bind/bound.ts'
import type { SubqueryExpression } from '../plan/build-plan.ts'
import type { Plan } from '../plan/operators.ts'
import type { Snapshot, SymbolId } from '../store.ts'
import { mayHaveExternal } from '../value/external-properties.ts'
import { ApplyOperator, OptionalOperator, SemiApplyOperator, UnionOperator } from './apply.ts'
import { BidirectionalExpandIntoOperator, PruningExpandOperator } from './bidirectional-expand-into.ts'
import { CastOperator } from './cast.ts'
import { isElementSlot } from './comparison.ts'
import { chargeBySize, compileExpression, compileTest, type ExpressionCompilerDeps } from './compile-expression.ts'
import { EagerAggregationOperator } from './eager-aggregation.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { ExpandAllOperator, ExpandIntoOperator, type ExpandSlots } from './expand.ts'
import { FilterOperator, FirstOperator } from './filter.ts'
import type { TraversalSpec } from './neighbour-cursor.ts'
import { ArgumentOperator, NodeIndexSeekOperator, NodeScanOperator, NodeUniqueIndexSeekOperator } from './node-scan.ts'
import { OrderedDistinctOperator, OrderedExpandOperator } from './ordered-expand.ts'
import type { PhysicalOperator } from './physical-operator.ts'
import {
  ProjectEndpointsOperator,
  type ProjectEndpointsSlots,
  ProjectVarLengthEndpointsOperator,
} from './project-endpoints.ts'
import {
  DistinctElementsOperator,
  DistinctOperator,
  MakePathOperator,
  ProjectionOperator,
  UnwindOperator,
} from './projection.ts'
import { PruningVarExpandOperator } from './pruning-var-expand.ts'
import { rowKey } from './row-key.ts'
import { ShortestPathOperator } from './shortest-path.ts'
import { LimitOperator, SkipOperator, SortOperator } from './sort.ts'
import { compileSubquery } from './subquery.ts'
import { type HopLimits, VarLengthExpandOperator } from './var-length-expand.ts'

export interface PlanCompilerDeps {
  readonly snapshots: readonly Snapshot[]
  /** Plans a query that stands inside an expression; with `firstOnly` it is only asked whether it has a row. */
  planInner(expression: SubqueryExpression, firstOnly: boolean): Plan
  readonly collectedMax?: number | undefined
  /** Wraps every operator of a run that is looked at. */
  readonly observe?: (plan: Plan, operator: PhysicalOperator) => PhysicalOperator
}

export function compilePlan(plan: Plan, site: PlanCompilerDeps): PhysicalOperator {
  const expressions: ExpressionCompilerDeps = {
    snapshots: site.snapshots,
    compileExists: (expression) => {
      const inner = compilePlan(site.planInner(expression, true), site)
      return (run) => {
        inner.open(run)
        return inner.next(run)
      }
    },
    compileSubquery: (expression) => {
      const inner = compilePlan(site.planInner(expression, expression.form === 'exists'), site)
      return compileSubquery(expression, inner)
    },
  }
  const evaluate = (expression: BoundExpression): CompiledExpression =>
    chargeBySize(expression, compileExpression(expression, expressions))
  const test = (expression: BoundExpression): ((run: ExecutionContext) => boolean) =>
    chargeBySize(expression, compileTest(expression, expressions))
  const snapshotOf = (slot: Slot): Snapshot => site.snapshots[slot.graph]!
  const symbol = (slot: Slot, kind: 'label' | 'property', name: string): SymbolId => snapshotOf(slot).symbol(kind, name)
  const walkable = (step: {
    from: Slot
    direction: TraversalSpec['direction']
    types: readonly string[]
  }): TraversalSpec => {
    const snapshot = snapshotOf(step.from)
    const known = step.types.map((type) => snapshot.symbol('type', type)).filter((type) => type !== 0)
    return { graph: step.from.graph, direction: step.direction, types: step.types.length === 0 ? null : known }
  }
  const hops = (step: { min: number; max: number | null; each: BoundRelationship['each'] }): HopLimits => ({
    min: step.min,
    max: step.max,
    hopPredicate: step.each ? { slot: step.each.element.index, test: test(step.each.predicate) } : null,
  })

  /** A slot that is only passed on keeps the form in which it is held. */
  const column = (slot: Slot, expression: BoundExpression): ((run: ExecutionContext) => unknown) => {
    const passesOn = expression.kind === 'slot' && expression.slot.kind === slot.kind
    return passesOn ? (run) => run.frame[expression.slot.index] : evaluate(expression)
  }

  const build = (plan: Plan): PhysicalOperator => {
    const operator = make(plan)
    return site.observe ? site.observe(plan, operator) : operator
  }

  const make = (plan: Plan): PhysicalOperator => {
    switch (plan.op) {
      case 'Argument':
        return new ArgumentOperator()
      case 'NodeUniqueIndexSeek':
        return new NodeUniqueIndexSeekOperator(
          build(plan.input),
          plan.slot.index,
          symbol(plan.slot, 'label', plan.label),
          evaluate(plan.externalId),
          plan.slot.graph,
        )
      case 'NodeIndexSeek':
        if (!plan.mayBeUnknown && mayHaveExternal(site.snapshots[plan.slot.graph]!, plan.property)) {
          const label = symbol(plan.slot, 'label', plan.label)
          return new NodeScanOperator(
            build(plan.input),
            plan.slot.index,
            label,
            plan.slot.graph,
            plan.startsAfterCursor,
          )
        }
        return new NodeIndexSeekOperator(
          build(plan.input),
          plan.slot.index,
          symbol(plan.slot, 'label', plan.label),
          symbol(plan.slot, 'property', plan.property),
          evaluate(plan.value),
          plan.slot.graph,
          plan.startsAfterCursor,
        )
      case 'NodeByLabelScan':
      case 'AllNodesScan': {
        const label = plan.op === 'AllNodesScan' ? null : symbol(plan.slot, 'label', plan.label)
        return new NodeScanOperator(build(plan.input), plan.slot.index, label, plan.slot.graph, plan.startsAfterCursor)
      }
      case 'ExpandAll':
        return new ExpandAllOperator(build(plan.input), expandSlots(plan), walkable(plan))
      case 'ExpandInto':
        return new ExpandIntoOperator(build(plan.input), expandSlots(plan), walkable(plan))
      case 'VarLengthExpand':
        return new VarLengthExpandOperator(build(plan.input), expandSlots(plan), walkable(plan), hops(plan), plan)
      case 'PruningVarExpand': {
        const slots = { from: plan.from.index, to: plan.to.index }
        return plan.into
          ? new BidirectionalExpandIntoOperator(
              build(plan.input),
              slots,
              [{ walkable: walkable(plan), hops: hops(plan) }],
              [],
            )
          : new PruningVarExpandOperator(build(plan.input), slots, walkable(plan), hops(plan))
      }
      case 'BidirectionalExpandInto':
      case 'PruningExpand': {
        const slots = { from: plan.from.index, to: plan.to.index }
        const links = plan.links.map((link) => ({
          walkable: walkable({ ...link, from: plan.from }),
          hops: hops(link),
        }))
        const stops = plan.intermediates.map(({ slot, predicates }) => ({
          slot: slot.index,
          tests: predicates.map(test),
        }))
        return plan.op === 'BidirectionalExpandInto'
          ? new BidirectionalExpandIntoOperator(build(plan.input), slots, links, stops)
          : new PruningExpandOperator(build(plan.input), slots, links, stops)
      }
      case 'OrderedExpand':
        return new OrderedExpandOperator(
          build(plan.input),
          { from: plan.from.index, to: plan.to.index },
          walkable(plan),
          site.collectedMax,
        )
      case 'ProjectEndpoints':
        return new ProjectEndpointsOperator(
          build(plan.input),
          endpointSlots(plan),
          walkable({ ...plan, from: plan.from.slot }),
        )
      case 'ProjectVarLengthEndpoints':
        return new ProjectVarLengthEndpointsOperator(
          build(plan.input),
          endpointSlots(plan),
          walkable({ ...plan, from: plan.from.slot }),
          plan,
        )
      case 'ShortestPath':
        return new ShortestPathOperator(build(plan.input), expandSlots(plan), walkable(plan), hops(plan), plan)
      case 'Cast':
        return new CastOperator(build(plan.input), plan.casts)
      case 'Filter':
        return new FilterOperator(build(plan.input), plan.predicates.map(test))
      case 'SemiApply':
        return new SemiApplyOperator(build(plan.input), build(plan.inner), plan.negated)
      case 'Optional':
        return new OptionalOperator(build(plan.input), build(plan.inner), plan.nulls.map(nullSlot))
      case 'Apply':
        return new ApplyOperator(build(plan.input), build(plan.inner))
      case 'Union':
        return new UnionOperator(plan.branches.map(build))
      case 'Unwind':
        return new UnwindOperator(build(plan.input), evaluate(plan.list), plan.slot.index)
      case 'MakePath':
        return new MakePathOperator(
          build(plan.input),
          {
            path: plan.slot.index,
            nodes: plan.nodes.map((slot) => slot.index),
            steps: plan.relationships.map((slot) => ({ slot: slot.index, variable: slot.kind === 'relationships' })),
          },
          plan.slot.graph,
        )
      case 'Projection':
        return new ProjectionOperator(
          build(plan.input),
          plan.items.map(({ slot, expression }) => ({ slot: slot.index, evaluate: column(slot, expression) })),
        )
      case 'EagerAggregation':
        return new EagerAggregationOperator(
          build(plan.input),
          plan.grouping.map(({ slot, expression }) => ({
            slot,
            evaluate: expression.kind === 'slot' && expression.slot.index === slot.index ? null : evaluate(expression),
          })),
          plan.aggregates.map((item) => ({
            ...item,
            argument: item.argument ? evaluate(item.argument) : null,
            parameter: item.parameter ? evaluate(item.parameter) : null,
          })),
        )
      case 'Distinct':
        if (plan.searchOrder === 'ascending') {
          return new OrderedDistinctOperator(build(plan.input), plan.slots[0]!.index)
        }
        return plan.slots.length === 1 && isElementSlot(plan.slots[0]!)
          ? new DistinctElementsOperator(build(plan.input), plan.slots[0]!.index)
          : new DistinctOperator(build(plan.input), rowKey(plan.slots))
      case 'Sort':
        return new SortOperator(
          build(plan.input),
          plan.by.map((item) => ({ evaluate: evaluate(item.expression), descending: item.descending })),
          plan.slots.map((slot) => slot.index),
          plan.skip ? evaluate(plan.skip) : null,
          plan.limit ? evaluate(plan.limit) : null,
        )
      case 'Skip':
        return new SkipOperator(build(plan.input), evaluate(plan.count))
      case 'Limit':
        return new LimitOperator(build(plan.input), evaluate(plan.count))
      case 'First':
        return new FirstOperator(build(plan.input))
      default:
        return assertNever(plan)
    }
  }
  return build(plan)
}

function expandSlots(step: { from: Slot; to: Slot; relationship: Slot; distinctFrom: readonly Slot[] }): ExpandSlots {
  return {
    from: step.from.index,
    to: step.to.index,
    relationship: step.relationship.index,
    distinctFrom: step.distinctFrom.map((slot) => slot.index),
  }
}

function endpointSlots(
  plan: Extract<Plan, { op: 'ProjectEndpoints' | 'ProjectVarLengthEndpoints' }>,
): ProjectEndpointsSlots {
  return {
    relationship: plan.relationship.index,
    from: { slot: plan.from.slot.index, known: plan.from.known },
    to: { slot: plan.to.slot.index, known: plan.to.known },
    distinctFrom: plan.distinctFrom.map((slot) => slot.index),
  }
}

function nullSlot(slot: Slot): { slot: number; nothing: 0 | null } {
  return { slot: slot.index, nothing: slot.kind === 'node' || slot.kind === 'relationship' ? 0 : null }
}
