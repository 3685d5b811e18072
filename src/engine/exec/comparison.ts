// Comparisons of compiled operands, as predicates and as tests. Scalars come before the general case: conditions compare
// mostly scalars, which need no call.
import type { ComparisonOperator } from '../../../grammar/ast.ts'
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { type Budget, CHARACTERS_PER_STEP } from '../budget.ts'
import { equals, lessOrEqual, lessThan } from '../value/compare.ts'
import type { Truth, Value } from '../value/value.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'

const comparators: Readonly<Record<ComparisonOperator, (budget: Budget, a: Value, b: Value) => Truth>> = {
  '=': equals,
  '<>': (budget, a, b) => {
    const same = equals(budget, a, b)
    return same === null ? null : !same
  },
  '<': lessThan,
  '<=': lessOrEqual,
  '>': (budget, a, b) => lessThan(budget, b, a),
  '>=': (budget, a, b) => lessOrEqual(budget, b, a),
}

/** Compiles a comparison to a predicate. */
export function compileComparison(
  operator: ComparisonOperator,
  left: CompiledExpression,
  right: CompiledExpression,
): (run: ExecutionContext) => Truth {
  const compare = comparators[operator]
  return (run) => compare(run.budget, left(run), right(run))
}

/** Compiles a comparison to a test. */
export function compileOperatorTest(
  operator: ComparisonOperator,
  left: CompiledExpression,
  right: CompiledExpression,
): (run: ExecutionContext) => boolean {
  switch (operator) {
    case '=':
      return (run) => isEqual(run, left(run), right(run))
    case '<':
      return (run) => isLess(run, left(run), right(run))
    case '<=':
      return (run) => isLessOrEqual(run, left(run), right(run))
    case '>':
      return (run) => isLess(run, right(run), left(run))
    case '>=':
      return (run) => isLessOrEqual(run, right(run), left(run))
    case '<>':
      return (run) => equals(run.budget, left(run), right(run)) === false
  }
}

/** Compiles `expression = constant` to a test. */
export function compileEqualsConstant(
  evaluate: CompiledExpression,
  constant: Value,
): (run: ExecutionContext) => boolean {
  // A string equals only a string, and a boolean only a boolean.
  if (typeof constant === 'boolean') return (run) => evaluate(run) === constant
  if (typeof constant === 'string') {
    if (constant.length < CHARACTERS_PER_STEP) return (run) => evaluate(run) === constant
    return (run) => isEqual(run, evaluate(run), constant)
  }
  return (run) => isEqual(run, evaluate(run), constant)
}

function isEqual(run: ExecutionContext, a: Value, b: Value): boolean {
  if (typeof a === 'string') {
    if (a.length >= CHARACTERS_PER_STEP) run.budget.chargeText(a.length)
    return a === b
  }
  if (typeof a === 'boolean') return a === b
  if (typeof a === 'number' && typeof b === 'number') return a === b
  return equals(run.budget, a, b) === true
}

function isLess(run: ExecutionContext, a: Value, b: Value): boolean {
  return typeof a === 'number' && typeof b === 'number' ? a < b : lessThan(run.budget, a, b) === true
}

function isLessOrEqual(run: ExecutionContext, a: Value, b: Value): boolean {
  return typeof a === 'number' && typeof b === 'number' ? a <= b : lessOrEqual(run.budget, a, b) === true
}

/** Compiles `n = m` and `n <> m` over slots that hold ids, without handles. Returns null for any other comparison. */
export function compileElementComparison(
  expression: Extract<BoundExpression, { kind: 'comparison' }>,
): ((run: ExecutionContext) => Truth) | null {
  const { operator, left, right } = expression
  if (left.kind !== 'slot' || right.kind !== 'slot' || (operator !== '=' && operator !== '<>')) return null
  if (!isElementSlot(left.slot) || left.slot.kind !== right.slot.kind) return null
  const one = left.slot.index
  const other = right.slot.index
  const sameGraph = left.slot.graph === right.slot.graph
  const expected = operator === '='
  return (run) => {
    const a = run.frame[one] as number
    const b = run.frame[other] as number
    return a === 0 || b === 0 ? null : (sameGraph && a === b) === expected
  }
}

/** Whether the slot holds an id of a node or relationship, with 0 for null. */
export function isElementSlot(slot: Slot): boolean {
  return slot.kind === 'node' || slot.kind === 'relationship'
}
