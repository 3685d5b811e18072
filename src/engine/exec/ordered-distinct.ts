// OrderedDistinct: DISTINCT over an id when the rows come in the order of that id.
import type { NodeId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** The first row of each id in a slot. The ids of the input rows ascend. */
export class OrderedDistinctOperator extends UnaryOperator {
  private readonly slot: number
  private last: NodeId = 0

  constructor(input: PhysicalOperator, slot: number) {
    super(input)
    this.slot = slot
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.last = 0
  }

  next(run: ExecutionContext): boolean {
    while (this.input.next(run)) {
      const id = run.frame[this.slot] as NodeId
      if (id === this.last) continue
      this.last = id
      run.budget.chargeSteps(1)
      return true
    }
    return false
  }
}
