// Truths joined to one truth, and tests to one test. A truth may be unknown; a test is true exactly where its truth is true.
import { ExecutionError } from '../errors.ts'
import { kindName } from '../value/kind-name.ts'
import type { Truth, Value } from '../value/value.ts'
import type { ExecutionContext } from './execution-context.ts'

export type CompiledPredicate = (run: ExecutionContext) => Truth
export type CompiledTest = (run: ExecutionContext) => boolean

export function toTruth(value: Value): Truth {
  if (value === null || typeof value === 'boolean') return value
  throw new ExecutionError('type', `a condition takes a boolean, not ${kindName(value)}`, null, 'InvalidArgumentType')
}

/** False beats unknown, and unknown beats true. */
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

export function exclusiveDisjunction(left: CompiledPredicate, right: CompiledPredicate): CompiledPredicate {
  return (run) => {
    const one = left(run)
    const other = right(run)
    return one === null || other === null ? null : one !== other
  }
}

export function negation(operand: CompiledPredicate): CompiledPredicate {
  return (run) => {
    const truth = operand(run)
    return truth === null ? null : !truth
  }
}

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

export function anyOf(tests: readonly CompiledTest[]): CompiledTest {
  return (run) => tests.some((test) => test(run))
}
