// Compiles bound expressions to closures over an execution context. Names become symbols here, once. A test (true or
// not) is compiled separately from a predicate (true, false, unknown): a filter needs no more and can stop earlier.
import { assertNever } from '../../kernel/assert.ts'
import type { BoundExpression } from '../bind/bound.ts'
import { mapChildren } from '../bind/expression-tree.ts'
import { ExecutionError } from '../errors.ts'
import type { Snapshot } from '../store.ts'
import { negate } from '../value/arithmetic.ts'
import { equals } from '../value/compare.ts'
import { getProperty } from '../value/element-properties.ts'
import { kindName } from '../value/kind-name.ts'
import { isNormalized } from '../value/string-operations.ts'
import { NodeValue, RelationshipValue } from '../value/value.ts'
import { boundedList, boundedMap } from '../value/value-size.ts'
import { hasType } from '../value/value-type.ts'
import { compileBinary } from './binary-operators.ts'
import {
  allOf,
  anyOf,
  type CompiledPredicate,
  type CompiledTest,
  conjunction,
  disjunction,
  exclusiveDisjunction,
  negation,
  toTruth,
} from './boolean-logic.ts'
import {
  compileComparison,
  compileElementComparison,
  compileEqualsConstant,
  compileOperatorTest,
  isElementSlot,
} from './comparison.ts'
import {
  compileLabelCheck,
  compilePropertiesRead,
  compilePropertyRead,
  compileSlotRead,
  compileTypeTest,
} from './element-access.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { compileFunctionCall } from './function-call.ts'
import { compileParameter, readIndex, readSlice } from './list-and-map-access.ts'
import { compileAllReduce, compileListComprehension, compileQuantifier, compileReduce } from './list-iteration.ts'

type ExpressionOfKind<K extends BoundExpression['kind']> = Extract<BoundExpression, { kind: K }>

/** Collaborators of the expression compiler. Compiled closures are valid until the symbol epoch of a snapshot changes. */
export interface ExpressionCompilerDeps {
  readonly snapshots: readonly Snapshot[]
  /** Compiles the inner match of EXISTS or a pattern predicate. */
  compileExists(expression: ExpressionOfKind<'exists'>): (run: ExecutionContext) => boolean
  /** Compiles a subquery expression (EXISTS, COUNT, COLLECT). */
  compileSubquery(expression: ExpressionOfKind<'subquery'>): CompiledExpression
}

/** Operands of an expression that one step covers. */
const OPERANDS_PER_STEP = 16

/** Charges large expressions for each evaluation: a query may have tens of thousands of operands. */
export function chargeBySize<T>(
  expression: BoundExpression,
  evaluate: (run: ExecutionContext) => T,
): (run: ExecutionContext) => T {
  const steps = Math.floor(expressionSize(expression) / OPERANDS_PER_STEP)
  if (steps === 0) return evaluate
  return (run) => {
    run.budget.chargeSteps(steps)
    return evaluate(run)
  }
}

function expressionSize(expression: BoundExpression): number {
  let size = 1
  mapChildren(expression, (child) => {
    size += expressionSize(child)
    return child
  })
  return size
}

// ---------------------------------------------------------------- values

/** Compiles an expression to a function that returns its value. */
export function compileExpression(expression: BoundExpression, deps: ExpressionCompilerDeps): CompiledExpression {
  const compile = (inner: BoundExpression): CompiledExpression => compileExpression(inner, deps)
  switch (expression.kind) {
    case 'constant': {
      const { value } = expression
      return () => value
    }
    case 'parameter':
      return compileParameter(expression.name, expression.path)
    case 'slot':
      return compileSlotRead(expression.slot)
    case 'element-property':
      return compilePropertyRead(expression, deps.snapshots)
    case 'element-properties':
      return compilePropertiesRead(expression.slot)
    case 'property': {
      const target = compile(expression.target)
      const { key } = expression
      return (run) => getProperty(run, target(run), key)
    }
    case 'index': {
      const target = compile(expression.target)
      const index = compile(expression.index)
      return (run) => readIndex(run, target(run), index(run))
    }
    case 'slice': {
      const target = compile(expression.target)
      const from = expression.from && compile(expression.from)
      const to = expression.to && compile(expression.to)
      return (run) => readSlice(run.budget, target(run), from ? from(run) : undefined, to ? to(run) : undefined)
    }
    case 'label-test':
    case 'and':
    case 'or':
    case 'xor':
    case 'not':
    case 'comparison':
    case 'null-test':
    case 'value-test':
    case 'quantifier':
    case 'exists':
      return compilePredicate(expression, deps)
    case 'subquery':
      return deps.compileSubquery(expression)
    case 'binary':
      return compileBinary(expression.operator, compile(expression.left), compile(expression.right))
    case 'negate': {
      const operand = compile(expression.operand)
      return (run) => negate(operand(run))
    }
    case 'list': {
      const items = expression.items.map(compile)
      return (run) =>
        boundedList(
          run.budget,
          items.map((item) => item(run)),
        )
    }
    case 'map': {
      const entries = expression.entries.map(({ key, value }) => [key, compile(value)] as const)
      return (run) => boundedMap(run.budget, new Map(entries.map(([key, value]) => [key, value(run)])))
    }
    case 'case':
      return compileCase(expression, deps)
    case 'function':
      return compileFunctionCall(expression.name, expression.args.map(compile))
    case 'list-comprehension': {
      const { where: whereExpression, projection: projectionExpression } = expression
      const where = whereExpression && chargeBySize(whereExpression, compileTest(whereExpression, deps))
      const projection = projectionExpression && chargeBySize(projectionExpression, compile(projectionExpression))
      return compileListComprehension(expression.variable.index, compile(expression.list), where, projection)
    }
    case 'reduce': {
      const { accumulator, variable, initial, list } = expression
      const step = chargeBySize(expression.expression, compile(expression.expression))
      if (expression.condition) {
        const holds = chargeBySize(expression.condition, compilePredicate(expression.condition, deps))
        return compileAllReduce(accumulator.index, variable.index, compile(initial), compile(list), step, holds)
      }
      return compileReduce(accumulator.index, variable.index, compile(initial), compile(list), step)
    }
    default:
      return assertNever(expression)
  }
}

function compileCase(expression: ExpressionOfKind<'case'>, deps: ExpressionCompilerDeps): CompiledExpression {
  const otherwise = expression.otherwise ? compileExpression(expression.otherwise, deps) : () => null
  if (expression.subject === null) {
    const branches = expression.branches.map((branch) => ({
      holds: compileTest(branch.when, deps),
      value: compileExpression(branch.then, deps),
    }))
    return (run) => (branches.find((branch) => branch.holds(run))?.value ?? otherwise)(run)
  }
  const subject = compileExpression(expression.subject, deps)
  if (expression.variable !== null) {
    const { index } = expression.variable
    const branches = expression.branches.map((branch) => ({
      holds: compileTest(branch.when, deps),
      value: compileExpression(branch.then, deps),
    }))
    return (run) => {
      run.frame[index] = subject(run)
      return (branches.find((branch) => branch.holds(run))?.value ?? otherwise)(run)
    }
  }
  const branches = expression.branches.map((branch) => ({
    when: compileExpression(branch.when, deps),
    value: compileExpression(branch.then, deps),
  }))
  return (run) => {
    const value = subject(run)
    return (branches.find((branch) => equals(run.budget, value, branch.when(run)) === true)?.value ?? otherwise)(run)
  }
}

// ---------------------------------------------------------------- predicates

/** Compiles an expression to a three-valued predicate. */
export function compilePredicate(expression: BoundExpression, deps: ExpressionCompilerDeps): CompiledPredicate {
  const compile = (inner: BoundExpression): CompiledPredicate => compilePredicate(inner, deps)
  switch (expression.kind) {
    case 'and':
      return conjunction(expression.operands.map(compile))
    case 'or':
      return disjunction(expression.operands.map(compile))
    case 'xor':
      return exclusiveDisjunction(compile(expression.left), compile(expression.right))
    case 'not':
      return negation(compile(expression.operand))
    case 'comparison': {
      const { operator, left, right } = expression
      const elements = compileElementComparison(expression)
      return elements ?? compileComparison(operator, compileExpression(left, deps), compileExpression(right, deps))
    }
    case 'null-test': {
      const isNull = compileNullTest(expression.operand, deps)
      return expression.negated ? (run) => !isNull(run) : isNull
    }
    case 'value-test': {
      const { test, negated } = expression
      const operand = compileExpression(expression.operand, deps)
      const holds =
        test.kind === 'type'
          ? (run: ExecutionContext) => hasType(run.budget, operand(run), test.types)
          : (run: ExecutionContext) => isNormalized(run.budget, operand(run), test.form)
      return negated ? negation(holds) : holds
    }
    case 'label-test':
      return compileLabelTest(expression, deps)
    case 'quantifier': {
      const list = compileExpression(expression.list, deps)
      return compileQuantifier(
        expression.quantifier,
        expression.variable.index,
        list,
        chargeBySize(expression.where, compile(expression.where)),
      )
    }
    case 'exists':
      return deps.compileExists(expression)
    default: {
      const evaluate = compileExpression(expression, deps)
      return (run) => toTruth(evaluate(run))
    }
  }
}

function compileNullTest(operand: BoundExpression, deps: ExpressionCompilerDeps): CompiledTest {
  if (operand.kind === 'slot' && isElementSlot(operand.slot)) {
    const { index } = operand.slot
    return (run) => run.frame[index] === 0
  }
  const evaluate = compileExpression(operand, deps)
  return (run) => evaluate(run) === null
}

function compileLabelTest(expression: ExpressionOfKind<'label-test'>, deps: ExpressionCompilerDeps): CompiledPredicate {
  const { target, labels } = expression
  const compile = (inner: BoundExpression): CompiledExpression => compileExpression(inner, deps)
  if (target.kind === 'slot' && isElementSlot(target.slot)) {
    const { index, graph, kind } = target.slot
    const check = compileLabelCheck(labels, kind as 'node' | 'relationship', graph, deps.snapshots[graph]!, compile)
    return (run) => {
      const id = run.frame[index] as number
      return id === 0 ? null : check(run, id)
    }
  }
  const evaluate = compileExpression(target, deps)
  // The graph of the element is known at run time only.
  const onNodes = deps.snapshots.map((snapshot, graph) => compileLabelCheck(labels, 'node', graph, snapshot, compile))
  const onRelationships = deps.snapshots.map((snapshot, graph) =>
    compileLabelCheck(labels, 'relationship', graph, snapshot, compile),
  )
  return (run) => {
    const value = evaluate(run)
    if (value === null) return null
    if (value instanceof NodeValue) return onNodes[value.graph]!(run, value.id)
    if (value instanceof RelationshipValue) return onRelationships[value.graph]!(run, value.id)
    throw new ExecutionError('type', `${kindName(value)} has no labels`, null, 'InvalidArgumentType')
  }
}

// ---------------------------------------------------------------- tests

/** Compiles an expression to a test: true if and only if its predicate is true. */
export function compileTest(expression: BoundExpression, deps: ExpressionCompilerDeps): CompiledTest {
  switch (expression.kind) {
    case 'and':
      return allOf(expression.operands.map((operand) => compileTest(operand, deps)))
    case 'or':
      return anyOf(expression.operands.map((operand) => compileTest(operand, deps)))
    case 'not': {
      const operand = compilePredicate(expression.operand, deps)
      return (run) => operand(run) === false
    }
    case 'comparison':
      return compileComparisonTest(expression, deps)
    case 'exists':
      return deps.compileExists(expression)
    default: {
      const truth = compilePredicate(expression, deps)
      return (run) => truth(run) === true
    }
  }
}

function compileComparisonTest(expression: ExpressionOfKind<'comparison'>, deps: ExpressionCompilerDeps): CompiledTest {
  const elements = compileElementComparison(expression)
  if (elements) return (run) => elements(run) === true
  const { operator, left, right } = expression
  if (operator === '=' && isNodeTypeProperty(left) && right.kind === 'constant' && typeof right.value === 'string') {
    return compileTypeTest(left.slot, right.value, deps.snapshots)
  }
  if (operator === '=' && right.kind === 'constant')
    return compileEqualsConstant(compileExpression(left, deps), right.value)
  if (operator === '=' && left.kind === 'constant')
    return compileEqualsConstant(compileExpression(right, deps), left.value)
  return compileOperatorTest(operator, compileExpression(left, deps), compileExpression(right, deps))
}

function isNodeTypeProperty(expression: BoundExpression): expression is ExpressionOfKind<'element-property'> {
  return expression.kind === 'element-property' && expression.own === 'type' && expression.slot.kind === 'node'
}
