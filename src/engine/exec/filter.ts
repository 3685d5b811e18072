// Keeps the rows for which every test is true. Null is not true.
import type { ExecutionContext } from './execution-context.ts'
import type { PhysicalOperator } from './physical-operator.ts'

export class FilterOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly tests: readonly ((run: ExecutionContext) => boolean)[]

  constructor(input: PhysicalOperator, tests: readonly ((run: ExecutionContext) => boolean)[]) {
    this.input = input
    this.tests = tests
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
  }

  next(run: ExecutionContext): boolean {
    const { input, tests } = this
    next: while (input.next(run)) {
      for (let i = 0; i < tests.length; i++) if (!tests[i]!(run)) continue next
      return true
    }
    return false
  }
}

/** At most one row. */
export class FirstOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private done = false

  constructor(input: PhysicalOperator) {
    this.input = input
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.done = false
  }

  next(run: ExecutionContext): boolean {
    if (this.done) return false
    this.done = true
    return this.input.next(run)
  }
}
