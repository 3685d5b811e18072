// Filter: keeps the rows for which every predicate is true; unknown (null) is not true.
import type { CompiledTest } from './boolean-logic.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** The input rows for which every test is true. */
export class FilterOperator extends UnaryOperator {
  private readonly tests: readonly CompiledTest[]

  constructor(input: PhysicalOperator, tests: readonly CompiledTest[]) {
    super(input)
    this.tests = tests
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
