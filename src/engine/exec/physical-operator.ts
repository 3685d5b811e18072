// The interface of physical operators: a pull-based (Volcano) iterator. A row is the frame of the execution: an operator fills
// its own slots and allocates nothing per row.
import type { ExecutionContext } from './execution-context.ts'

/** A physical operator of one compiled plan. Its state belongs to one execution at a time. */
export interface PhysicalOperator {
  /** Starts over. Discards the state of an earlier execution, also of one that ended with an error. */
  open(run: ExecutionContext): void
  /**
   * Moves to the next row and fills the operator's slots of `run.frame`. Returns false at the end; the caller then must not
   * call it again before the next `open`. Throws ExecutionError, and LaneRequiredError on the event loop.
   */
  next(run: ExecutionContext): boolean
  /** Counts the rows after `open` instead of returning them. Only operators that need not visit each row for it have it. */
  countRows?(run: ExecutionContext): number
}

/** An operator with one input. */
export abstract class UnaryOperator implements PhysicalOperator {
  protected readonly input: PhysicalOperator

  constructor(input: PhysicalOperator) {
    this.input = input
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
  }

  abstract next(run: ExecutionContext): boolean
}
