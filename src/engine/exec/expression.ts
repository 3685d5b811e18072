// Bound expressions → closures over a run. Names become symbols here, once; a test (true or not) is compiled apart from a
// truth (true, false, unknown), because a filter asks for no more and can stop sooner.
import { unreachable } from '../../kernel/assert.ts'
import type { BoundExpression } from '../bind/bound.ts'
import { mapChildren } from '../bind/walk.ts'
import { RunFault } from '../errors.ts'
import type { Snapshot } from '../store.ts'
import { negate } from '../value/arithmetic.ts'
import { equals } from '../value/compare.ts'
import { propertyOf } from '../value/element.ts'
import { kindName } from '../value/kind-name.ts'
import { NodeValue, RelationshipValue } from '../value/value.ts'
import { boundedList, boundedMap } from '../value/weight.ts'
import { indexed, readParameter, sliced } from './access.ts'
import { computeBinary } from './binary.ts'
import { callFunction } from './call.ts'
import { compareElements, compareTest, compareTruth, equalsConstant, holdsId } from './comparison.ts'
import type { Evaluate, Run } from './context.ts'
import { checkLabels, readProperties, readProperty, readSlot, typeTest } from './element-access.ts'
import { comprehend, quantify, reduce } from './iterate.ts'
import {
  all,
  any,
  conjunction,
  disjunction,
  type EvaluateTruth,
  exclusive,
  negation,
  type Test,
  truthOf,
} from './logic.ts'

type Of<K extends BoundExpression['kind']> = Extract<BoundExpression, { kind: K }>

/** What an expression is compiled for. A plan is dropped when a snapshot's `symbolEpoch` changes, and its closures with it. */
export interface ExpressionSite {
  readonly snapshots: readonly Snapshot[]
  /** Compiles the inner match of EXISTS or a pattern predicate. */
  exists(expression: Of<'exists'>): (run: Run) => boolean
  subquery(expression: Of<'subquery'>): Evaluate
}

/** Operands of an expression that are evaluated within the steps of its row or item. */
const SIZE_PER_STEP = 16

/** Charges large expressions each time they are evaluated; a text may hold tens of thousands of operands. */
export function chargedBySize<T>(expression: BoundExpression, evaluate: (run: Run) => T): (run: Run) => T {
  const steps = Math.floor(sizeOf(expression) / SIZE_PER_STEP)
  if (steps === 0) return evaluate
  return (run) => {
    run.budget.touch(steps)
    return evaluate(run)
  }
}

function sizeOf(expression: BoundExpression): number {
  let size = 1
  mapChildren(expression, (child) => {
    size += sizeOf(child)
    return child
  })
  return size
}

// ---------------------------------------------------------------- values

export function compileExpression(expression: BoundExpression, site: ExpressionSite): Evaluate {
  const compile = (inner: BoundExpression): Evaluate => compileExpression(inner, site)
  switch (expression.kind) {
    case 'constant': {
      const { value } = expression
      return () => value
    }
    case 'parameter':
      return readParameter(expression.name, expression.path)
    case 'slot':
      return readSlot(expression.slot)
    case 'element-property':
      return readProperty(expression, site.snapshots)
    case 'element-properties':
      return readProperties(expression.slot)
    case 'property': {
      const target = compile(expression.target)
      const { key } = expression
      return (run) => propertyOf(run, target(run), key)
    }
    case 'index': {
      const target = compile(expression.target)
      const index = compile(expression.index)
      return (run) => indexed(run, target(run), index(run))
    }
    case 'slice': {
      const target = compile(expression.target)
      const from = expression.from && compile(expression.from)
      const to = expression.to && compile(expression.to)
      return (run) => sliced(target(run), from ? from(run) : undefined, to ? to(run) : undefined)
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
      return site.subquery(expression)
    case 'binary':
      return computeBinary(expression.operator, compile(expression.left), compile(expression.right))
    case 'negate': {
      const operand = compile(expression.operand)
      return (run) => negate(operand(run))
    }
    case 'list': {
      const items = expression.items.map(compile)
      return (run) => boundedList(items.map((item) => item(run)))
    }
    case 'map': {
      const entries = expression.entries.map(({ key, value }) => [key, compile(value)] as const)
      return (run) => boundedMap(new Map(entries.map(([key, value]) => [key, value(run)])))
    }
    case 'case':
      return compileCase(expression, site)
    case 'function':
      return callFunction(expression.name, expression.args.map(compile))
    case 'list-comprehension': {
      const { where: kept, projection: given } = expression
      const where = kept && chargedBySize(kept, compileTest(kept, site))
      const projection = given && chargedBySize(given, compile(given))
      return comprehend(expression.variable.index, compile(expression.list), where, projection)
    }
    case 'reduce': {
      const { accumulator, variable, initial, list } = expression
      const step = chargedBySize(expression.expression, compile(expression.expression))
      return reduce(accumulator.index, variable.index, compile(initial), compile(list), step)
    }
    default:
      return unreachable(expression)
  }
}

function compileCase(expression: Of<'case'>, site: ExpressionSite): Evaluate {
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
    return (branches.find((branch) => equals(value, branch.when(run)) === true)?.value ?? otherwise)(run)
  }
}

// ---------------------------------------------------------------- truths

export function compilePredicate(expression: BoundExpression, site: ExpressionSite): EvaluateTruth {
  const compile = (inner: BoundExpression): EvaluateTruth => compilePredicate(inner, site)
  switch (expression.kind) {
    case 'and':
      return conjunction(expression.operands.map(compile))
    case 'or':
      return disjunction(expression.operands.map(compile))
    case 'xor':
      return exclusive(compile(expression.left), compile(expression.right))
    case 'not':
      return negation(compile(expression.operand))
    case 'comparison': {
      const { operator, left, right } = expression
      const elements = compareElements(expression)
      return elements ?? compareTruth(operator, compileExpression(left, site), compileExpression(right, site))
    }
    case 'null-test': {
      const isNull = compileNullTest(expression.operand, site)
      return expression.negated ? (run) => !isNull(run) : isNull
    }
    case 'label-test':
      return compileLabelTest(expression, site)
    case 'quantifier': {
      const list = compileExpression(expression.list, site)
      return quantify(
        expression.quantifier,
        expression.variable.index,
        list,
        chargedBySize(expression.where, compile(expression.where)),
      )
    }
    case 'exists':
      return site.exists(expression)
    default: {
      const evaluate = compileExpression(expression, site)
      return (run) => truthOf(evaluate(run))
    }
  }
}

function compileNullTest(operand: BoundExpression, site: ExpressionSite): Test {
  if (operand.kind === 'slot' && holdsId(operand.slot)) {
    const { index } = operand.slot
    return (run) => run.frame[index] === 0
  }
  const evaluate = compileExpression(operand, site)
  return (run) => evaluate(run) === null
}

function compileLabelTest(expression: Of<'label-test'>, site: ExpressionSite): EvaluateTruth {
  const { target, labels } = expression
  if (target.kind === 'slot' && holdsId(target.slot)) {
    const { index, graph, kind } = target.slot
    const check = checkLabels(labels, kind as 'node' | 'relationship', graph, site.snapshots[graph]!)
    return (run) => {
      const id = run.frame[index] as number
      return id === 0 ? null : check(run, id)
    }
  }
  const evaluate = compileExpression(target, site)
  // Which graph an element comes from is only known when it is there.
  const onNodes = site.snapshots.map((snapshot, graph) => checkLabels(labels, 'node', graph, snapshot))
  const onRelationships = site.snapshots.map((snapshot, graph) => checkLabels(labels, 'relationship', graph, snapshot))
  return (run) => {
    const value = evaluate(run)
    if (value === null) return null
    if (value instanceof NodeValue) return onNodes[value.graph]!(run, value.id)
    if (value instanceof RelationshipValue) return onRelationships[value.graph]!(run, value.id)
    throw new RunFault('type', `${kindName(value)} has no labels`, null, 'InvalidArgumentType')
  }
}

// ---------------------------------------------------------------- tests

/** True exactly where the truth is true: unknown counts as false, so most cases need not tell the two apart. */
export function compileTest(expression: BoundExpression, site: ExpressionSite): Test {
  switch (expression.kind) {
    case 'and':
      return all(expression.operands.map((operand) => compileTest(operand, site)))
    case 'or':
      return any(expression.operands.map((operand) => compileTest(operand, site)))
    case 'not': {
      const operand = compilePredicate(expression.operand, site)
      return (run) => operand(run) === false
    }
    case 'comparison':
      return compileComparisonTest(expression, site)
    case 'exists':
      return site.exists(expression)
    default: {
      const truth = compilePredicate(expression, site)
      return (run) => truth(run) === true
    }
  }
}

function compileComparisonTest(expression: Of<'comparison'>, site: ExpressionSite): Test {
  const elements = compareElements(expression)
  if (elements) return (run) => elements(run) === true
  const { operator, left, right } = expression
  if (operator === '=' && isTypeOfNode(left) && right.kind === 'constant' && typeof right.value === 'string') {
    return typeTest(left.slot, right.value, site.snapshots)
  }
  if (operator === '=' && right.kind === 'constant') return equalsConstant(compileExpression(left, site), right.value)
  if (operator === '=' && left.kind === 'constant') return equalsConstant(compileExpression(right, site), left.value)
  return compareTest(operator, compileExpression(left, site), compileExpression(right, site))
}

function isTypeOfNode(expression: BoundExpression): expression is Of<'element-property'> {
  return expression.kind === 'element-property' && expression.own === 'type' && expression.slot.kind === 'node'
}
