// Optional: OPTIONAL MATCH. Runs the inner plan for each input row and fills nulls if it has no row.
import type { ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** A slot and the representation of null in it: 0 for an id, null for a value. */
export interface NullSlot {
  readonly slot: number
  readonly nullValue: 0 | null
}

/** The inner rows of each input row, or one row with nulls if none exist. */
export class OptionalOperator extends UnaryOperator {
  private readonly inner: PhysicalOperator
  private readonly nulls: readonly NullSlot[]
  private isInnerOpen = false
  private hasMatched = false

  constructor(input: PhysicalOperator, inner: PhysicalOperator, nulls: readonly NullSlot[]) {
    super(input)
    this.inner = inner
    this.nulls = nulls
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.isInnerOpen = false
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      if (this.isInnerOpen) {
        if (this.inner.next(run)) {
          this.hasMatched = true
          return true
        }
        this.isInnerOpen = false
        if (!this.hasMatched) {
          for (const { slot, nullValue } of this.nulls) run.frame[slot] = nullValue
          return true
        }
      }
      if (!this.input.next(run)) return false
      this.inner.open(run)
      this.isInnerOpen = true
      this.hasMatched = false
    }
  }
}
