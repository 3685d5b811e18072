// Grouping: reads all its input at the first row asked for, then gives one row per group in the order of first sight.
import type { Slot } from '../bind/bound.ts'
import { groupingKey } from '../value/compare.ts'
import type { Value } from '../value/value.ts'
import { type Accumulator, makeAccumulator } from './accumulate.ts'
import type { Evaluate, Run } from './context.ts'
import type { Operator } from './operator.ts'
import { cellKey, joinKeys } from './row-key.ts'

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

  private read(run: Run): Map<string, Group> {
    const groups = new Map<string, Group>()
    // Without keys there is one group, even when there is no row.
    if (this.grouping.length === 0) groups.set('', this.newGroup([]))
    while (this.input.next(run)) {
      run.budget.touch(1)
      const cells = this.grouping.map(({ slot, evaluate }) => (evaluate ? evaluate(run) : run.frame[slot.index]))
      const key = joinKeys(
        this.grouping.map(({ slot, evaluate }, i) =>
          evaluate ? groupingKey(cells[i] as Value) : cellKey(slot, cells[i]),
        ),
      )
      let group = groups.get(key)
      if (!group) {
        group = this.newGroup(cells)
        groups.set(key, group)
        run.budget.hold()
      }
      this.aggregates.forEach(({ argument, parameter }, i) => {
        group.accumulators[i]!.add(argument ? argument(run) : true, parameter ? parameter(run) : undefined)
      })
    }
    return groups
  }

  private newGroup(cells: readonly unknown[]): Group {
    return { cells, accumulators: this.aggregates.map((item) => makeAccumulator(item.name, item.distinct)) }
  }
}
