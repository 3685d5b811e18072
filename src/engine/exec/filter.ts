// Keeps the rows for which every test is true. Null is not true.
import type { Run } from './context.ts'
import type { Operator } from './operator.ts'

export class FilterOperator implements Operator {
  private readonly input: Operator
  private readonly tests: readonly ((run: Run) => boolean)[]

  constructor(input: Operator, tests: readonly ((run: Run) => boolean)[]) {
    this.input = input
    this.tests = tests
  }

  open(run: Run): void {
    this.input.open(run)
  }

  next(run: Run): boolean {
    const { input, tests } = this
    next: while (input.next(run)) {
      for (let i = 0; i < tests.length; i++) if (!tests[i]!(run)) continue next
      return true
    }
    return false
  }
}

/** At most one row. */
export class FirstOperator implements Operator {
  private readonly input: Operator
  private done = false

  constructor(input: Operator) {
    this.input = input
  }

  open(run: Run): void {
    this.input.open(run)
    this.done = false
  }

  next(run: Run): boolean {
    if (this.done) return false
    this.done = true
    return this.input.next(run)
  }
}
