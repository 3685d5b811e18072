// First: the first row of its input, for callers that ask only whether there is one.
import type { ExecutionContext } from './execution-context.ts'
import { UnaryOperator } from './physical-operator.ts'

/** At most one row. Never reads a second row of its input. */
export class FirstOperator extends UnaryOperator {
  private isDone = false

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.isDone = false
  }

  next(run: ExecutionContext): boolean {
    if (this.isDone) return false
    this.isDone = true
    return this.input.next(run)
  }
}
