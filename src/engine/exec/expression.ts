// Bound expressions → closures over a run. Names become symbols here, once; a test (true or not) is compiled apart from a
// truth (true, false, unknown), because a filter asks for no more and can stop sooner.
import type { ComparisonOperator } from '../../../grammar/ast.ts'
import { assert, unreachable } from '../../kernel/assert.ts'
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { RunFault } from '../errors.ts'
import type { Snapshot } from '../store.ts'
import { add, divide, modulo, multiply, negate, power, subtract } from '../value/arithmetic.ts'
import { contains, equals, lessOrEqual, lessThan } from '../value/compare.ts'
import { propertyOf } from '../value/element.ts'
import type { CypherFunction } from '../value/functions/function.ts'
import { functionNamed, MAP_PROJECTION, mapProjection } from '../value/functions.ts'
import { kindName } from '../value/kind-name.ts'
import { NodeValue, RelationshipValue, type Truth, type Value } from '../value/value.ts'
import { boundedList, boundedMap } from '../value/weight.ts'
import { indexed, itemsOf, readParameter, sliced } from './access.ts'
import type { Evaluate, Run } from './context.ts'
import { checkLabels, readProperties, readProperty, readSlot } from './element-access.ts'

type Of<K extends BoundExpression['kind']> = Extract<BoundExpression, { kind: K }>

/** What an expression is compiled for. A plan is dropped when a snapshot's `symbolEpoch` changes, and its closures with it. */
export interface ExpressionSite {
  readonly snapshots: readonly Snapshot[]
  /** Compiles the inner match of EXISTS or a pattern predicate. */
  exists(expression: Of<'exists'>): (run: Run) => boolean
}

export type EvaluateTruth = (run: Run) => Truth
export type Test = (run: Run) => boolean

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
    case 'binary':
      return compileBinary(expression, site)
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
      return compileCall(expression, site)
    case 'list-comprehension':
      return compileComprehension(expression, site)
    case 'reduce':
      return compileReduce(expression, site)
    default:
      return unreachable(expression)
  }
}

const ARITHMETIC = { '+': add, '-': subtract, '*': multiply, '/': divide, '%': modulo, '^': power } as const

function compileBinary(expression: Of<'binary'>, site: ExpressionSite): Evaluate {
  const { operator } = expression
  const left = compileExpression(expression.left, site)
  const right = compileExpression(expression.right, site)
  switch (operator) {
    case 'IN':
      return (run) => {
        const value = left(run)
        const list = itemsOf(run, right(run), '`IN`')
        return list === null ? null : contains(list, value)
      }
    case 'STARTS WITH':
      return onStrings(left, right, (text, part) => text.startsWith(part))
    case 'ENDS WITH':
      return onStrings(left, right, (text, part) => text.endsWith(part))
    case 'CONTAINS':
      return onStrings(left, right, (text, part) => text.includes(part))
    case '=~':
      throw new Error('the binder refuses =~')
    default: {
      const compute = ARITHMETIC[operator]
      return (run) => compute(left(run), right(run))
    }
  }
}

/** Anything but two strings is unknown. */
function onStrings(left: Evaluate, right: Evaluate, ask: (text: string, part: string) => boolean): Evaluate {
  return (run) => {
    const text = left(run)
    const part = right(run)
    return typeof text === 'string' && typeof part === 'string' ? ask(text, part) : null
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

function compileCall(expression: Of<'function'>, site: ExpressionSite): Evaluate {
  const entry = expression.name === MAP_PROJECTION ? mapProjection : functionNamed(expression.name)
  assert(entry, `the binder lets no unknown function pass: ${expression.name}`)
  const args = expression.args.map((arg) => compileExpression(arg, site))
  if (entry.name === 'coalesce') {
    return (run) => {
      for (const arg of args) {
        const value = arg(run)
        if (value !== null) return value
      }
      return null
    }
  }
  return entry.nulls === 'given' ? compileGiven(entry, args) : compilePropagating(entry, args)
}

const absent: Evaluate = () => null

function compileGiven(entry: CypherFunction, [a = absent, b = absent, c = absent]: readonly Evaluate[]): Evaluate {
  return (run) => entry.call(run, a(run), b(run), c(run))
}

function compilePropagating(entry: CypherFunction, args: readonly Evaluate[]): Evaluate {
  const [a = absent, b = absent, c = absent] = args
  if (args.length === 0) return (run) => entry.call(run, null, null, null)
  if (args.length === 1) {
    return (run) => {
      const first = a(run)
      return first === null ? null : entry.call(run, first, null, null)
    }
  }
  const three = args.length === 3
  return (run) => {
    const first = a(run)
    const second = b(run)
    const third = c(run)
    if (first === null || second === null || (three && third === null)) return null
    return entry.call(run, first, second, third)
  }
}

// ---------------------------------------------------------------- lists, item by item

function compileComprehension(expression: Of<'list-comprehension'>, site: ExpressionSite): Evaluate {
  const list = compileExpression(expression.list, site)
  const keeps = expression.where ? compileTest(expression.where, site) : null
  const project = expression.projection ? compileExpression(expression.projection, site) : null
  const { index } = expression.variable
  return (run) => {
    const items = itemsOf(run, list(run), 'a list comprehension')
    if (items === null) return null
    const result: Value[] = []
    for (const item of items) {
      run.frame[index] = item
      if (keeps === null || keeps(run)) result.push(project === null ? item : project(run))
    }
    return boundedList(result)
  }
}

function compileReduce(expression: Of<'reduce'>, site: ExpressionSite): Evaluate {
  const initial = compileExpression(expression.initial, site)
  const list = compileExpression(expression.list, site)
  const step = compileExpression(expression.expression, site)
  const accumulator = expression.accumulator.index
  const variable = expression.variable.index
  return (run) => {
    const start = initial(run)
    const items = itemsOf(run, list(run), 'reduce()')
    if (items === null) return null
    let value = start
    for (const item of items) {
      // Both are set at every step: the step may itself hold a reduce over the same frame.
      run.frame[accumulator] = value
      run.frame[variable] = item
      value = step(run)
    }
    return value
  }
}

/** True and false are decided by the items that are known; an unknown item leaves open what it could still change. */
function compileQuantifier(expression: Of<'quantifier'>, site: ExpressionSite): EvaluateTruth {
  const list = compileExpression(expression.list, site)
  const holds = compilePredicate(expression.where, site)
  const { index } = expression.variable
  const { quantifier } = expression
  return (run) => {
    const items = itemsOf(run, list(run), `${quantifier}()`)
    if (items === null) return null
    let trues = 0
    let unknowns = 0
    for (const item of items) {
      run.frame[index] = item
      const truth = holds(run)
      if (truth === null) unknowns += 1
      else if (truth) trues += 1
      if (truth === true && quantifier === 'any') return true
      if (truth === true && quantifier === 'none') return false
      if (truth === false && quantifier === 'all') return false
      if (trues > 1 && quantifier === 'single') return false
    }
    if (unknowns > 0) return null
    return quantifier === 'single' ? trues === 1 : quantifier !== 'any'
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
    case 'xor': {
      const left = compile(expression.left)
      const right = compile(expression.right)
      return (run) => {
        const one = left(run)
        const other = right(run)
        return one === null || other === null ? null : one !== other
      }
    }
    case 'not': {
      const operand = compile(expression.operand)
      return (run) => {
        const truth = operand(run)
        return truth === null ? null : !truth
      }
    }
    case 'comparison':
      return compileComparison(expression, site)
    case 'null-test': {
      const isNull = compileNullTest(expression.operand, site)
      return expression.negated ? (run) => !isNull(run) : isNull
    }
    case 'label-test':
      return compileLabelTest(expression, site)
    case 'quantifier':
      return compileQuantifier(expression, site)
    case 'exists':
      return site.exists(expression)
    default: {
      const evaluate = compileExpression(expression, site)
      return (run) => truthOf(evaluate(run))
    }
  }
}

function truthOf(value: Value): Truth {
  if (value === null || typeof value === 'boolean') return value
  throw new RunFault('type', `a condition takes a boolean, not ${kindName(value)}`, null, 'InvalidArgumentType')
}

/** False beats unknown, and unknown beats true. */
function conjunction(operands: readonly EvaluateTruth[]): EvaluateTruth {
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

function disjunction(operands: readonly EvaluateTruth[]): EvaluateTruth {
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

function compileComparison(expression: Of<'comparison'>, site: ExpressionSite): EvaluateTruth {
  const sameElements = compileElementComparison(expression)
  if (sameElements) return sameElements
  const compare = comparators[expression.operator]
  const left = compileExpression(expression.left, site)
  const right = compileExpression(expression.right, site)
  return (run) => compare(left(run), right(run))
}

const comparators: Readonly<Record<ComparisonOperator, (a: Value, b: Value) => Truth>> = {
  '=': equals,
  '<>': (a, b) => {
    const same = equals(a, b)
    return same === null ? null : !same
  },
  '<': lessThan,
  '<=': lessOrEqual,
  '>': (a, b) => lessThan(b, a),
  '>=': (a, b) => lessOrEqual(b, a),
}

/** `n = m` and `n <> m` over slots that hold ids: no handles are made. Null where the comparison is another. */
function compileElementComparison(expression: Of<'comparison'>): EvaluateTruth | null {
  const { operator, left, right } = expression
  if (left.kind !== 'slot' || right.kind !== 'slot' || (operator !== '=' && operator !== '<>')) return null
  if (!holdsId(left.slot) || left.slot.kind !== right.slot.kind) return null
  const one = left.slot.index
  const other = right.slot.index
  const sameGraph = left.slot.graph === right.slot.graph
  const wanted = operator === '='
  return (run) => {
    const a = run.frame[one] as number
    const b = run.frame[other] as number
    return a === 0 || b === 0 ? null : (sameGraph && a === b) === wanted
  }
}

function holdsId(slot: Slot): boolean {
  return slot.kind === 'node' || slot.kind === 'relationship'
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
    case 'or': {
      const tests = expression.operands.map((operand) => compileTest(operand, site))
      return (run) => tests.some((test) => test(run))
    }
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

function all(tests: readonly Test[]): Test {
  const [first, second, third] = tests
  if (tests.length === 1) return first!
  if (tests.length === 2) return (run) => first!(run) && second!(run)
  if (tests.length === 3) return (run) => first!(run) && second!(run) && third!(run)
  return (run) => {
    for (const test of tests) if (!test(run)) return false
    return true
  }
}

function compileComparisonTest(expression: Of<'comparison'>, site: ExpressionSite): Test {
  const truth = compileElementComparison(expression)
  if (truth) return (run) => truth(run) === true
  const left = compileExpression(expression.left, site)
  const right = compileExpression(expression.right, site)
  switch (expression.operator) {
    case '=':
      if (expression.right.kind === 'constant') return equalsConstant(left, expression.right.value)
      if (expression.left.kind === 'constant') return equalsConstant(right, expression.left.value)
      return (run) => sameValue(left(run), right(run))
    case '<':
      return (run) => isLess(left(run), right(run))
    case '<=':
      return (run) => isLessOrEqual(left(run), right(run))
    case '>':
      return (run) => isLess(right(run), left(run))
    case '>=':
      return (run) => isLessOrEqual(right(run), left(run))
    default: {
      const compare = comparators[expression.operator]
      return (run) => compare(left(run), right(run)) === true
    }
  }
}

function equalsConstant(evaluate: Evaluate, constant: Value): Test {
  // Only a string equals a string, and only a boolean a boolean.
  if (typeof constant === 'string' || typeof constant === 'boolean') return (run) => evaluate(run) === constant
  return (run) => sameValue(evaluate(run), constant)
}

// The scalar cases stand before the general ones: they are what policies compare, and need no call.
function sameValue(a: Value, b: Value): boolean {
  if (typeof a === 'string' || typeof a === 'boolean') return a === b
  if (typeof a === 'number' && typeof b === 'number') return a === b
  return equals(a, b) === true
}

function isLess(a: Value, b: Value): boolean {
  return typeof a === 'number' && typeof b === 'number' ? a < b : lessThan(a, b) === true
}

function isLessOrEqual(a: Value, b: Value): boolean {
  return typeof a === 'number' && typeof b === 'number' ? a <= b : lessOrEqual(a, b) === true
}
