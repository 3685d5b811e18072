// Combines three-valued predicates, and two-valued tests. A test is true if and only if its predicate is true.
import { ExecutionError } from '../errors.ts'
import { kindName } from '../value/kind-name.ts'
import type { Truth, Value } from '../value/value.ts'
import type { ExecutionContext } from './execution-context.ts'

/** Evaluates a predicate for the current row: true, false or null (unknown). Throws ExecutionError. */
export type CompiledPredicate = (run: ExecutionContext) => Truth
/** Evaluates a predicate for the current row; false also if it is unknown. Throws ExecutionError. */
export type CompiledTest = (run: ExecutionContext) => boolean

/** Returns a boolean or null unchanged. Throws ExecutionError for any other value. */
export function toTruth(value: Value): Truth {
  if (value === null || typeof value === 'boolean') return value
  throw new ExecutionError('type', `a condition takes a boolean, not ${kindName(value)}`, null, 'InvalidArgumentType')
}

/** AND: false if an operand is false, else null if one is unknown, else true. */
export function conjunction(operands: readonly CompiledPredicate[]): CompiledPredicate {
  return (run) => {
    let truth: Truth = true
    for (const operand of operands) {
      const one = operand(run)
      if (one === false) return false
      if (one === null) truth = null
    }
    return truth
  }
}

/** OR: true if an operand is true, else null if one is unknown, else false. */
export function disjunction(operands: readonly CompiledPredicate[]): CompiledPredicate {
  return (run) => {
    let truth: Truth = false
    for (const operand of operands) {
      const one = operand(run)
      if (one === true) return true
      if (one === null) truth = null
    }
    return truth
  }
}

/** XOR: null if an operand is unknown. */
export function exclusiveDisjunction(left: CompiledPredicate, right: CompiledPredicate): CompiledPredicate {
  return (run) => {
    const one = left(run)
    const other = right(run)
    return one === null || other === null ? null : one !== other
  }
}

/** NOT: null if the operand is unknown. */
export function negation(operand: CompiledPredicate): CompiledPredicate {
  return (run) => {
    const truth = operand(run)
    return truth === null ? null : !truth
  }
}

/** True if all tests are true; stops at the first that is not. */
export function allOf(tests: readonly CompiledTest[]): CompiledTest {
  const [first, second, third] = tests
  if (tests.length === 1) return first!
  if (tests.length === 2) return (run) => first!(run) && second!(run)
  if (tests.length === 3) return (run) => first!(run) && second!(run) && third!(run)
  return (run) => {
    for (const test of tests) if (!test(run)) return false
    return true
  }
}

/** True if a test is true; stops at it. */
export function anyOf(tests: readonly CompiledTest[]): CompiledTest {
  return (run) => tests.some((test) => test(run))
}
