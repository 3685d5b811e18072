// EagerAggregation: reads all its input on the first `next`, then returns one row per group, in the order of the first row of
// each group.
import type { Slot } from '../bind/bound.ts'
import type { Budget } from '../budget.ts'
import { type GroupingKey, groupingKey } from '../value/compare.ts'
import type { Value } from '../value/value.ts'
import { type Accumulator, type AccumulatorFactory, accumulatorFactory } from './aggregate-functions.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'
import { cellBytes, cellKey, joinKeys, keyBytes } from './row-key.ts'

/** A grouping key. `evaluate` null: the content of the slot is the key. */
export interface GroupingColumn {
  readonly slot: Slot
  readonly evaluate: CompiledExpression | null
}

/** An aggregate function and the slot of its result. */
export interface AggregateColumn {
  readonly slot: Slot
  readonly name: string
  readonly distinct: boolean
  /** Null for `count(*)`. */
  readonly argument: CompiledExpression | null
  readonly parameter: CompiledExpression | null
}

interface AggregationGroup {
  readonly cells: readonly unknown[]
  readonly accumulators: readonly Accumulator[]
}

/** One row per group. Without grouping keys there is exactly one group, even if the input has no rows. */
export class EagerAggregationOperator extends UnaryOperator {
  private readonly grouping: readonly GroupingColumn[]
  private readonly aggregates: readonly AggregateColumn[]
  private readonly factories: readonly AccumulatorFactory[]
  private groups: Iterator<AggregationGroup> | null = null

  constructor(input: PhysicalOperator, grouping: readonly GroupingColumn[], aggregates: readonly AggregateColumn[]) {
    super(input)
    this.grouping = grouping
    this.aggregates = aggregates
    this.factories = aggregates.map(({ name, distinct }) => accumulatorFactory(name, distinct))
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.groups = null
  }

  next(run: ExecutionContext): boolean {
    this.groups ??= this.read(run)
    const step = this.groups.next()
    if (step.done) return false
    const { cells, accumulators } = step.value
    this.grouping.forEach((column, i) => {
      run.frame[column.slot.index] = cells[i]
    })
    this.aggregates.forEach((column, i) => {
      run.frame[column.slot.index] = accumulators[i]!.result()
    })
    return true
  }

  private read(run: ExecutionContext): Iterator<AggregationGroup> {
    if (this.grouping.length === 0) {
      const all = this.newGroup(run, [])
      while (this.input.next(run)) this.accumulate(run, all)
      return [all].values()
    }
    const groups = new Map<GroupingKey, AggregationGroup>()
    while (this.input.next(run)) {
      this.accumulate(run, this.grouping.length === 1 ? this.groupByOne(run, groups) : this.groupByAll(run, groups))
    }
    return groups.values()
  }

  private accumulate(run: ExecutionContext, { accumulators }: AggregationGroup): void {
    const { aggregates } = this
    run.budget.chargeSteps(1)
    for (let i = 0; i < aggregates.length; i++) {
      const { argument, parameter } = aggregates[i]!
      accumulators[i]!.add(argument ? argument(run) : true, parameter ? parameter(run) : undefined)
    }
  }

  /** A single key needs no joined text. */
  private groupByOne(run: ExecutionContext, groups: Map<GroupingKey, AggregationGroup>): AggregationGroup {
    const column = this.grouping[0]!
    const cell = groupingCell(column, run)
    const key = groupingCellKey(run.budget, column, cell)
    return groups.get(key) ?? this.addGroup(run, groups, key, [cell])
  }

  private groupByAll(run: ExecutionContext, groups: Map<GroupingKey, AggregationGroup>): AggregationGroup {
    const cells = this.grouping.map((column) => groupingCell(column, run))
    const key = joinKeys(
      run.budget,
      this.grouping.map((column, i) => groupingCellKey(run.budget, column, cells[i])),
    )
    return groups.get(key) ?? this.addGroup(run, groups, key, cells)
  }

  private addGroup(
    run: ExecutionContext,
    groups: Map<GroupingKey, AggregationGroup>,
    key: GroupingKey,
    cells: readonly unknown[],
  ): AggregationGroup {
    const group = this.newGroup(run, cells)
    groups.set(key, group)
    run.budget.retainRow()
    let bytes = keyBytes(key)
    for (const cell of cells) bytes += cellBytes(run.budget, cell)
    run.budget.retainBytes(bytes)
    return group
  }

  private newGroup({ budget }: ExecutionContext, cells: readonly unknown[]): AggregationGroup {
    return {
      cells,
      accumulators: this.factories.map((create) => create(budget)),
    }
  }
}

function groupingCell({ slot, evaluate }: GroupingColumn, run: ExecutionContext): unknown {
  return evaluate ? evaluate(run) : run.frame[slot.index]
}

function groupingCellKey(budget: Budget, { slot, evaluate }: GroupingColumn, cell: unknown): GroupingKey {
  return evaluate ? groupingKey(budget, cell as Value) : cellKey(budget, slot, cell)
}
