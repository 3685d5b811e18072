// Skip: drops the first rows.
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'
import { evaluateRowCount } from './row-count.ts'

/** The input rows after the first `count`, which is evaluated on open. */
export class SkipOperator extends UnaryOperator {
  private readonly count: CompiledExpression
  private left = 0

  constructor(input: PhysicalOperator, count: CompiledExpression) {
    super(input)
    this.count = count
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.left = evaluateRowCount(this.count, run, 'SKIP')
  }

  next(run: ExecutionContext): boolean {
    for (; this.left > 0; this.left--) {
      run.budget.chargeSteps(1)
      if (!this.input.next(run)) return false
    }
    return this.input.next(run)
  }
}
