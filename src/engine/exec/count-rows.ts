// CountRows: `count(*)` without grouping keys, which needs only the number of rows.
import type { ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** One row with the number of rows of the input. */
export class CountRowsOperator extends UnaryOperator {
  private readonly slots: readonly number[]
  private isDone = false

  /** `slots`: each is filled with the count. */
  constructor(input: PhysicalOperator, slots: readonly number[]) {
    super(input)
    this.slots = slots
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.isDone = false
  }

  next(run: ExecutionContext): boolean {
    if (this.isDone) return false
    this.isDone = true
    const count = this.count(run)
    for (const slot of this.slots) run.frame[slot] = count
    return true
  }

  private count(run: ExecutionContext): number {
    const { input } = this
    if (input.countRows !== undefined) return input.countRows(run)
    let count = 0
    for (; input.next(run); count++) run.budget.chargeSteps(1)
    return count
  }
}
