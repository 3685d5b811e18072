// What every kind of expression is bound with: its scope, what is known of its local variables, how deep it stands, and
// where issues go. How each kind is bound is handed in, so that the kinds reach into one another without importing it.
import type { Expression, PathPattern, Span } from '../../../grammar/ast.ts'
import { ANY, kindWithArticle, mayBeOneOf, type StaticKind, type StaticType, staticType } from '../value/static-type.ts'
import type { BoundExpression, Slot, SlotKind } from './bound.ts'
import type { ExpressionPosition, ExpressionScope } from './expression-scope.ts'
import { booleanExpression, INVALID_EXPRESSION, type TypedExpression } from './typed-expression.ts'

export type BindKind = (ast: Expression, binder: ExpressionBinder) => TypedExpression

// Deeper than any text a person writes, and far from the end of the stack of every later pass.
const DEPTH_MAX = 500

const SLOT_TYPES: Readonly<Record<SlotKind, StaticType>> = {
  node: staticType('node'),
  relationship: staticType('relationship'),
  relationships: staticType('list', staticType('relationship')),
  path: staticType('path'),
  value: ANY,
}

export class ExpressionBinder {
  readonly scope: ExpressionScope
  readonly insideAggregate: boolean
  /** Set when a function was met that may answer otherwise the next time. */
  impure = false
  private readonly bindKind: BindKind
  /** What is known of comprehension variables, by slot. */
  private readonly locals: Map<number, StaticType>
  private depth = 0

  constructor(
    scope: ExpressionScope,
    bindKind: BindKind,
    insideAggregate = false,
    locals: Map<number, StaticType> = new Map(),
  ) {
    this.scope = scope
    this.bindKind = bindKind
    this.insideAggregate = insideAggregate
    this.locals = locals
  }

  bindAt(ast: Expression, place: ExpressionPosition): TypedExpression {
    if (ast.kind === 'pattern-predicate' && place !== 'column') return this.pattern(ast.pattern, ast.span)
    const typed = this.bind(ast)
    if (place === 'condition') this.expect(['boolean'], typed.type, ast.span, 'a condition')
    return typed
  }

  condition(ast: Expression): BoundExpression {
    return this.bindAt(ast, 'condition').bound
  }

  bind(ast: Expression): TypedExpression {
    if (this.depth >= DEPTH_MAX) {
      this.report('NestingTooDeep', `the expression is nested deeper than ${DEPTH_MAX} levels`, ast.span)
      return INVALID_EXPRESSION
    }
    this.depth += 1
    try {
      return this.bindKind(ast, this)
    } finally {
      this.depth -= 1
    }
  }

  pattern(pattern: PathPattern, span: Span): TypedExpression {
    return booleanExpression(this.scope.exists(pattern, span))
  }

  slot(slot: Slot): TypedExpression {
    return { bound: { kind: 'slot', slot }, type: this.locals.get(slot.index) ?? slot.type ?? SLOT_TYPES[slot.kind] }
  }

  /** For what an aggregate takes: no aggregate stands in another. */
  ofArguments(): ExpressionBinder {
    return new ExpressionBinder(this.scope.withoutAggregates(), this.bindKind, true, this.locals)
  }

  /** Binds `body` with a variable over the items of a list. Aggregates cannot run once per item. */
  overItems<T>(name: string, item: StaticType, body: (inner: ExpressionBinder, variable: Slot) => T): T {
    const scope = this.scope.withoutAggregates()
    const inner = new ExpressionBinder(scope, this.bindKind, this.insideAggregate, new Map(this.locals))
    inner.depth = this.depth
    const result = scope.withLocal(name, 'value', (variable) => {
      inner.locals.set(variable.index, item)
      return body(inner, variable)
    })
    this.impure ||= inner.impure
    return result
  }

  /** False, and an issue, where the value can be none of these kinds. */
  expect(kinds: readonly StaticKind[], type: StaticType, span: Span, what: string): boolean {
    if (mayBeOneOf(kinds, type.kind)) return true
    const wanted = kinds.map(kindWithArticle).join(' or ')
    this.report('InvalidArgumentType', `${what} takes ${wanted}, not ${kindWithArticle(type.kind)}`, span)
    return false
  }

  report(code: string, message: string, span: Span): void {
    this.scope.report({ code, message, span })
  }
}
