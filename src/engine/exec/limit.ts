// Limit: passes the first rows.
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'
import { evaluateRowCount } from './row-count.ts'

/** The first `count` input rows; `count` is evaluated on open. Never reads a row of its input that it does not pass. */
export class LimitOperator extends UnaryOperator {
  private readonly count: CompiledExpression
  private left = 0

  constructor(input: PhysicalOperator, count: CompiledExpression) {
    super(input)
    this.count = count
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.left = evaluateRowCount(this.count, run, 'LIMIT')
  }

  next(run: ExecutionContext): boolean {
    if (this.left <= 0) return false
    this.left -= 1
    return this.input.next(run)
  }
}
