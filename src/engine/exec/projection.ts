// Projection: the operator of WITH and RETURN. It computes the columns of each row and writes them to their slots.
import type { ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** A slot and the function that computes its content. */
interface ProjectedColumn {
  readonly slot: number
  readonly evaluate: (run: ExecutionContext) => unknown
}

/** Returns each input row after it has filled the slots of the columns, in the order of the columns. */
export class ProjectionOperator extends UnaryOperator {
  private readonly columns: readonly ProjectedColumn[]

  constructor(input: PhysicalOperator, columns: readonly ProjectedColumn[]) {
    super(input)
    this.columns = columns
  }

  next(run: ExecutionContext): boolean {
    if (!this.input.next(run)) return false
    for (const { slot, evaluate } of this.columns) run.frame[slot] = evaluate(run)
    return true
  }
}
