// Grouping: reads all its input at the first row asked for, then gives one row per group in the order of first sight.
import type { Slot } from '../bind/bound.ts'
import { type GroupingKey, groupingKey } from '../value/compare.ts'
import type { Value } from '../value/value.ts'
import { type Accumulator, makeAccumulator } from './accumulate.ts'
import type { Evaluate, Run } from './context.ts'
import type { Operator } from './operator.ts'
import { cellBytes, cellKey, joinKeys, keyBytes } from './row-key.ts'

/** A grouping key: passed on as it stands in its slot (`evaluate` null), or computed. */
export interface GroupingItem {
  readonly slot: Slot
  readonly evaluate: Evaluate | null
}

export interface AggregateItem {
  readonly slot: Slot
  readonly name: string
  readonly distinct: boolean
  /** Null: count(*). */
  readonly argument: Evaluate | null
  readonly parameter: Evaluate | null
}

interface Group {
  readonly cells: readonly unknown[]
  readonly accumulators: readonly Accumulator[]
}

export class AggregateOperator implements Operator {
  private readonly input: Operator
  private readonly grouping: readonly GroupingItem[]
  private readonly aggregates: readonly AggregateItem[]
  private groups: Iterator<Group> | null = null

  constructor(input: Operator, grouping: readonly GroupingItem[], aggregates: readonly AggregateItem[]) {
    this.input = input
    this.grouping = grouping
    this.aggregates = aggregates
  }

  open(run: Run): void {
    this.input.open(run)
    this.groups = null
  }

  next(run: Run): boolean {
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

  private read(run: Run): Map<GroupingKey, Group> {
    const groups = new Map<GroupingKey, Group>()
    const { aggregates } = this
    // Without keys there is one group, even when there is no row.
    if (this.grouping.length === 0) groups.set('', this.newGroup([]))
    while (this.input.next(run)) {
      run.budget.touch(1)
      const { accumulators } = this.grouping.length === 1 ? this.groupOfOne(run, groups) : this.groupOf(run, groups)
      for (let i = 0; i < aggregates.length; i++) {
        const { argument, parameter } = aggregates[i]!
        accumulators[i]!.add(argument ? argument(run) : true, parameter ? parameter(run) : undefined)
      }
    }
    return groups
  }

  /** A single key needs no text that keeps the parts apart. */
  private groupOfOne(run: Run, groups: Map<GroupingKey, Group>): Group {
    const item = this.grouping[0]!
    const cell = cellOf(item, run)
    const key = keyOf(item, cell)
    return groups.get(key) ?? this.addGroup(run, groups, key, [cell])
  }

  private groupOf(run: Run, groups: Map<GroupingKey, Group>): Group {
    const cells = this.grouping.map((item) => cellOf(item, run))
    const key = joinKeys(this.grouping.map((item, i) => keyOf(item, cells[i])))
    return groups.get(key) ?? this.addGroup(run, groups, key, cells)
  }

  private addGroup(run: Run, groups: Map<GroupingKey, Group>, key: GroupingKey, cells: readonly unknown[]): Group {
    const group = this.newGroup(cells)
    groups.set(key, group)
    run.budget.hold()
    let bytes = keyBytes(key)
    for (const cell of cells) bytes += cellBytes(cell)
    run.budget.holdBytes(bytes)
    return group
  }

  private newGroup(cells: readonly unknown[]): Group {
    return { cells, accumulators: this.aggregates.map((item) => makeAccumulator(item.name, item.distinct)) }
  }
}

function cellOf({ slot, evaluate }: GroupingItem, run: Run): unknown {
  return evaluate ? evaluate(run) : run.frame[slot.index]
}

function keyOf({ slot, evaluate }: GroupingItem, cell: unknown): GroupingKey {
  return evaluate ? groupingKey(cell as Value) : cellKey(slot, cell)
}
