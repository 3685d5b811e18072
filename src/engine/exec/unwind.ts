// Unwind: one row per item of a list.
import { ExecutionError } from '../errors.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** One row per item of the list, for each input row; none for null. Throws ExecutionError for a value of another kind. */
export class UnwindOperator extends UnaryOperator {
  private readonly list: CompiledExpression
  private readonly slot: number
  private items: readonly unknown[] = []
  private position = 0

  constructor(input: PhysicalOperator, list: CompiledExpression, slot: number) {
    super(input)
    this.list = list
    this.slot = slot
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.items = []
    this.position = 0
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      if (this.position < this.items.length) {
        run.budget.chargeSteps(1)
        run.frame[this.slot] = this.items[this.position++]
        return true
      }
      if (!this.input.next(run)) return false
      const list = this.list(run)
      if (list !== null && !Array.isArray(list)) {
        throw new ExecutionError('type', 'UNWIND takes a list', null, 'InvalidArgumentType')
      }
      this.items = list ?? []
      this.position = 0
    }
  }
}
