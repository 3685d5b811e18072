// Argument: one row, the frame as the caller has filled it.
import type { PhysicalOperator } from './physical-operator.ts'

/** Exactly one row. Reads and fills nothing. */
export class ArgumentOperator implements PhysicalOperator {
  private isPending = false

  open(): void {
    this.isPending = true
  }

  next(): boolean {
    const { isPending } = this
    this.isPending = false
    return isPending
  }
}
