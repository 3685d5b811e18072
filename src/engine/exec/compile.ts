// Logical plan → physical operators for one set of environments. Names become symbol ids here, so what is compiled holds
// as long as the symbol epochs do.
import { unreachable } from '../../kernel/assert.ts'
import type { BoundExpression, BoundRelationship, Slot } from '../bind/bound.ts'
import type { InnerQuery } from '../plan/build-plan.ts'
import type { Plan } from '../plan/operators.ts'
import type { Snapshot, SymbolId } from '../store.ts'
import { mayBeExternal } from '../value/external.ts'
import { AggregateOperator } from './aggregate.ts'
import { ApplyOperator, OptionalOperator, SemiApplyOperator, UnionOperator } from './apply.ts'
import { AscendingIdsOperator, AscendOperator } from './ascend.ts'
import { CastOperator } from './cast.ts'
import { holdsId } from './comparison.ts'
import { ConnectOperator, SpreadOperator } from './connect.ts'
import type { Evaluate, Run } from './context.ts'
import { type EndsSlots, RelationshipEndsOperator, TrailEndsOperator } from './ends.ts'
import { ExpandIntoOperator, ExpandOperator, type StepSlots } from './expand.ts'
import { chargedBySize, compileExpression, compileTest, type ExpressionSite } from './expression.ts'
import { FilterOperator, FirstOperator } from './filter.ts'
import type { Walkable } from './neighbours.ts'
import type { Operator } from './operator.ts'
import { LimitOperator, SkipOperator, SortOperator } from './page.ts'
import { DistinctIdsOperator, DistinctOperator, MakePathOperator, ProjectOperator, UnwindOperator } from './project.ts'
import { ReachOperator } from './reach.ts'
import { rowKey } from './row-key.ts'
import { ArgumentOperator, KeySeek, NodeScan, PropertySeek } from './scan.ts'
import { ShortestPathOperator } from './shortest-path.ts'
import { subqueryValue } from './subquery.ts'
import { type Hops, VarExpandOperator } from './var-expand.ts'

export interface CompileSite {
  readonly snapshots: readonly Snapshot[]
  /** Plans a query that stands inside an expression; with `firstOnly` it is only asked whether it has a row. */
  planInner(expression: InnerQuery, firstOnly: boolean): Plan
  readonly gatheredMax?: number | undefined
  /** Wraps every operator of a run that is looked at. */
  readonly observe?: (plan: Plan, operator: Operator) => Operator
}

export function compile(plan: Plan, site: CompileSite): Operator {
  const expressions: ExpressionSite = {
    snapshots: site.snapshots,
    exists: (expression) => {
      const inner = compile(site.planInner(expression, true), site)
      return (run) => {
        inner.open(run)
        return inner.next(run)
      }
    },
    subquery: (expression) => {
      const inner = compile(site.planInner(expression, expression.form === 'exists'), site)
      return subqueryValue(expression, inner)
    },
  }
  const evaluate = (expression: BoundExpression): Evaluate =>
    chargedBySize(expression, compileExpression(expression, expressions))
  const test = (expression: BoundExpression): ((run: Run) => boolean) =>
    chargedBySize(expression, compileTest(expression, expressions))
  const snapshotOf = (slot: Slot): Snapshot => site.snapshots[slot.graph]!
  const symbol = (slot: Slot, kind: 'label' | 'property', name: string): SymbolId => snapshotOf(slot).symbol(kind, name)
  const walkable = (step: { from: Slot; direction: Walkable['direction']; types: readonly string[] }): Walkable => {
    const snapshot = snapshotOf(step.from)
    const known = step.types.map((type) => snapshot.symbol('type', type)).filter((type) => type !== 0)
    return { graph: step.from.graph, direction: step.direction, types: step.types.length === 0 ? null : known }
  }
  const hops = (step: { min: number; max: number | null; each: BoundRelationship['each'] }): Hops => ({
    min: step.min,
    max: step.max,
    each: step.each ? { slot: step.each.element.index, test: test(step.each.predicate) } : null,
  })

  /** A slot that is only passed on keeps the form in which it is held. */
  const column = (slot: Slot, expression: BoundExpression): ((run: Run) => unknown) => {
    const passesOn = expression.kind === 'slot' && expression.slot.kind === slot.kind
    return passesOn ? (run) => run.frame[expression.slot.index] : evaluate(expression)
  }

  const build = (plan: Plan): Operator => {
    const operator = make(plan)
    return site.observe ? site.observe(plan, operator) : operator
  }

  const make = (plan: Plan): Operator => {
    switch (plan.op) {
      case 'argument':
        return new ArgumentOperator()
      case 'node-by-key':
        return new KeySeek(
          build(plan.input),
          plan.slot.index,
          symbol(plan.slot, 'label', plan.label),
          evaluate(plan.externalId),
          plan.slot.graph,
        )
      case 'node-by-property':
        if (!plan.mayBeUnknown && mayBeExternal(site.snapshots[plan.slot.graph]!, plan.property)) {
          const label = symbol(plan.slot, 'label', plan.label)
          return new NodeScan(build(plan.input), plan.slot.index, label, plan.slot.graph, plan.goesOn)
        }
        return new PropertySeek(
          build(plan.input),
          plan.slot.index,
          symbol(plan.slot, 'label', plan.label),
          symbol(plan.slot, 'property', plan.property),
          evaluate(plan.value),
          plan.slot.graph,
          plan.goesOn,
        )
      case 'label-scan':
      case 'all-nodes': {
        const label = plan.op === 'all-nodes' ? null : symbol(plan.slot, 'label', plan.label)
        return new NodeScan(build(plan.input), plan.slot.index, label, plan.slot.graph, plan.goesOn)
      }
      case 'expand':
        return new ExpandOperator(build(plan.input), stepSlots(plan), walkable(plan))
      case 'expand-into':
        return new ExpandIntoOperator(build(plan.input), stepSlots(plan), walkable(plan))
      case 'var-expand':
        return new VarExpandOperator(build(plan.input), stepSlots(plan), walkable(plan), hops(plan), plan)
      case 'reach': {
        const slots = { from: plan.from.index, to: plan.to.index }
        return plan.into
          ? new ConnectOperator(build(plan.input), slots, [{ walkable: walkable(plan), hops: hops(plan) }], [])
          : new ReachOperator(build(plan.input), slots, walkable(plan), hops(plan))
      }
      case 'connect':
      case 'spread': {
        const slots = { from: plan.from.index, to: plan.to.index }
        const links = plan.links.map((link) => ({
          walkable: walkable({ ...link, from: plan.from }),
          hops: hops(link),
        }))
        const stops = plan.stops.map(({ slot, predicates }) => ({ slot: slot.index, tests: predicates.map(test) }))
        return plan.op === 'connect'
          ? new ConnectOperator(build(plan.input), slots, links, stops)
          : new SpreadOperator(build(plan.input), slots, links, stops)
      }
      case 'ascend':
        return new AscendOperator(
          build(plan.input),
          { from: plan.from.index, to: plan.to.index },
          walkable(plan),
          site.gatheredMax,
        )
      case 'relationship-ends':
        return new RelationshipEndsOperator(
          build(plan.input),
          endsSlots(plan),
          walkable({ ...plan, from: plan.from.slot }),
        )
      case 'trail-ends':
        return new TrailEndsOperator(
          build(plan.input),
          endsSlots(plan),
          walkable({ ...plan, from: plan.from.slot }),
          plan,
        )
      case 'shortest-path':
        return new ShortestPathOperator(build(plan.input), stepSlots(plan), walkable(plan), hops(plan), plan)
      case 'cast':
        return new CastOperator(build(plan.input), plan.casts)
      case 'filter':
        return new FilterOperator(build(plan.input), plan.predicates.map(test))
      case 'semi-apply':
        return new SemiApplyOperator(build(plan.input), build(plan.inner), plan.negated)
      case 'optional':
        return new OptionalOperator(build(plan.input), build(plan.inner), plan.nulls.map(nullOf))
      case 'apply':
        return new ApplyOperator(build(plan.input), build(plan.inner))
      case 'union':
        return new UnionOperator(plan.branches.map(build))
      case 'unwind':
        return new UnwindOperator(build(plan.input), evaluate(plan.list), plan.slot.index)
      case 'make-path':
        return new MakePathOperator(
          build(plan.input),
          {
            path: plan.slot.index,
            nodes: plan.nodes.map((slot) => slot.index),
            steps: plan.relationships.map((slot) => ({ slot: slot.index, variable: slot.kind === 'relationships' })),
          },
          plan.slot.graph,
        )
      case 'project':
        return new ProjectOperator(
          build(plan.input),
          plan.items.map(({ slot, expression }) => ({ slot: slot.index, evaluate: column(slot, expression) })),
        )
      case 'aggregate':
        return new AggregateOperator(
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
      case 'distinct':
        if (plan.sought === 'ascending') {
          return new AscendingIdsOperator(build(plan.input), plan.slots[0]!.index)
        }
        return plan.slots.length === 1 && holdsId(plan.slots[0]!)
          ? new DistinctIdsOperator(build(plan.input), plan.slots[0]!.index)
          : new DistinctOperator(build(plan.input), rowKey(plan.slots))
      case 'sort':
        return new SortOperator(
          build(plan.input),
          plan.by.map((item) => ({ evaluate: evaluate(item.expression), descending: item.descending })),
          plan.slots.map((slot) => slot.index),
          plan.skip ? evaluate(plan.skip) : null,
          plan.limit ? evaluate(plan.limit) : null,
        )
      case 'skip':
        return new SkipOperator(build(plan.input), evaluate(plan.count))
      case 'limit':
        return new LimitOperator(build(plan.input), evaluate(plan.count))
      case 'first':
        return new FirstOperator(build(plan.input))
      default:
        return unreachable(plan)
    }
  }
  return build(plan)
}

function stepSlots(step: { from: Slot; to: Slot; relationship: Slot; differs: readonly Slot[] }): StepSlots {
  return {
    from: step.from.index,
    to: step.to.index,
    relationship: step.relationship.index,
    differs: step.differs.map((slot) => slot.index),
  }
}

function endsSlots(plan: Extract<Plan, { op: 'relationship-ends' | 'trail-ends' }>): EndsSlots {
  return {
    relationship: plan.relationship.index,
    from: { slot: plan.from.slot.index, known: plan.from.known },
    to: { slot: plan.to.slot.index, known: plan.to.known },
    differs: plan.differs.map((slot) => slot.index),
  }
}

function nullOf(slot: Slot): { slot: number; nothing: 0 | null } {
  return { slot: slot.index, nothing: slot.kind === 'node' || slot.kind === 'relationship' ? 0 : null }
}
