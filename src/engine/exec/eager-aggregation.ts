// Grouping: reads all its input at the first row asked for, then gives one row per group in the order of first sight.
import type { Slot } from '../bind/bound.ts'
import type { Budget } from '../budget.ts'
import { type GroupingKey, groupingKey } from '../value/compare.ts'
import type { Value } from '../value/value.ts'
import { type Accumulator, createAccumulator } from './aggregate-functions.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import type { PhysicalOperator } from './physical-operator.ts'
import { cellBytes, cellKey, joinKeys, keyBytes } from './row-key.ts'

/** A grouping key: passed on as it stands in its slot (`evaluate` null), or computed. */
export interface GroupingColumn {
  readonly slot: Slot
  readonly evaluate: CompiledExpression | null
}

export interface AggregateColumn {
  readonly slot: Slot
  readonly name: string
  readonly distinct: boolean
  /** Null: count(*). */
  readonly argument: CompiledExpression | null
  readonly parameter: CompiledExpression | null
}

interface AggregationGroup {
  readonly cells: readonly unknown[]
  readonly accumulators: readonly Accumulator[]
}

export class EagerAggregationOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly grouping: readonly GroupingColumn[]
  private readonly aggregates: readonly AggregateColumn[]
  private groups: Iterator<AggregationGroup> | null = null

  constructor(input: PhysicalOperator, grouping: readonly GroupingColumn[], aggregates: readonly AggregateColumn[]) {
    this.input = input
    this.grouping = grouping
    this.aggregates = aggregates
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.groups = null
  }

  next(run: ExecutionContext): boolean {
    this.groups ??= this.read(run).values()
    const step = this.groups.next()
    if (step.done) return false
    const { cells, accumulators } = step.value
    this.grouping.forEach((item, i) => {
      run.frame[item.slot.index] = cells[i]
    })
    this.aggregates.forEach((item, i) => {
      run.frame[item.slot.index] = accumulators[i]!.result()
    })
    return true
  }

  private read(run: ExecutionContext): Map<GroupingKey, AggregationGroup> {
    const groups = new Map<GroupingKey, AggregationGroup>()
    const { aggregates } = this
    // Without keys there is one group, even when there is no row.
    if (this.grouping.length === 0) groups.set('', this.newGroup(run, []))
    while (this.input.next(run)) {
      run.budget.chargeSteps(1)
      const { accumulators } = this.grouping.length === 1 ? this.groupOfOne(run, groups) : this.groupOf(run, groups)
      for (let i = 0; i < aggregates.length; i++) {
        const { argument, parameter } = aggregates[i]!
        accumulators[i]!.add(argument ? argument(run) : true, parameter ? parameter(run) : undefined)
      }
    }
    return groups
  }

  /** A single key needs no text that keeps the parts apart. */
  private groupOfOne(run: ExecutionContext, groups: Map<GroupingKey, AggregationGroup>): AggregationGroup {
    const item = this.grouping[0]!
    const cell = groupingCell(item, run)
    const key = groupingCellKey(run.budget, item, cell)
    return groups.get(key) ?? this.addGroup(run, groups, key, [cell])
  }

  private groupOf(run: ExecutionContext, groups: Map<GroupingKey, AggregationGroup>): AggregationGroup {
    const cells = this.grouping.map((item) => groupingCell(item, run))
    const key = joinKeys(
      run.budget,
      this.grouping.map((item, i) => groupingCellKey(run.budget, item, cells[i])),
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

  private newGroup(run: ExecutionContext, cells: readonly unknown[]): AggregationGroup {
    return {
      cells,
      accumulators: this.aggregates.map((item) => createAccumulator(run.budget, item.name, item.distinct)),
    }
  }
}

function groupingCell({ slot, evaluate }: GroupingColumn, run: ExecutionContext): unknown {
  return evaluate ? evaluate(run) : run.frame[slot.index]
}

function groupingCellKey(budget: Budget, { slot, evaluate }: GroupingColumn, cell: unknown): GroupingKey {
  return evaluate ? groupingKey(budget, cell as Value) : cellKey(budget, slot, cell)
}
