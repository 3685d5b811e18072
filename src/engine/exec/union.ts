// Union: the rows of several plans, one plan after the other.
import type { ExecutionContext } from './execution-context.ts'
import type { PhysicalOperator } from './physical-operator.ts'

/** The rows of each branch, in order. There is at least one branch. */
export class UnionOperator implements PhysicalOperator {
  private readonly branches: readonly PhysicalOperator[]
  private current = 0

  constructor(branches: readonly PhysicalOperator[]) {
    this.branches = branches
  }

  open(run: ExecutionContext): void {
    this.current = 0
    this.branches[0]!.open(run)
  }

  next(run: ExecutionContext): boolean {
    while (!this.branches[this.current]!.next(run)) {
      if (this.current + 1 === this.branches.length) return false
      this.current += 1
      this.branches[this.current]!.open(run)
    }
    return true
  }
}
