// Bound expressions → closures over a run. Names become symbols here, once; a test (true or not) is compiled apart from a
// truth (true, false, unknown), because a filter asks for no more and can stop sooner.
import { assertNever } from '../../kernel/assert.ts'
import type { BoundExpression } from '../bind/bound.ts'
import { mapChildren } from '../bind/expression-tree.ts'
import { ExecutionError } from '../errors.ts'
import type { Snapshot } from '../store.ts'
import { negate } from '../value/arithmetic.ts'
import { equals } from '../value/compare.ts'
import { getProperty } from '../value/element-properties.ts'
import { kindName } from '../value/kind-name.ts'
import { NodeValue, RelationshipValue } from '../value/value.ts'
import { boundedList, boundedMap } from '../value/value-size.ts'
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
import { compileListComprehension, compileQuantifier, compileReduce } from './list-iteration.ts'

type ExpressionOfKind<K extends BoundExpression['kind']> = Extract<BoundExpression, { kind: K }>

/** What an expression is compiled for. A plan is dropped when a snapshot's `symbolEpoch` changes, and its closures with it. */
export interface ExpressionCompilerDeps {
  readonly snapshots: readonly Snapshot[]
  /** Compiles the inner match of EXISTS or a pattern predicate. */
  compileExists(expression: ExpressionOfKind<'exists'>): (run: ExecutionContext) => boolean
  compileSubquery(expression: ExpressionOfKind<'subquery'>): CompiledExpression
}

/** Operands of an expression that are evaluated within the steps of its row or item. */
const OPERANDS_PER_STEP = 16

/** Charges large expressions each time they are evaluated; a text may hold tens of thousands of operands. */
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

export function compileExpression(expression: BoundExpression, site: ExpressionCompilerDeps): CompiledExpression {
  const compile = (inner: BoundExpression): CompiledExpression => compileExpression(inner, site)
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
      return compilePropertyRead(expression, site.snapshots)
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
    case 'quantifier':
    case 'exists':
      return compilePredicate(expression, site)
    case 'subquery':
      return site.compileSubquery(expression)
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
      return compileCase(expression, site)
    case 'function':
      return compileFunctionCall(expression.name, expression.args.map(compile))
    case 'list-comprehension': {
      const { where: kept, projection: given } = expression
      const where = kept && chargeBySize(kept, compileTest(kept, site))
      const projection = given && chargeBySize(given, compile(given))
      return compileListComprehension(expression.variable.index, compile(expression.list), where, projection)
    }
    case 'reduce': {
      const { accumulator, variable, initial, list } = expression
      const step = chargeBySize(expression.expression, compile(expression.expression))
      return compileReduce(accumulator.index, variable.index, compile(initial), compile(list), step)
    }
    default:
      return assertNever(expression)
  }
}

function compileCase(expression: ExpressionOfKind<'case'>, site: ExpressionCompilerDeps): CompiledExpression {
  const otherwise = expression.otherwise ? compileExpression(expression.otherwise, site) : () => null
  if (expression.subject === null) {
    const branches = expression.branches.map((branch) => ({
      holds: compileTest(branch.when, site),
      value: compileExpression(branch.then, site),
    }))
    return (run) => (branches.find((branch) => branch.holds(run))?.value ?? otherwise)(run)
  }
  const subject = compileExpression(expression.subject, site)
  const branches = expression.branches.map((branch) => ({
    when: compileExpression(branch.when, site),
    value: compileExpression(branch.then, site),
  }))
  return (run) => {
    const value = subject(run)
    return (branches.find((branch) => equals(run.budget, value, branch.when(run)) === true)?.value ?? otherwise)(run)
  }
}

// ---------------------------------------------------------------- truths

export function compilePredicate(expression: BoundExpression, site: ExpressionCompilerDeps): CompiledPredicate {
  const compile = (inner: BoundExpression): CompiledPredicate => compilePredicate(inner, site)
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
      return elements ?? compileComparison(operator, compileExpression(left, site), compileExpression(right, site))
    }
    case 'null-test': {
      const isNull = compileNullTest(expression.operand, site)
      return expression.negated ? (run) => !isNull(run) : isNull
    }
    case 'label-test':
      return compileLabelTest(expression, site)
    case 'quantifier': {
      const list = compileExpression(expression.list, site)
      return compileQuantifier(
        expression.quantifier,
        expression.variable.index,
        list,
        chargeBySize(expression.where, compile(expression.where)),
      )
    }
    case 'exists':
      return site.compileExists(expression)
    default: {
      const evaluate = compileExpression(expression, site)
      return (run) => toTruth(evaluate(run))
    }
  }
}

function compileNullTest(operand: BoundExpression, site: ExpressionCompilerDeps): CompiledTest {
  if (operand.kind === 'slot' && isElementSlot(operand.slot)) {
    const { index } = operand.slot
    return (run) => run.frame[index] === 0
  }
  const evaluate = compileExpression(operand, site)
  return (run) => evaluate(run) === null
}

function compileLabelTest(expression: ExpressionOfKind<'label-test'>, site: ExpressionCompilerDeps): CompiledPredicate {
  const { target, labels } = expression
  if (target.kind === 'slot' && isElementSlot(target.slot)) {
    const { index, graph, kind } = target.slot
    const check = compileLabelCheck(labels, kind as 'node' | 'relationship', graph, site.snapshots[graph]!)
    return (run) => {
      const id = run.frame[index] as number
      return id === 0 ? null : check(run, id)
    }
  }
  const evaluate = compileExpression(target, site)
  // Which graph an element comes from is only known when it is there.
  const onNodes = site.snapshots.map((snapshot, graph) => compileLabelCheck(labels, 'node', graph, snapshot))
  const onRelationships = site.snapshots.map((snapshot, graph) =>
    compileLabelCheck(labels, 'relationship', graph, snapshot),
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

/** True exactly where the truth is true: unknown counts as false, so most cases need not tell the two apart. */
export function compileTest(expression: BoundExpression, site: ExpressionCompilerDeps): CompiledTest {
  switch (expression.kind) {
    case 'and':
      return allOf(expression.operands.map((operand) => compileTest(operand, site)))
    case 'or':
      return anyOf(expression.operands.map((operand) => compileTest(operand, site)))
    case 'not': {
      const operand = compilePredicate(expression.operand, site)
      return (run) => operand(run) === false
    }
    case 'comparison':
      return compileComparisonTest(expression, site)
    case 'exists':
      return site.compileExists(expression)
    default: {
      const truth = compilePredicate(expression, site)
      return (run) => truth(run) === true
    }
  }
}

function compileComparisonTest(expression: ExpressionOfKind<'comparison'>, site: ExpressionCompilerDeps): CompiledTest {
  const elements = compileElementComparison(expression)
  if (elements) return (run) => elements(run) === true
  const { operator, left, right } = expression
  if (operator === '=' && isNodeTypeProperty(left) && right.kind === 'constant' && typeof right.value === 'string') {
    return compileTypeTest(left.slot, right.value, site.snapshots)
  }
  if (operator === '=' && right.kind === 'constant')
    return compileEqualsConstant(compileExpression(left, site), right.value)
  if (operator === '=' && left.kind === 'constant')
    return compileEqualsConstant(compileExpression(right, site), left.value)
  return compileOperatorTest(operator, compileExpression(left, site), compileExpression(right, site))
}

function isNodeTypeProperty(expression: BoundExpression): expression is ExpressionOfKind<'element-property'> {
  return expression.kind === 'element-property' && expression.own === 'type' && expression.slot.kind === 'node'
}
