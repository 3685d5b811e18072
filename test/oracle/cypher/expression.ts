// Evaluates an expression of the syntax tree over an environment of names, following the definition of the language
// directly.
import type {
  Binary,
  Case,
  Expression,
  LabelExpression,
  MapProjection,
  PathPattern,
  SubqueryBody,
} from '../../../grammar/ast.ts'
import type { ValueType } from '../../../grammar/value-types.ts'
import { AGGREGATES, aggregate } from './aggregates.ts'
import { callFunction, integer } from './functions.ts'
import {
  compare,
  conjunction,
  disjunction,
  equal,
  type Identities,
  isList,
  isMap,
  isNode,
  isNumber,
  isRelationship,
  member,
  NotInReference,
  negation,
  type ReferenceElement,
  ReferenceEvaluationError,
  type ReferenceTruth,
  type ReferenceValue,
} from './values.ts'

export type Bindings = ReadonlyMap<string, ReferenceValue>

/** The context of an expression in addition to its environment. */
export interface ReferenceContext {
  readonly parameters: ReadonlyMap<string, ReferenceValue>
  readonly identities: Identities
  /** The rows of a pattern or a subquery for the environment. */
  rows(body: SubqueryBody | PathPattern, where: Expression | null, environment: Bindings): readonly Bindings[]
  /** The rows that may be there if what is unknown were known; null: the evaluation does not distinguish them. */
  readonly possibleRows: ReferenceContext['rows'] | null
}

export const bind = (environment: Bindings, name: string, value: ReferenceValue): Bindings =>
  new Map(environment).set(name, value)

// ---------------------------------------------------------------- elements

/** A node's own fields take precedence; every captured property is available as `n.x` and as `n.property.x`. */
export function property(of: ReferenceValue, key: string): ReferenceValue {
  if (of === null) return null
  if (isMap(of)) return of.get(key) ?? null
  if (isNode(of)) {
    if (key === 'external_id') return of.externalId
    if (key === 'type') return of.type
    if (key === 'is_identity') return of.isIdentity
    if (key === 'create_time' || key === 'update_time') return '2026-01-01T00:00:00.000Z'
  } else if (!isRelationship(of)) {
    throw new ReferenceEvaluationError(`no property ${key} on that value`)
  }
  if (key === 'property') return of.properties
  return of.properties.get(key) ?? null
}

export const labelsOf = (element: ReferenceElement): readonly string[] =>
  element.kind === 'node' ? [element.type, ...element.labels] : [element.type]

export function matchesLabels(labels: LabelExpression, carried: readonly string[]): boolean {
  switch (labels.kind) {
    case 'label':
      return carried.includes(labels.name)
    case 'label-and':
      return labels.operands.every((operand) => matchesLabels(operand, carried))
    case 'label-or':
      return labels.operands.some((operand) => matchesLabels(operand, carried))
    case 'label-not':
      return !matchesLabels(labels.operand, carried)
    case 'label-any':
      return carried.length > 0
    case 'label-dynamic':
      throw new NotInReference('dynamic labels')
  }
}

// ---------------------------------------------------------------- operators

export function asTruth(value: ReferenceValue): ReferenceTruth {
  if (value === null || typeof value === 'boolean') return value
  throw new ReferenceEvaluationError('a boolean is expected')
}

function arithmetic(operator: Binary['operator'], a: ReferenceValue, b: ReferenceValue): ReferenceValue {
  if (a === null || b === null) return null
  if (operator === '+') {
    if (isList(a)) return isList(b) ? [...a, ...b] : [...a, b]
    if (isList(b)) return [a, ...b]
    if (typeof a === 'string' || typeof b === 'string')
      return `${callFunction('toString', [a])}${callFunction('toString', [b])}`
  }
  if (!isNumber(a) || !isNumber(b)) throw new ReferenceEvaluationError(`${operator} needs numbers`)
  if (typeof a === 'bigint' && typeof b === 'bigint' && operator !== '^') {
    if ((operator === '/' || operator === '%') && b === 0n) throw new ReferenceEvaluationError('division by zero')
    if (operator === '+') return integer(a + b)
    if (operator === '-') return integer(a - b)
    if (operator === '*') return integer(a * b)
    return operator === '/' ? integer(a / b) : a % b
  }
  const [x, y] = [Number(a), Number(b)]
  if (operator === '+') return x + y
  if (operator === '-') return x - y
  if (operator === '*') return x * y
  if (operator === '/') return x / y
  return operator === '%' ? x % y : x ** y
}

function textTest(operator: Binary['operator'], a: ReferenceValue, b: ReferenceValue): ReferenceTruth {
  if (typeof a !== 'string' || typeof b !== 'string') return null
  if (operator === 'STARTS WITH') return a.startsWith(b)
  if (operator === 'ENDS WITH') return a.endsWith(b)
  return operator === 'CONTAINS' ? a.includes(b) : new RegExp(`^(?:${b})$`, 's').test(a)
}

function ordered(operator: string, a: ReferenceValue, b: ReferenceValue): ReferenceTruth {
  if (operator === '=') return equal(a, b)
  if (operator === '<>') return negation(equal(a, b))
  const order = compare(a, b)
  if (order === null) return null
  if (operator === '<') return order < 0
  if (operator === '<=') return order <= 0
  return operator === '>' ? order > 0 : order >= 0
}

function position(index: ReferenceValue, length: number): number {
  if (typeof index !== 'bigint') throw new ReferenceEvaluationError('a list index is an integer')
  const at = Number(index)
  return at < 0 ? length + at : at
}

// ---------------------------------------------------------------- expressions

/** `group` is set where aggregates are allowed: the rows that an aggregate runs over. */
export function evaluate(
  expression: Expression,
  environment: Bindings,
  around: ReferenceContext,
  group: readonly Bindings[] | null = null,
): ReferenceValue {
  const value = (inner: Expression, inside = environment): ReferenceValue => evaluate(inner, inside, around, group)
  const truth = (inner: Expression, inside = environment): ReferenceTruth => asTruth(value(inner, inside))

  switch (expression.kind) {
    case 'integer':
      return BigInt(expression.value)
    case 'float':
    case 'string':
    case 'boolean':
      return expression.value
    case 'null':
      return null
    case 'list':
      return expression.items.map((item) => value(item))
    case 'map':
      return new Map(expression.entries.map((entry) => [entry.key.text, value(entry.value)]))
    case 'parameter': {
      const given = around.parameters.get(expression.name)
      if (given === undefined) throw new ReferenceEvaluationError(`missing parameter $${expression.name}`)
      return given
    }
    case 'variable': {
      const bound = environment.get(expression.name)
      if (bound === undefined) throw new NotInReference(`unknown variable ${expression.name}`)
      return bound
    }
    case 'property':
      return property(value(expression.target), expression.key.text)
    case 'index': {
      const [target, index] = [value(expression.target), value(expression.index)]
      if (target === null || index === null) return null
      if (isList(target)) return target[position(index, target.length)] ?? null
      if (typeof index !== 'string') throw new ReferenceEvaluationError('a key is a string')
      return property(target, index)
    }
    case 'slice': {
      const target = value(expression.target)
      const from = expression.from ? value(expression.from) : 0n
      if (target === null || from === null) return null
      if (!isList(target)) throw new ReferenceEvaluationError('only a list can be sliced')
      const to = expression.to ? value(expression.to) : BigInt(target.length)
      if (to === null) return null
      const [start, end] = [position(from, target.length), position(to, target.length)]
      return target.filter((_, index) => index >= start && index < end)
    }
    case 'label-test': {
      const target = value(expression.target)
      if (target === null) return null
      if (!isNode(target) && !isRelationship(target)) throw new ReferenceEvaluationError('only an element has labels')
      return matchesLabels(expression.labels, labelsOf(target))
    }
    case 'binary':
      return binary(expression, value, truth)
    case 'comparison': {
      const operands = [expression.first, ...expression.rest.map((link) => link.operand)].map((operand) =>
        value(operand),
      )
      return conjunction(
        expression.rest.map((link, index) =>
          ordered(link.operator, operands[index] as ReferenceValue, operands[index + 1] as ReferenceValue),
        ),
      )
    }
    case 'unary': {
      if (expression.operator === 'NOT') return negation(truth(expression.operand))
      const operand = value(expression.operand)
      if (operand === null) return null
      if (!isNumber(operand)) throw new ReferenceEvaluationError('a sign needs a number')
      if (expression.operator === '+') return operand
      return typeof operand === 'bigint' ? integer(-operand) : -operand
    }
    case 'null-test':
      return (value(expression.operand) === null) !== expression.negated
    case 'value-test': {
      const operand = value(expression.operand)
      const { test } = expression
      if (test.kind === 'type') return isOfType(operand, test.types) !== expression.negated
      if (typeof operand !== 'string') return null
      return (operand.normalize(test.form) === operand) !== expression.negated
    }
    case 'case-operand':
      return environment.get('case operand') ?? null
    case 'case':
      return chosen(
        expression,
        (inner, subject) =>
          value(inner, subject === undefined ? environment : bind(environment, 'case operand', subject)),
        around.possibleRows !== null,
      )
    case 'count-star':
      if (!group) throw new NotInReference('an aggregate is not allowed here')
      return BigInt(group.length)
    case 'function':
      if (AGGREGATES.has(expression.name.text.toLowerCase())) {
        const [argument, second] = expression.args
        if (!group || !argument) throw new NotInReference('an aggregate is not allowed here')
        const values = group.map((row) => evaluate(argument, row, around))
        const parameter = second && group[0] ? evaluate(second, group[0], around) : null
        return aggregate(expression.name.text, values, parameter, expression.distinct, around.identities)
      }
      return callFunction(
        expression.name.text,
        expression.args.map((arg) => value(arg)),
      )
    case 'list-comprehension': {
      const { variable, where, projection } = expression
      const list = listOrNull(value(expression.list))
      if (list === null) return null
      return list
        .map((item) => bind(environment, variable.text, item))
        .filter((inside) => where === null || truth(where, inside) === true)
        .map((inside) => value(projection ?? { kind: 'variable', name: variable.text, span: variable.span }, inside))
    }
    case 'quantifier': {
      const { variable, where, quantifier } = expression
      const list = listOrNull(value(expression.list))
      if (list === null || where === null) return null
      const truths = list.map((item) => truth(where, bind(environment, variable.text, item)))
      if (quantifier === 'all') return conjunction(truths)
      if (quantifier === 'any') return disjunction(truths)
      if (quantifier === 'none') return negation(disjunction(truths))
      const hits = truths.filter((each) => each === true).length
      if (hits > 1) return false
      return truths.includes(null) ? null : hits === 1
    }
    case 'reduce': {
      const list = listOrNull(value(expression.list))
      if (list === null) return null
      const step = (sum: ReferenceValue, item: ReferenceValue): ReferenceValue =>
        value(
          expression.expression,
          bind(bind(environment, expression.accumulator.text, sum), expression.variable.text, item),
        )
      const { condition } = expression
      if (condition === null) return list.reduce(step, value(expression.initial))
      let sum = value(expression.initial)
      const truths = list.map((item) => {
        sum = step(sum, item)
        return truth(condition, bind(environment, expression.accumulator.text, sum))
      })
      return conjunction(truths)
    }
    case 'pattern-predicate':
    case 'exists': {
      const body = expression.kind === 'exists' ? expression.body : expression.pattern
      if (around.rows(body, null, environment).length > 0) return true
      const possible = around.possibleRows?.(body, null, environment) ?? []
      return possible.length > 0 ? null : false
    }
    case 'count-subquery': {
      const count = around.rows(expression.body, null, environment).length
      const possible = around.possibleRows?.(expression.body, null, environment).length ?? count
      return possible === count ? BigInt(count) : null
    }
    case 'collect-subquery': {
      // Unlike collect(), it keeps nulls.
      const body: SubqueryBody = { kind: 'query', query: expression.query }
      return around.rows(body, null, environment).map((row) => [...row.values()][0] ?? null)
    }
    case 'pattern-comprehension':
      return around
        .rows(expression.pattern, expression.where, environment)
        .map((row) => value(expression.projection, row))
    case 'map-projection':
      return mapProjection(expression, value)
  }
}

function binary(
  expression: Binary,
  value: (e: Expression) => ReferenceValue,
  truth: (e: Expression) => ReferenceTruth,
): ReferenceValue {
  const { operator, left, right } = expression
  switch (operator) {
    case 'AND':
      return conjunction([truth(left), truth(right)])
    case 'OR':
      return disjunction([truth(left), truth(right)])
    case 'XOR': {
      const [a, b] = [truth(left), truth(right)]
      return a === null || b === null ? null : a !== b
    }
    case 'IN': {
      const [item, list] = [value(left), listOrNull(value(right))]
      return list === null ? null : member(item, list)
    }
    case 'STARTS WITH':
    case 'ENDS WITH':
    case 'CONTAINS':
    case '=~':
      return textTest(operator, value(left), value(right))
    case '||': {
      const [a, b] = [value(left), value(right)]
      if (a === null || b === null) return null
      if (typeof a === 'string' && typeof b === 'string') return a + b
      if (isList(a) && isList(b)) return [...a, ...b]
      throw new ReferenceEvaluationError('`||` takes two strings or two lists')
    }
    default:
      return arithmetic(operator, value(left), value(right))
  }
}

function mapProjection(expression: MapProjection, value: (e: Expression) => ReferenceValue): ReferenceValue {
  const { text: name, span } = expression.variable
  const of = value({ kind: 'variable', name, span })
  if (of === null) return null
  const all = expression.items.some((item) => item.kind === 'all')
  const map = new Map<string, ReferenceValue>(
    all ? (isMap(of) ? of : (property(of, 'property') as ReadonlyMap<string, ReferenceValue>)) : [],
  )
  for (const item of expression.items) {
    if (item.kind === 'property') map.set(item.key.text, property(of, item.key.text))
    else if (item.kind === 'entry') map.set(item.key.text, value(item.value))
    else if (item.kind === 'variable') {
      map.set(item.variable.text, value({ kind: 'variable', name: item.variable.text, span: item.span }))
    }
  }
  return map
}

function listOrNull(value: ReferenceValue): readonly ReferenceValue[] | null {
  if (value === null || isList(value)) return value
  throw new ReferenceEvaluationError('a list is expected')
}

/** Whether a test of CASE is a condition whose leftmost operand is the subject. */
function readsSubject(test: Expression): boolean {
  if (test.kind === 'comparison') return test.first.kind === 'case-operand'
  if (test.kind === 'binary') return test.left.kind === 'case-operand'
  return (test.kind === 'null-test' || test.kind === 'value-test') && test.operand.kind === 'case-operand'
}

function isOfType(value: ReferenceValue, types: readonly ValueType[]): boolean {
  return types.some(({ name, items, nullable }) => {
    if (value === null) return nullable && name !== 'NOTHING'
    if (name === 'ANY') return true
    if (name === 'LIST') return isList(value) && value.every((item) => isOfType(item, items ?? []))
    return name === typeName(value)
  })
}

function typeName(value: ReferenceValue): string {
  if (typeof value === 'boolean') return 'BOOLEAN'
  if (typeof value === 'string') return 'STRING'
  if (typeof value === 'bigint') return 'INTEGER'
  if (typeof value === 'number') return 'FLOAT'
  if (value !== null && isNode(value)) return 'NODE'
  if (value !== null && isRelationship(value)) return 'RELATIONSHIP'
  return value !== null && isMap(value) ? 'MAP' : 'unknown'
}

/** CASE: the first branch that is true; null is not true, unless `endsAtNull`: then the value is null. */
function chosen(
  expression: Case,
  value: (e: Expression, subject?: ReferenceValue) => ReferenceValue,
  endsAtNull: boolean,
): ReferenceValue {
  const subject = expression.subject ? value(expression.subject) : null
  for (const { when, then } of expression.branches) {
    const hits = when.map((test) => {
      if (expression.subject === null) return asTruth(value(test))
      return readsSubject(test) ? asTruth(value(test, subject)) : equal(subject, value(test))
    })
    if (hits.includes(true)) return value(then)
    if (endsAtNull && hits.includes(null)) return null
  }
  return expression.otherwise ? value(expression.otherwise) : null
}
