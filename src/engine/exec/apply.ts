// Apply: runs the inner plan for each input row, with that row as its argument.
import type { ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** The inner rows of each input row. */
export class ApplyOperator extends UnaryOperator {
  private readonly inner: PhysicalOperator
  private isInnerOpen = false

  constructor(input: PhysicalOperator, inner: PhysicalOperator) {
    super(input)
    this.inner = inner
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.isInnerOpen = false
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      if (this.isInnerOpen) {
        if (this.inner.next(run)) return true
        this.isInnerOpen = false
      }
      if (!this.input.next(run)) return false
      this.inner.open(run)
      this.isInnerOpen = true
    }
  }
}
