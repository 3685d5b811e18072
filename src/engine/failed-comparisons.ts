// The comparisons of a predicate that are not true for a row, with the values on both sides: for the explanation of a denial.
import type { Comparison } from '../../grammar/ast.ts'
import { assertNever } from '../kernel/assert.ts'
import type { BoundExpression, Slot } from './bind/bound.ts'
import type { ExecutionContext } from './exec/execution-context.ts'
import { showExpression } from './plan/show-expression.ts'
import { equals, isMap, lessOrEqual, lessThan } from './value/compare.ts'
import type { Truth, Value } from './value/value.ts'

/** A value of a comparison: a property of a matched element, or a parameter. */
export interface ComparedValue {
  /** As the text names it: `resource.level`, `$token.level`. */
  readonly text: string
  /** The names that decide whether it may be shown: the property, or the parameter and the members on its path. */
  readonly names: readonly string[]
  /** Null if it is absent. */
  readonly value: Value
}

/** A comparison that is not true, with the values on both sides that the text does not give itself. */
export interface FailedComparison {
  readonly text: string
  readonly values: readonly ComparedValue[]
}

type ComparisonExpression = Extract<BoundExpression, { kind: 'comparison' }>

/**
 * The comparisons that make a conjunction not true for a row, and that compare properties, parameters and constants. Those of a
 * disjunction are included if none of its alternatives is true.
 */
export function failedComparisons(
  predicates: readonly BoundExpression[],
  frame: readonly unknown[],
  run: ExecutionContext,
): readonly FailedComparison[] {
  return predicates.flatMap((predicate) => {
    if (predicate.kind === 'and') return failedComparisons(predicate.operands, frame, run)
    if (predicate.kind === 'or') {
      // An alternative without a failed comparison may be true, or its values cannot be shown.
      const alternatives = predicate.operands.map((operand) => failedComparisons([operand], frame, run))
      return alternatives.every((failed) => failed.length > 0) ? alternatives.flat() : []
    }
    if (predicate.kind !== 'comparison') return []
    const [left, right] = [comparedValue(predicate.left, frame, run), comparedValue(predicate.right, frame, run)]
    if (left === undefined || right === undefined || isTrue(predicate.operator, left, right, run)) return []
    return [
      { text: showExpression(predicate), values: [...shown(predicate.left, left), ...shown(predicate.right, right)] },
    ]
  })
}

function isTrue(
  operator: Comparison['rest'][number]['operator'],
  left: Value,
  right: Value,
  { budget }: ExecutionContext,
): boolean {
  const truth = (): Truth => {
    switch (operator) {
      case '=':
        return equals(budget, left, right)
      case '<>': {
        const same = equals(budget, left, right)
        return same === null ? null : !same
      }
      case '<':
        return lessThan(budget, left, right)
      case '<=':
        return lessOrEqual(budget, left, right)
      case '>':
        return lessThan(budget, right, left)
      case '>=':
        return lessOrEqual(budget, right, left)
      default:
        return assertNever(operator)
    }
  }
  return truth() === true
}

/** Undefined: the analysis does not read such an expression. */
function comparedValue(
  expression: ComparisonExpression['left'],
  frame: readonly unknown[],
  run: ExecutionContext,
): Value | undefined {
  switch (expression.kind) {
    case 'constant':
      return expression.value
    case 'parameter': {
      let value: Value = run.parameters.get(expression.name) ?? null
      for (const step of expression.path) value = isMap(value) ? (value.get(step) ?? null) : null
      return value
    }
    case 'element-property':
      return propertyOf(expression.slot, expression.key, expression.own, frame, run)
    default:
      return undefined
  }
}

function propertyOf(
  { index, kind, graph }: Slot,
  key: string,
  own: Extract<BoundExpression, { kind: 'element-property' }>['own'],
  frame: readonly unknown[],
  run: ExecutionContext,
): Value | undefined {
  const snapshot = run.graphs[graph]
  const id = frame[index]
  if (snapshot === undefined || (kind !== 'node' && kind !== 'relationship')) return undefined
  if (typeof id !== 'number' || id === 0) return null
  if (kind === 'node' && own !== null) {
    const field = snapshot.nodeField(id, own)
    if (field !== null) return field
  }
  const symbol = snapshot.symbol('property', key)
  if (symbol === 0) return null
  return kind === 'node' ? snapshot.nodeProperty(id, symbol) : snapshot.relationshipProperty(id, symbol)
}

function shown(expression: ComparisonExpression['left'], value: Value): ComparedValue[] {
  if (expression.kind === 'constant') return []
  const names =
    expression.kind === 'parameter'
      ? [expression.name, ...expression.path]
      : expression.kind === 'element-property'
        ? [expression.key]
        : []
  return [{ text: showExpression(expression), names, value }]
}
