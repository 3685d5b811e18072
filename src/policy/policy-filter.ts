// Evaluates policy filters, which decide by tokens and parameters alone, before the graph is read. Filters use
// three-valued logic: a missing value makes a leaf unknown, unknown stays unknown under NOT, and a policy applies only
// if its filter is true.

import type { Budget } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import { contains, equals, isList, isMap, isNumber, lessOrEqual, lessThan } from '../engine/value/compare.ts'
import { instantMs } from '../engine/value/instant.ts'
import { type CompiledRegex, compileRegexCharged } from '../engine/value/regular-expression.ts'
import { includesText } from '../engine/value/string-operations.ts'
import type { Truth, Value } from '../engine/value/value.ts'
import { assertNever } from '../kernel/assert.ts'
import { type BoundParameters, type ValueReference, valueAt } from './value-reference.ts'

/** Operators that compare two values of one kind. */
export const comparisons = ['=', '<>', '<', '<=', '>', '>='] as const
/** Operators on strings; CONTAINS also accepts a list. */
export const textOperators = ['=~', 'STARTS WITH', 'ENDS WITH', 'CONTAINS'] as const
/** Operators without a value. */
export const nullTests = ['IS NULL', 'IS NOT NULL'] as const

type FilterComparison = (typeof comparisons)[number]

/** Any operator of a leaf. */
export type FilterLeafOperator = FilterComparison | (typeof textOperators)[number] | (typeof nullTests)[number] | 'IN'

/** Texts for the caller of a decision that the filter denied, by name. */
export type FilterAdvice = Readonly<Record<string, string>>

/** The right side of a leaf. */
export type FilterOperand =
  | { readonly kind: 'literal'; readonly value: Value }
  | { readonly kind: 'reference'; readonly reference: ValueReference }
  | { readonly kind: 'list'; readonly items: readonly FilterOperand[] }
  /** Compared as milliseconds since the epoch, so that equal times in different notations are equal. */
  | { readonly kind: 'instant'; readonly of: FilterOperand }
  | { readonly kind: 'pattern'; readonly pattern: CompiledRegex }

interface FilterPosition {
  /** Path from `policy`, for messages to the author. */
  readonly path: string
  readonly advice: FilterAdvice | null
}

/** A node of a filter tree. */
export type PolicyFilterNode = FilterPosition &
  (
    | { readonly kind: 'and' | 'or'; readonly operands: readonly PolicyFilterNode[] }
    | { readonly kind: 'not'; readonly operand: PolicyFilterNode }
    | {
        readonly kind: 'leaf'
        readonly operator: FilterLeafOperator
        readonly attribute: ValueReference
        /** Null for the null tests. */
        readonly operand: FilterOperand | null
      }
  )

/** A leaf that keeps a filter from being true. */
interface FailingLeaf {
  readonly path: string
  readonly operator: FilterLeafOperator
  readonly attribute: string
  /** True if the attribute or the value it is compared with is missing. */
  readonly unknown: boolean
}

/** Why a filter is not true. */
export interface FilterRejection {
  /** Advice of the leaves and of the branches around them; each once, in document order. */
  readonly advice: readonly FilterAdvice[]
  readonly leaves: readonly FailingLeaf[]
}

/** A compiled filter. Immutable. */
export class PolicyFilter {
  /** Parameters that the filter reads, without `$`, each once. */
  readonly parameters: readonly string[]
  readonly root: PolicyFilterNode

  constructor(root: PolicyFilterNode, parameters: readonly string[]) {
    this.root = root
    this.parameters = parameters
  }

  /**
   * Returns whether the filter is true. Throws an ExecutionError `missing-parameter` if an input parameter has the
   * wrong type for its place.
   */
  admits(budget: Budget, parameters: BoundParameters): boolean {
    return truthOf(budget, this.root, parameters) === true
  }

  /** Returns whether the filter is definitely false: not true, and not unknown. Throws as `admits`. */
  excludes(budget: Budget, parameters: BoundParameters): boolean {
    return truthOf(budget, this.root, parameters) === false
  }

  /** Explains why the filter is not true. Call it only if `admits` returned false. */
  explainRejection(budget: Budget, parameters: BoundParameters): FilterRejection {
    const advice = new Set<FilterAdvice>()
    const leaves: FailingLeaf[] = []
    collect(budget, this.root, true, parameters, advice, leaves)
    return { advice: [...advice], leaves }
  }
}

function truthOf(budget: Budget, node: PolicyFilterNode, parameters: BoundParameters): Truth {
  budget.chargeSteps(1)
  switch (node.kind) {
    case 'leaf':
      return leafTruth(budget, node, parameters)
    case 'not': {
      const truth = truthOf(budget, node.operand, parameters)
      return truth === null ? null : !truth
    }
    case 'and':
      return joined(budget, node.operands, parameters, false)
    case 'or':
      return joined(budget, node.operands, parameters, true)
    default:
      return assertNever(node)
  }
}

/** Joins operands. `decisive`: the operand value that settles the result. */
function joined(
  budget: Budget,
  operands: readonly PolicyFilterNode[],
  parameters: BoundParameters,
  decisive: boolean,
): Truth {
  let truth: Truth = !decisive
  for (const operand of operands) {
    const one = truthOf(budget, operand, parameters)
    if (one === decisive) return decisive
    if (one === null) truth = null
  }
  return truth
}

/**
 * For explanations: a parameter of the wrong type at a place that the decision did not evaluate makes its leaf unknown.
 */
function truthForExplanation(budget: Budget, node: PolicyFilterNode, parameters: BoundParameters): Truth {
  try {
    return truthOf(budget, node, parameters)
  } catch (error) {
    if (!(error instanceof ExecutionError)) throw error
    return null
  }
}

/** Collects the leaves that keep `node` from being `wanted`. */
function collect(
  budget: Budget,
  node: PolicyFilterNode,
  wanted: boolean,
  parameters: BoundParameters,
  advice: Set<FilterAdvice>,
  leaves: FailingLeaf[],
): void {
  if (node.advice !== null) advice.add(node.advice)
  if (node.kind === 'leaf') {
    const unknown = truthForExplanation(budget, node, parameters) === null
    leaves.push({ path: node.path, operator: node.operator, attribute: node.attribute.text, unknown })
  } else if (node.kind === 'not') {
    collect(budget, node.operand, !wanted, parameters, advice, leaves)
  } else {
    for (const operand of node.operands) {
      if (truthForExplanation(budget, operand, parameters) !== wanted)
        collect(budget, operand, wanted, parameters, advice, leaves)
    }
  }
}

type FilterLeaf = Extract<PolicyFilterNode, { kind: 'leaf' }>

function leafTruth(budget: Budget, { operator, attribute, operand }: FilterLeaf, parameters: BoundParameters): Truth {
  const left = valueAt(attribute, parameters)
  if (operator === 'IS NULL') return left === null
  if (operator === 'IS NOT NULL') return left !== null
  if (left === null || operand === null) return null
  if (operand.kind === 'pattern') return typeof left === 'string' ? operand.pattern.matches(budget, left) : null
  if (operand.kind === 'instant') {
    if (!isComparison(operator)) return null
    return compared(budget, operator, instantMs(left), instantOf(budget, operand.of, parameters))
  }
  const right = operandValue(budget, operand, parameters)
  if (right === null) return null
  switch (operator) {
    case 'IN':
      return isList(right) ? isOneOf(budget, left, right) : null
    case 'STARTS WITH':
      return bothText(left, right) ? startsWith(budget, left, right as string) : null
    case 'ENDS WITH':
      return bothText(left, right) ? endsWith(budget, left, right as string) : null
    case 'CONTAINS':
      // A claim such as `roles` is a list and is searched for the item; one such as `scope` is a string.
      if (isList(left)) return isOneOf(budget, right, left)
      return bothText(left, right) ? includesText(budget, left, right as string) : null
    case '=~':
      return typeof left === 'string' ? patternFrom(budget, operand, right).matches(budget, left) : null
    case '=':
    case '<>':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compared(budget, operator, left, right)
    default:
      return assertNever(operator)
  }
}

function isComparison(operator: FilterLeafOperator): operator is FilterComparison {
  return (comparisons as readonly string[]).includes(operator)
}

function startsWith(budget: Budget, text: string, part: string): boolean {
  budget.chargeText(part.length)
  return text.startsWith(part)
}

function endsWith(budget: Budget, text: string, part: string): boolean {
  budget.chargeText(part.length)
  return text.endsWith(part)
}

function bothText(left: Value, right: Value): left is string {
  return typeof left === 'string' && typeof right === 'string'
}

/** Values of different kinds are not comparable: the result is unknown, so that a negation is not true either. */
function compared(budget: Budget, operator: FilterComparison, left: Value, right: Value): Truth {
  if (left === null || right === null || !sameKind(left, right)) return null
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

function sameKind(left: Value, right: Value): boolean {
  if (isNumber(left)) return isNumber(right)
  if (isList(left)) return isList(right)
  if (isMap(left)) return isMap(right)
  return typeof left === typeof right
}

function isOneOf(budget: Budget, value: Value, list: readonly Value[]): Truth {
  const found = contains(budget, list, value)
  return found === false && !list.every((item) => isComparable(budget, value, item)) ? null : found
}

function isComparable(budget: Budget, value: Value, item: Value): boolean {
  budget.chargeSteps(1)
  return item !== null && sameKind(value, item)
}

function operandValue(budget: Budget, operand: FilterOperand, parameters: BoundParameters): Value {
  switch (operand.kind) {
    case 'literal':
      return operand.value
    case 'reference':
      return valueAt(operand.reference, parameters)
    case 'list':
      return operand.items.map((item) => {
        budget.chargeSteps(1)
        return operandValue(budget, item, parameters)
      })
    // Instants and patterns have no value of their own: `leafTruth` evaluates them.
    case 'instant':
    case 'pattern':
      return null
    default:
      return assertNever(operand)
  }
}

function instantOf(budget: Budget, operand: FilterOperand, parameters: BoundParameters): number | null {
  const value = operandValue(budget, operand, parameters)
  const ms = instantMs(value)
  if (ms === null && value !== null) rejectParameter(operand)
  return ms
}

function patternFrom(budget: Budget, operand: FilterOperand, source: Value): CompiledRegex {
  const compiled = typeof source === 'string' ? compileRegexCharged(budget, source) : null
  if (compiled?.ok) return compiled.value
  rejectParameter(operand)
  return { matches: () => false }
}

/**
 * A claim of the wrong type is unknown, because the caller cannot change it; an input parameter of the wrong type is
 * reported.
 */
function rejectParameter(operand: FilterOperand): void {
  if (operand.kind !== 'reference') return
  const { root } = operand.reference
  if (root === 'token' || root === 'svc_token') return
  throw new ExecutionError('missing-parameter', `parameter \`$${root}\` has the wrong type for the filter`, root)
}
