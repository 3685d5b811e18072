// Distinct: the first row of each combination of values.
import { GroupingKeySet } from '../value/grouping-key-set.ts'
import type { ExecutionContext } from './execution-context.ts'
import { NodeSet } from './node-set.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'
import { keyBytes, type RowKey } from './row-key.ts'

/** The first row of each key. Retains the keys until the execution ends. */
export class DistinctOperator extends UnaryOperator {
  private readonly key: RowKey
  private readonly seen = new GroupingKeySet()

  constructor(input: PhysicalOperator, key: RowKey) {
    super(input)
    this.key = key
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.seen.clear()
  }

  next(run: ExecutionContext): boolean {
    while (this.input.next(run)) {
      const key = this.key(run)
      run.budget.chargeSteps(1)
      if (!this.seen.add(key)) continue
      run.budget.retainBytes(keyBytes(key))
      run.budget.retainRow()
      return true
    }
    return false
  }
}

/** The first row of each id in a slot, null included. */
export class DistinctElementsOperator extends UnaryOperator {
  private readonly slot: number
  private readonly seen = new NodeSet()
  private isNullSeen = false

  constructor(input: PhysicalOperator, slot: number) {
    super(input)
    this.slot = slot
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.seen.clear()
    this.isNullSeen = false
  }

  next(run: ExecutionContext): boolean {
    while (this.input.next(run)) {
      const id = run.frame[this.slot] as number
      if (id === 0 ? this.isNullSeen : !this.seen.add(id, run.budget)) continue
      if (id === 0) this.isNullSeen = true
      run.budget.retainRow()
      run.budget.chargeSteps(1)
      return true
    }
    return false
  }
}
