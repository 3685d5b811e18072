// Compiles a logical plan to physical operators for a set of snapshots. Names become symbol ids here, so a compiled plan is
// valid until the symbol epoch of a snapshot changes.
import { assertNever } from '../../kernel/assert.ts'
import type { BoundAggregate, BoundExpression, BoundGroup, Slot } from '../bind/bound.ts'
import { slotsOf } from '../bind/expression-tree.ts'
import { isSafePredicate } from '../bind/may-fail.ts'
import type { SubqueryExpression } from '../plan/build-plan.ts'
import type { ChainLink, HopTest, Plan, PlannedHop, PlanOf, RepetitionTest } from '../plan/operators.ts'
import type { Snapshot, SymbolId } from '../store.ts'
import { mayHaveExternal } from '../value/external-properties.ts'
import { ApplyOperator } from './apply.ts'
import { ArgumentOperator } from './argument.ts'
import { BidirectionalExpandIntoOperator } from './bidirectional-expand-into.ts'
import type { CompiledTest } from './boolean-logic.ts'
import { CastOperator } from './cast.ts'
import { isElementSlot } from './comparison.ts'
import { chargeBySize, compileExpression, compileTest, type ExpressionCompilerDeps } from './compile-expression.ts'
import { CountRowsOperator } from './count-rows.ts'
import { DerivedExpandAllOperator, DerivedExpandIntoOperator } from './derived-expand.ts'
import { DistinctElementsOperator, DistinctOperator } from './distinct.ts'
import { EagerAggregationOperator } from './eager-aggregation.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { ExpandAllOperator } from './expand-all.ts'
import { ExpandIntoOperator } from './expand-into.ts'
import type { EndpointPair, ExpandSlots } from './expand-slots.ts'
import { FilterOperator } from './filter.ts'
import { FirstOperator } from './first.ts'
import { GroupVariablesOperator } from './group-variables.ts'
import { LimitOperator } from './limit.ts'
import { MakePathOperator } from './make-path.ts'
import type { CompiledHop, HopLimits, HopPredicate, TraversalSpec } from './neighbour-cursor.ts'
import { NodeIndexSeekOperator } from './node-index-seek.ts'
import { NodeScanOperator } from './node-scan.ts'
import { NodeUniqueIndexSeekOperator } from './node-unique-index-seek.ts'
import { type NullSlot, OptionalOperator } from './optional.ts'
import { OrderedDistinctOperator } from './ordered-distinct.ts'
import { OrderedExpandOperator } from './ordered-expand.ts'
import type { PathSearchSpec } from './path-search.ts'
import type { CompiledGroup } from './path-values.ts'
import type { PhysicalOperator } from './physical-operator.ts'
import { ProjectEndpointsOperator, type ProjectEndpointsSlots } from './project-endpoints.ts'
import { ProjectVarLengthEndpointsOperator } from './project-var-length-endpoints.ts'
import { ProjectionOperator } from './projection.ts'
import { PruningExpandOperator } from './pruning-expand.ts'
import type { CompiledRepetition } from './repetition.ts'
import { rowKey } from './row-key.ts'
import { SemiApplyOperator } from './semi-apply.ts'
import { ShortestPathOperator } from './shortest-path.ts'
import { SkipOperator } from './skip.ts'
import { SortOperator } from './sort.ts'
import { compileSubquery } from './subquery.ts'
import { UnionOperator } from './union.ts'
import { UnwindOperator } from './unwind.ts'
import { VarLengthExpandOperator } from './var-length-expand.ts'

/** Collaborators of the plan compiler. */
export interface PlanCompilerDeps {
  /** By graph index. */
  readonly snapshots: readonly Snapshot[]
  /** Plans a query inside an expression. `firstOnly`: the expression reads at most one row of the query. */
  planInner(expression: SubqueryExpression, firstOnly: boolean): Plan
  /** Entries up to which OrderedExpand collects lists instead of merging them; for tests. */
  readonly collectedMax?: number | undefined
  /** Called for each operator; throws to end the compilation. */
  readonly onWork?: () => void
  /** Wraps every operator of a profiled execution. */
  readonly observe?: (plan: Plan, operator: PhysicalOperator) => PhysicalOperator
}

/** Compiles a plan. Its operators run one execution at a time. */
export function compilePlan(plan: Plan, deps: PlanCompilerDeps): PhysicalOperator {
  const expressions: ExpressionCompilerDeps = {
    snapshots: deps.snapshots,
    compileExists: (expression) => {
      const inner = compilePlan(deps.planInner(expression, true), deps)
      return (run) => {
        inner.open(run)
        return inner.next(run)
      }
    },
    compileSubquery: (expression) => {
      const inner = compilePlan(deps.planInner(expression, expression.form === 'exists'), deps)
      return compileSubquery(expression, inner)
    },
  }
  const evaluate = (expression: BoundExpression): CompiledExpression =>
    chargeBySize(expression, compileExpression(expression, expressions))
  const test = (expression: BoundExpression): CompiledTest =>
    chargeBySize(expression, compileTest(expression, expressions))
  const snapshotOf = (slot: Slot): Snapshot => deps.snapshots[slot.graph]!
  const symbol = (slot: Slot, kind: 'label' | 'property', name: string): SymbolId => snapshotOf(slot).symbol(kind, name)
  const traversal = (step: { from: Slot } & Pick<PlannedHop, 'direction' | 'types'>): TraversalSpec => {
    const snapshot = snapshotOf(step.from)
    const known = step.types.map((type) => snapshot.symbol('type', type)).filter((type) => type !== 0)
    return { graph: step.from.graph, direction: step.direction, types: step.types.length === 0 ? null : known }
  }
  const hopPredicate = (each: HopTest | null): HopPredicate | null =>
    each && {
      slot: each.element.index,
      near: each.near?.index ?? -1,
      far: each.far?.index ?? -1,
      test: test(each.predicate),
      isSafe: isSafePredicate(each.predicate),
      isLabelTest: readsOnlyLabels(each),
    }
  const compiledHop = (hop: PlannedHop, from: Slot): CompiledHop => ({
    traversal: traversal({ ...hop, from }),
    predicate: hopPredicate(hop.each),
  })
  const hops = (step: ChainLink, from: Slot): HopLimits => ({
    min: step.min,
    max: step.max,
    hopPredicate: hopPredicate(step.each),
    further: step.further.map((hop) => compiledHop(hop, from)),
  })
  const compiledRepetition = (repetition: RepetitionTest | null): CompiledRepetition | null =>
    repetition && {
      nodes: repetition.nodes.map((slot) => slot.index),
      relationships: repetition.relationships.map((slot) => slot.index),
      tests: repetition.predicates.map(test),
    }
  const pathSearch = (plan: PlanOf<'ShortestPath'>): PathSearchSpec => ({
    ...plan,
    graph: plan.from.graph,
    from: plan.from.index,
    to: plan.to.index,
    relationship: plan.relationship.index,
    path: plan.path?.index ?? null,
    nodes: plan.nodes.map(({ slot, predicates }) => ({ slot: slot.index, tests: predicates.map(test) })),
    steps: plan.steps.map((step) => ({
      slot: step.slot.index,
      isList: step.range !== null,
      min: step.range?.min ?? 1,
      max: step.range === null ? 1 : step.range.max,
      hops: [step, ...step.further].map((hop) => compiledHop(hop, plan.from)),
      repetition: compiledRepetition(step.repetition),
      groups: compiledGroups(step.groups),
    })),
    predicates: plan.predicates.map(test),
  })

  /** A slot that is only copied keeps its representation. */
  const column = (slot: Slot, expression: BoundExpression): ((run: ExecutionContext) => unknown) => {
    const isCopy = expression.kind === 'slot' && expression.slot.kind === slot.kind
    return isCopy ? (run) => run.frame[expression.slot.index] : evaluate(expression)
  }

  const compile = (plan: Plan): PhysicalOperator => {
    deps.onWork?.()
    const operator = createOperator(plan)
    return deps.observe ? deps.observe(plan, operator) : operator
  }

  const createOperator = (plan: Plan): PhysicalOperator => {
    switch (plan.op) {
      case 'Argument':
        return new ArgumentOperator()
      case 'NodeUniqueIndexSeek':
        return new NodeUniqueIndexSeekOperator(
          compile(plan.input),
          plan.slot.index,
          symbol(plan.slot, 'label', plan.label),
          evaluate(plan.externalId),
          plan.slot.graph,
        )
      case 'NodeIndexSeek':
        if (!plan.mayBeUnknown && mayHaveExternal(deps.snapshots[plan.slot.graph]!, plan.property)) {
          const label = symbol(plan.slot, 'label', plan.label)
          return new NodeScanOperator(
            compile(plan.input),
            plan.slot.index,
            label,
            plan.slot.graph,
            plan.startsAfterCursor,
          )
        }
        return new NodeIndexSeekOperator(
          compile(plan.input),
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
        return new NodeScanOperator(
          compile(plan.input),
          plan.slot.index,
          label,
          plan.slot.graph,
          plan.startsAfterCursor,
        )
      }
      case 'ExpandAll':
        return new ExpandAllOperator(compile(plan.input), expandSlots(plan), traversal(plan))
      case 'ExpandInto':
        return new ExpandIntoOperator(compile(plan.input), expandSlots(plan), traversal(plan))
      case 'VarLengthExpand':
        return new VarLengthExpandOperator(
          compile(plan.input),
          expandSlots(plan),
          traversal(plan),
          hops(plan, plan.from),
          { ...plan, repetition: compiledRepetition(plan.repetition) },
        )
      case 'BidirectionalExpandInto':
      case 'PruningExpand': {
        const slots = endpoints(plan)
        const links = plan.links.map((link) => ({
          traversal: traversal({ ...link, from: plan.from }),
          hops: hops(link, plan.from),
        }))
        const intermediates = plan.intermediates.map(({ slot, predicates }) => ({
          slot: slot.index,
          predicates: predicates.map(test),
        }))
        return plan.op === 'BidirectionalExpandInto'
          ? new BidirectionalExpandIntoOperator(compile(plan.input), slots, links, intermediates)
          : new PruningExpandOperator(compile(plan.input), slots, links, intermediates)
      }
      case 'OrderedExpand':
        return new OrderedExpandOperator(compile(plan.input), endpoints(plan), traversal(plan), deps.collectedMax)
      case 'DerivedExpand': {
        const { derived: step, direction, into, from } = plan
        const derived = { step, direction, graph: from.graph }
        return into
          ? new DerivedExpandIntoOperator(compile(plan.input), endpoints(plan), derived)
          : new DerivedExpandAllOperator(compile(plan.input), endpoints(plan), derived)
      }
      case 'ProjectEndpoints':
        return new ProjectEndpointsOperator(
          compile(plan.input),
          endpointSlots(plan),
          traversal({ ...plan, from: plan.from.slot }),
        )
      case 'ProjectVarLengthEndpoints':
        return new ProjectVarLengthEndpointsOperator(
          compile(plan.input),
          endpointSlots(plan),
          traversal({ ...plan, from: plan.from.slot }),
          plan,
        )
      case 'ShortestPath':
        return new ShortestPathOperator(compile(plan.input), pathSearch(plan))
      case 'GroupVariables':
        return new GroupVariablesOperator(compile(plan.input), {
          graph: plan.start.graph,
          start: plan.start.index,
          relationship: plan.relationship.index,
          hops: plan.hops,
          groups: compiledGroups(plan.groups),
        })
      case 'Cast':
        return new CastOperator(compile(plan.input), plan.casts)
      case 'Filter':
        return new FilterOperator(compile(plan.input), plan.predicates.map(test))
      case 'SemiApply':
        return new SemiApplyOperator(compile(plan.input), compile(plan.inner), plan.negated)
      case 'Optional':
        return new OptionalOperator(compile(plan.input), compile(plan.inner), plan.nulls.map(nullSlot))
      case 'Apply':
        return new ApplyOperator(compile(plan.input), compile(plan.inner))
      case 'Union':
        return new UnionOperator(plan.branches.map(compile))
      case 'Unwind':
        return new UnwindOperator(compile(plan.input), evaluate(plan.list), plan.slot.index)
      case 'MakePath':
        return new MakePathOperator(
          compile(plan.input),
          {
            path: plan.slot.index,
            nodes: plan.nodes.map((slot) => slot.index),
            steps: plan.relationships.map((slot) => ({ slot: slot.index, variable: slot.kind === 'relationships' })),
          },
          plan.slot.graph,
        )
      case 'Projection':
        return new ProjectionOperator(
          compile(plan.input),
          plan.items.map(({ slot, expression }) => ({ slot: slot.index, evaluate: column(slot, expression) })),
        )
      case 'EagerAggregation':
        if (plan.grouping.length === 0 && plan.aggregates.every(isRowCount)) {
          return new CountRowsOperator(
            compile(plan.input),
            plan.aggregates.map(({ slot }) => slot.index),
          )
        }
        return new EagerAggregationOperator(
          compile(plan.input),
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
          return new OrderedDistinctOperator(compile(plan.input), plan.slots[0]!.index)
        }
        return plan.slots.length === 1 && isElementSlot(plan.slots[0]!)
          ? new DistinctElementsOperator(compile(plan.input), plan.slots[0]!.index)
          : new DistinctOperator(compile(plan.input), rowKey(plan.slots))
      case 'Sort':
        return new SortOperator(
          compile(plan.input),
          plan.by.map((item) => ({ evaluate: evaluate(item.expression), descending: item.descending })),
          plan.slots.map((slot) => slot.index),
          plan.skip ? evaluate(plan.skip) : null,
          plan.limit ? evaluate(plan.limit) : null,
        )
      case 'Skip':
        return new SkipOperator(compile(plan.input), evaluate(plan.count))
      case 'Limit':
        return new LimitOperator(compile(plan.input), evaluate(plan.count))
      case 'First':
        return new FirstOperator(compile(plan.input))
      default:
        return assertNever(plan)
    }
  }
  return compile(plan)
}

/** `count(*)`: an argument that is null for some rows would have to be evaluated. */
/** Whether the test reads only labels of nodes, and cannot fail. */
function readsOnlyLabels({ predicate, element }: HopTest): boolean {
  const tests = predicate.kind === 'and' ? predicate.operands : [predicate]
  return (
    isSafePredicate(predicate) &&
    tests.every(({ kind }) => kind === 'label-test') &&
    slotsOf(predicate).every(({ index }) => index !== element.index)
  )
}

function isRowCount({ name, distinct, argument }: BoundAggregate): boolean {
  return name === 'count' && !distinct && argument === null
}

function compiledGroups(groups: readonly BoundGroup[]): readonly CompiledGroup[] {
  return groups.map(({ slot, element, index }) => ({ slot: slot.index, element, index }))
}

function endpoints({ from, to }: { from: Slot; to: Slot }): EndpointPair {
  return { from: from.index, to: to.index }
}

function expandSlots(step: { from: Slot; to: Slot; relationship: Slot; distinctFrom: readonly Slot[] }): ExpandSlots {
  return {
    ...endpoints(step),
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

function nullSlot(slot: Slot): NullSlot {
  return { slot: slot.index, nullValue: slot.kind === 'node' || slot.kind === 'relationship' ? 0 : null }
}
