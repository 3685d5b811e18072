// Expressions of the text → bound expressions: variables become slots, functions and aggregates are checked words, and
// what could never run is refused with its place in the text. Every kind of expression is either bound or refused.
import type {
  Binary,
  Case,
  Comparison,
  Expression,
  FunctionCall,
  ListComprehension,
  MapProjection,
  PropertyAccess,
  Quantifier,
  Reduce,
  Span,
} from '../../../grammar/ast.ts'
import { unreachable } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'
import { suggestion } from '../../kernel/suggest.ts'
import type { OwnField } from '../store.ts'
import { aggregateNamed, aggregateNames } from '../value/aggregates.ts'
import { nodeFieldNamed } from '../value/element.ts'
import { functionNamed, functionNames, MAP_PROJECTION } from '../value/functions.ts'
import { compilePattern } from '../value/pattern.ts'
import {
  ANY,
  admits,
  arithmeticType,
  join,
  type Kind,
  kindPhrase,
  numberType,
  type StaticType,
  sumType,
  typeOf,
} from '../value/static-type.ts'
import type { Value } from '../value/value.ts'
import { bindLabels } from './bind-labels.ts'
import type { BoundExpression, Slot, SlotKind } from './bound.ts'
import type { ExpressionScope } from './scope.ts'

/**
 * Where an expression stands. `condition`: a truth is expected, and a pattern may stand for one. `column`: a value is
 * expected, and a pattern may not. `open`: the caller does not say; a pattern may stand at the top.
 */
export type Place = 'condition' | 'column' | 'open'

/** Issues go to the scope; what is returned beside an issue is not to be run. */
export function bindExpression(ast: Expression, scope: ExpressionScope, place: Place = 'open'): BoundExpression {
  return bindTyped(ast, scope, place).bound
}

/** With what is known of the value before there is one. */
export function bindTyped(ast: Expression, scope: ExpressionScope, place: Place = 'open'): Typed {
  return new Binder(scope, false, new Map()).bindAt(ast, place)
}

export interface Typed {
  readonly bound: BoundExpression
  readonly type: StaticType
}

// Deeper than any text a person writes, and far from the end of the stack of every later pass.
const DEPTH_MAX = 500

const NOTHING: Typed = { bound: { kind: 'constant', value: null }, type: ANY }
const BOOLEAN = typeOf('boolean')

const SLOT_TYPES: Readonly<Record<SlotKind, StaticType>> = {
  node: typeOf('node'),
  relationship: typeOf('relationship'),
  relationships: typeOf('list', typeOf('relationship')),
  path: typeOf('path'),
  value: ANY,
}

class Binder {
  private readonly scope: ExpressionScope
  private readonly insideAggregate: boolean
  /** What is known of comprehension variables, by slot. */
  private readonly locals: Map<number, StaticType>
  private depth = 0
  /** Set when a function was met that may answer otherwise the next time. */
  private impure = false

  constructor(scope: ExpressionScope, insideAggregate: boolean, locals: Map<number, StaticType>) {
    this.scope = scope
    this.insideAggregate = insideAggregate
    this.locals = locals
  }

  bindAt(ast: Expression, place: Place): Typed {
    if (ast.kind === 'pattern-predicate' && place !== 'column') return this.pattern(ast.pattern, ast.span)
    const typed = this.bind(ast)
    if (place === 'condition') this.expect(['boolean'], typed.type, ast.span, 'a condition')
    return typed
  }

  private condition(ast: Expression): BoundExpression {
    return this.bindAt(ast, 'condition').bound
  }

  private bind(ast: Expression): Typed {
    if (this.depth >= DEPTH_MAX) {
      this.report('NestingTooDeep', `the expression is nested deeper than ${DEPTH_MAX} levels`, ast.span)
      return NOTHING
    }
    this.depth += 1
    try {
      return this.bindNode(ast)
    } finally {
      this.depth -= 1
    }
  }

  private bindNode(ast: Expression): Typed {
    switch (ast.kind) {
      case 'integer':
        return constant(ast.value, typeOf('integer'))
      case 'float':
        return constant(new Float(ast.value), typeOf('float'))
      case 'string':
        return constant(ast.value, typeOf('string'))
      case 'boolean':
        return constant(ast.value, BOOLEAN)
      case 'null':
        return constant(null, typeOf('null'))
      case 'list':
        return this.list(ast.items)
      case 'map':
        return this.map(ast.entries.map(({ key, value }) => ({ key: key.text, value: this.bind(value).bound })))
      case 'parameter':
        this.scope.parameter(ast.name, ast.span)
        return { bound: { kind: 'parameter', name: ast.name, path: [], span: ast.span }, type: ANY }
      case 'variable':
        return this.variable(ast.name, ast.span)
      case 'property':
        return this.property(ast)
      case 'index': {
        const target = this.bind(ast.target)
        const index = this.bind(ast.index).bound
        const type = target.type.item ?? ANY
        return { bound: { kind: 'index', target: target.bound, index, span: ast.span }, type }
      }
      case 'slice': {
        const target = this.bind(ast.target)
        this.expect(['list'], target.type, ast.target.span, 'a slice')
        const from = ast.from && this.bind(ast.from).bound
        const to = ast.to && this.bind(ast.to).bound
        return { bound: { kind: 'slice', target: target.bound, from, to, span: ast.span }, type: target.type }
      }
      case 'label-test': {
        const target = this.bind(ast.target)
        this.expect(['node', 'relationship'], target.type, ast.target.span, 'a label test')
        const labels = bindLabels(ast.labels)
        return { bound: { kind: 'label-test', target: target.bound, labels, span: ast.span }, type: BOOLEAN }
      }
      case 'binary':
        return this.binary(ast)
      case 'comparison':
        return this.comparison(ast)
      case 'unary':
        return ast.operator === 'NOT' ? this.not(ast.operand) : this.sign(ast.operator, ast.operand, ast.span)
      case 'null-test':
        return truth({ kind: 'null-test', operand: this.bind(ast.operand).bound, negated: ast.negated })
      case 'case':
        return this.caseOf(ast)
      case 'function':
        return this.call(ast)
      case 'count-star':
        return this.aggregate('count', false, [], ast.span)
      case 'list-comprehension':
        return this.listComprehension(ast)
      case 'quantifier':
        return this.quantifier(ast)
      case 'reduce':
        return this.reduce(ast)
      case 'map-projection':
        return this.mapProjection(ast)
      case 'exists':
        return truth(this.scope.exists(ast.body, ast.span))
      case 'pattern-predicate':
        this.report('UnexpectedSyntax', 'a pattern can only stand where a condition is expected', ast.span)
        return NOTHING
      case 'pattern-comprehension':
        return { bound: this.scope.comprehension(ast), type: typeOf('list') }
      case 'count-subquery':
        return { bound: this.scope.count(ast.body, ast.span), type: typeOf('integer') }
      case 'collect-subquery':
        return { bound: this.scope.collect(ast.query, ast.span), type: typeOf('list') }
      default:
        return unreachable(ast)
    }
  }

  // ---------------------------------------------------------------- names and access

  private variable(name: string, span: Span): Typed {
    const slot = this.scope.lookup(name)
    if (!slot) {
      const message = `variable \`${name}\` is not defined${suggestion(name, this.scope.names())}`
      this.report('UndefinedVariable', message, span)
      return NOTHING
    }
    return this.slot(slot)
  }

  private slot(slot: Slot): Typed {
    return { bound: { kind: 'slot', slot }, type: this.locals.get(slot.index) ?? slot.type ?? SLOT_TYPES[slot.kind] }
  }

  private property(ast: PropertyAccess): Typed {
    const { bound: target, type } = this.bind(ast.target)
    const key = ast.key.text
    if (target.kind === 'parameter') {
      return { bound: { ...target, path: [...target.path, key], span: ast.span }, type: ANY }
    }
    // Ruling G4: `n.property` is all captured properties, so `n.property.x` is the captured property x.
    if (target.kind === 'element-properties') {
      return { bound: { kind: 'element-property', slot: target.slot, key, own: null }, type: ANY }
    }
    if (target.kind === 'slot' && isElement(target.slot)) {
      const { slot } = target
      if (key === 'property') return { bound: { kind: 'element-properties', slot }, type: typeOf('map') }
      return { bound: { kind: 'element-property', slot, key, own: ownFieldOf(key, slot) }, type: ANY }
    }
    this.expect(['map', 'node', 'relationship', 'temporal'], type, ast.target.span, `property \`${key}\``)
    return { bound: { kind: 'property', target, key, span: ast.span }, type: ANY }
  }

  // ---------------------------------------------------------------- literals

  private list(asts: readonly Expression[]): Typed {
    const items = asts.map((item) => this.bind(item))
    const type = typeOf('list', join(items.map((item) => item.type)))
    const values = items.map((item) => item.bound)
    if (values.every(isConstant))
      return constant(
        values.map((item) => item.value),
        type,
      )
    return { bound: { kind: 'list', items: values }, type }
  }

  private map(entries: readonly { readonly key: string; readonly value: BoundExpression }[]): Typed {
    const type = typeOf('map')
    if (entries.every((entry) => entry.value.kind === 'constant')) {
      return constant(new Map(entries.map(({ key, value }) => [key, (value as Constant).value])), type)
    }
    return { bound: { kind: 'map', entries }, type }
  }

  // ---------------------------------------------------------------- operators

  private binary(ast: Binary): Typed {
    const { operator } = ast
    if (operator === 'AND' || operator === 'OR') return this.junction(ast, operator)
    if (operator === 'XOR') {
      return truth({ kind: 'xor', left: this.condition(ast.left), right: this.condition(ast.right) })
    }
    const left = this.bind(ast.left)
    const right = this.bind(ast.right)
    const bound: BoundExpression = { kind: 'binary', operator, left: left.bound, right: right.bound, span: ast.span }
    switch (operator) {
      case 'IN':
        this.expect(['list'], right.type, ast.right.span, '`IN`')
        return truth(bound)
      case 'STARTS WITH':
      case 'ENDS WITH':
      case 'CONTAINS':
        return truth(bound)
      case '=~':
        this.checkPattern(right.bound, ast.right.span)
        return truth(bound)
      case '+':
        return { bound, type: this.sum(left.type, right.type, ast.span) }
      default: {
        const takes: readonly Kind[] = operator === '%' || operator === '^' ? ['number'] : ['number', 'temporal']
        this.expect(takes, left.type, ast.left.span, `\`${operator}\``)
        this.expect(takes, right.type, ast.right.span, `\`${operator}\``)
        return { bound, type: operator === '^' ? typeOf('float') : arithmeticType(operator, left.type, right.type) }
      }
    }
  }

  private checkPattern(bound: BoundExpression, span: Span): void {
    if (bound.kind !== 'constant' || typeof bound.value !== 'string') return
    const compiled = compilePattern(bound.value)
    if (!compiled.ok) this.report('InvalidRegularExpression', `not a pattern: ${compiled.error}`, span)
  }

  private sum(left: StaticType, right: StaticType, span: Span): StaticType {
    const type = sumType(left, right)
    if (type !== null) return type
    const message = `\`+\` does not take ${kindPhrase(left.kind)} and ${kindPhrase(right.kind)}`
    this.report('InvalidArgumentType', message, span)
    return ANY
  }

  /** `a AND b AND c` leans to the left in the tree: its spine is walked in a loop, so that it may be as long as it likes. */
  private junction(ast: Binary, operator: 'AND' | 'OR'): Typed {
    const kind = operator === 'AND' ? 'and' : 'or'
    const asts: Expression[] = []
    let spine: Expression = ast
    while (spine.kind === 'binary' && spine.operator === operator) {
      asts.push(spine.right)
      spine = spine.left
    }
    asts.push(spine)
    const operands = asts.reverse().flatMap((operand) => {
      const bound = this.condition(operand)
      return bound.kind === kind ? bound.operands : [bound]
    })
    return truth({ kind, operands })
  }

  private not(operand: Expression): Typed {
    return truth({ kind: 'not', operand: this.condition(operand) })
  }

  private sign(operator: '-' | '+', ast: Expression, span: Span): Typed {
    const { bound: operand, type } = this.bind(ast)
    this.expect(['number'], type, ast.span, `\`${operator}\``)
    if (operator === '+') {
      // Times 1 is the same number, and a fault for what is none.
      return { bound: { kind: 'binary', operator: '*', left: one, right: operand, span }, type: numberType(type, type) }
    }
    if (isConstant(operand)) {
      if (typeof operand.value === 'number') return constant(0 - operand.value, type)
      if (operand.value instanceof Float) return constant(new Float(-operand.value.value), type)
    }
    return { bound: { kind: 'negate', operand, span }, type: numberType(type, type) }
  }

  private comparison(ast: Comparison): Typed {
    const links: BoundExpression[] = []
    let left = this.bind(ast.first).bound
    for (const { operator, operand } of ast.rest) {
      const right = this.bind(operand).bound
      links.push({ kind: 'comparison', operator, left, right })
      left = right
    }
    return truth(links.length === 1 ? links[0]! : { kind: 'and', operands: links })
  }

  private caseOf(ast: Case): Typed {
    const subject = ast.subject && this.bind(ast.subject).bound
    const types: StaticType[] = []
    const value = (expression: Expression): BoundExpression => {
      const typed = this.bind(expression)
      types.push(typed.type)
      return typed.bound
    }
    const branches = ast.branches.map(({ when, then }) => ({
      when: subject ? this.bind(when).bound : this.condition(when),
      then: value(then),
    }))
    const otherwise = ast.otherwise && value(ast.otherwise)
    return { bound: { kind: 'case', subject, branches, otherwise }, type: join(types) }
  }

  // ---------------------------------------------------------------- calls

  private call(ast: FunctionCall): Typed {
    const name = ast.name.text
    const aggregate = aggregateNamed(name)
    if (aggregate) {
      if (!this.arity(aggregate.name, aggregate.args, aggregate.args, ast)) return NOTHING
      return this.aggregate(aggregate.name, ast.distinct, ast.args, ast.span)
    }
    if (ast.distinct) this.report('UnexpectedSyntax', `DISTINCT belongs to aggregates, not to ${name}()`, ast.span)
    if (name.toLowerCase() === 'exists') return this.existsCall(ast)
    const entry = functionNamed(name)
    if (!entry) {
      const known = [...functionNames(), ...aggregateNames()]
      this.report('UnknownFunction', `there is no function \`${name}\`${suggestion(name, known)}`, ast.name.span)
      return NOTHING
    }
    if (!this.arity(entry.name, entry.min, entry.max, ast)) return NOTHING
    if (!entry.pure) this.impure = true
    const args = ast.args.map((arg, i) => {
      const { bound, type } = this.bind(arg)
      this.expect(entry.takes[i] ?? ['any'], type, arg.span, `${entry.name}()`)
      return bound
    })
    const first = args[0]
    if (entry.name === 'properties' && first?.kind === 'slot' && isElement(first.slot)) {
      return { bound: { kind: 'element-properties', slot: first.slot }, type: typeOf('map') }
    }
    return { bound: { kind: 'function', name: entry.name, args, span: ast.span }, type: entry.gives }
  }

  private arity(name: string, min: number, max: number, ast: FunctionCall): boolean {
    const given = ast.args.length
    if (given >= min && given <= max) return true
    const wanted = min === max ? String(min) : max === Number.POSITIVE_INFINITY ? `${min} or more` : `${min} to ${max}`
    const noun = wanted === '1' ? 'argument' : 'arguments'
    this.report('InvalidNumberOfArguments', `${name}() takes ${wanted} ${noun}, not ${given}`, ast.span)
    return false
  }

  /** `exists(n.x)`: the property is there. `exists((n)-->())`: the pattern is. */
  private existsCall(ast: FunctionCall): Typed {
    if (!this.arity('exists', 1, 1, ast)) return NOTHING
    const arg = ast.args[0]!
    if (arg.kind === 'pattern-predicate') return this.pattern(arg.pattern, ast.span)
    if (arg.kind !== 'property' && arg.kind !== 'index') {
      this.report('InvalidArgumentType', 'exists() takes a property or a pattern', arg.span)
      return NOTHING
    }
    return truth({ kind: 'null-test', operand: this.bind(arg).bound, negated: true })
  }

  private pattern(pattern: Parameters<ExpressionScope['exists']>[0], span: Span): Typed {
    return truth(this.scope.exists(pattern, span))
  }

  private aggregate(name: string, distinct: boolean, args: readonly Expression[], span: Span): Typed {
    const sink = this.scope.aggregates
    if (!sink) {
      if (this.insideAggregate)
        this.report('NestedAggregation', `${name}() cannot stand inside another aggregate`, span)
      else this.report('InvalidAggregation', `${name}() cannot stand here: aggregates belong to WITH and RETURN`, span)
      return NOTHING
    }
    const inner = new Binder(this.scope.withoutAggregates(), true, this.locals)
    const [argument = null, parameter = null] = args.map((arg) => inner.bind(arg).bound)
    if (inner.impure) {
      this.report('NonConstantExpression', `${name}() cannot aggregate a random or changing value`, span)
    }
    const slot = sink({ name, distinct, argument, parameter })
    const type = name === 'count' ? typeOf('integer') : name === 'collect' ? typeOf('list') : ANY
    return { bound: { kind: 'slot', slot }, type }
  }

  // ---------------------------------------------------------------- local variables

  /** Binds `body` with a variable over the items of a list. Aggregates cannot run once per item. */
  private overItems<T>(name: string, item: StaticType, body: (inner: Binder, variable: Slot) => T): T {
    const scope = this.scope.withoutAggregates()
    const inner = new Binder(scope, this.insideAggregate, new Map(this.locals))
    inner.depth = this.depth
    const result = scope.withLocal(name, 'value', (variable) => {
      inner.locals.set(variable.index, item)
      return body(inner, variable)
    })
    this.impure ||= inner.impure
    return result
  }

  private items(ast: Expression, what: string): { readonly list: BoundExpression; readonly item: StaticType } {
    const { bound: list, type } = this.bind(ast)
    this.expect(['list'], type, ast.span, what)
    return { list, item: type.item ?? ANY }
  }

  private listComprehension(ast: ListComprehension): Typed {
    const { list, item } = this.items(ast.list, 'a list comprehension')
    return this.overItems(ast.variable.text, item, (inner, variable) => {
      const where = ast.where && inner.condition(ast.where)
      const projection = ast.projection && inner.bind(ast.projection)
      return {
        bound: {
          kind: 'list-comprehension',
          variable,
          list,
          where,
          projection: projection?.bound ?? null,
          span: ast.span,
        },
        type: typeOf('list', projection ? projection.type : item),
      }
    })
  }

  private quantifier(ast: Quantifier): Typed {
    const { list, item } = this.items(ast.list, `${ast.quantifier}()`)
    const condition = ast.where
    if (!condition) {
      this.report('UnexpectedSyntax', `${ast.quantifier}() needs WHERE and a condition`, ast.span)
      return NOTHING
    }
    return this.overItems(ast.variable.text, item, (inner, variable) => {
      const where = inner.condition(condition)
      return truth({ kind: 'quantifier', quantifier: ast.quantifier, variable, list, where, span: ast.span })
    })
  }

  private reduce(ast: Reduce): Typed {
    const initial = this.bind(ast.initial)
    const { list, item } = this.items(ast.list, 'reduce()')
    // The accumulator's type may change from step to step, so nothing is said of it.
    return this.overItems(ast.accumulator.text, ANY, (outer, accumulator) =>
      outer.overItems(ast.variable.text, item, (inner, variable) => {
        const expression = inner.bind(ast.expression).bound
        return {
          bound: { kind: 'reduce', accumulator, initial: initial.bound, variable, list, expression, span: ast.span },
          type: ANY,
        }
      }),
    )
  }

  /** `n {.a, b: 1, c, .*}`: null for null, else all properties (with `.*`) under the entries. */
  private mapProjection(ast: MapProjection): Typed {
    const base = this.variable(ast.variable.text, ast.variable.span)
    if (!this.expect(['map', 'node', 'relationship'], base.type, ast.variable.span, 'a map projection')) return NOTHING
    const target: Expression = { kind: 'variable', name: ast.variable.text, span: ast.variable.span }
    let all = false
    const entries: { key: string; value: BoundExpression }[] = []
    for (const item of ast.items) {
      if (item.kind === 'all') all = true
      else if (item.kind === 'entry') entries.push({ key: item.key.text, value: this.bind(item.value).bound })
      else if (item.kind === 'variable') {
        const { text, span } = item.variable
        entries.push({ key: text, value: this.variable(text, span).bound })
      } else {
        const value = this.bind({ kind: 'property', target, key: item.key, span: item.span }).bound
        entries.push({ key: item.key.text, value })
      }
    }
    const args: BoundExpression[] = [base.bound, this.map(entries).bound, { kind: 'constant', value: all }]
    return { bound: { kind: 'function', name: MAP_PROJECTION, args, span: ast.span }, type: typeOf('map') }
  }

  // ---------------------------------------------------------------- issues

  private expect(kinds: readonly Kind[], type: StaticType, span: Span, what: string): boolean {
    if (admits(kinds, type.kind)) return true
    const wanted = kinds.map(kindPhrase).join(' or ')
    this.report('InvalidArgumentType', `${what} takes ${wanted}, not ${kindPhrase(type.kind)}`, span)
    return false
  }

  private report(code: string, message: string, span: Span): void {
    this.scope.report({ code, message, span })
  }
}

/** Ruling G4 gives own fields to nodes alone: `r.type` is a captured property, type(r) the relationship's type. */
export function ownFieldOf(key: string, slot: Slot): OwnField | null {
  return slot.kind === 'node' ? nodeFieldNamed(key) : null
}

type Constant = Extract<BoundExpression, { kind: 'constant' }>

const one: BoundExpression = { kind: 'constant', value: 1 }

function constant(value: Value, type: StaticType): Typed {
  return { bound: { kind: 'constant', value }, type }
}

function truth(bound: BoundExpression): Typed {
  return { bound, type: BOOLEAN }
}

function isConstant(bound: BoundExpression): bound is Constant {
  return bound.kind === 'constant'
}

function isElement(slot: Slot): boolean {
  return slot.kind === 'node' || slot.kind === 'relationship'
}
