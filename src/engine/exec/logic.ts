// Truths joined to one truth, and tests to one test. A truth may be unknown; a test is true exactly where its truth is true.
import { RunFault } from '../errors.ts'
import { kindName } from '../value/kind-name.ts'
import type { Truth, Value } from '../value/value.ts'
import type { Run } from './context.ts'

export type EvaluateTruth = (run: Run) => Truth
export type Test = (run: Run) => boolean

export function truthOf(value: Value): Truth {
  if (value === null || typeof value === 'boolean') return value
  throw new RunFault('type', `a condition takes a boolean, not ${kindName(value)}`, null, 'InvalidArgumentType')
}

/** False beats unknown, and unknown beats true. */
export function conjunction(operands: readonly EvaluateTruth[]): EvaluateTruth {
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

export function disjunction(operands: readonly EvaluateTruth[]): EvaluateTruth {
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

export function exclusive(left: EvaluateTruth, right: EvaluateTruth): EvaluateTruth {
  return (run) => {
    const one = left(run)
    const other = right(run)
    return one === null || other === null ? null : one !== other
  }
}

export function negation(operand: EvaluateTruth): EvaluateTruth {
  return (run) => {
    const truth = operand(run)
    return truth === null ? null : !truth
  }
}

export function all(tests: readonly Test[]): Test {
  const [first, second, third] = tests
  if (tests.length === 1) return first!
  if (tests.length === 2) return (run) => first!(run) && second!(run)
  if (tests.length === 3) return (run) => first!(run) && second!(run) && third!(run)
  return (run) => {
    for (const test of tests) if (!test(run)) return false
    return true
  }
}

export function any(tests: readonly Test[]): Test {
  return (run) => tests.some((test) => test(run))
}
