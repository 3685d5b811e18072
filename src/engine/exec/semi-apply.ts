// SemiApply and AntiSemiApply: keep the input rows for which the inner plan has a row, or has none.
import type { ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** Keeps the rows for which the inner plan has a row; if `negated`, those for which it has none. */
export class SemiApplyOperator extends UnaryOperator {
  private readonly inner: PhysicalOperator
  private readonly negated: boolean

  constructor(input: PhysicalOperator, inner: PhysicalOperator, negated: boolean) {
    super(input)
    this.inner = inner
    this.negated = negated
  }

  next(run: ExecutionContext): boolean {
    while (this.input.next(run)) {
      this.inner.open(run)
      if (this.inner.next(run) !== this.negated) return true
    }
    return false
  }
}
