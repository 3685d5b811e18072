// The state that all kinds of expressions are bound with: the scope, the types of local variables, the depth of nesting and
// the diagnostics. The function that binds a kind is passed in, because the modules of the kinds call each other.
import type { Expression, PathPattern, Span } from '../../../grammar/ast.ts'
import { ANY, kindWithArticle, mayBeOneOf, type StaticKind, type StaticType, staticType } from '../value/static-type.ts'
import type { BoundExpression, NamedSymbol, Slot, SlotKind } from './bound.ts'
import type { ExpressionPosition, ExpressionScope } from './expression-scope.ts'
import { booleanExpression, INVALID_EXPRESSION, type TypedExpression } from './typed-expression.ts'

/** Binds an expression by its kind. */
type BindKind = (ast: Expression, binder: ExpressionBinder) => TypedExpression

// Deeper than any text that a person writes, and far from the stack limit of every later pass.
const DEPTH_MAX = 500

const SLOT_TYPES: Readonly<Record<SlotKind, StaticType>> = {
  node: staticType('node'),
  relationship: staticType('relationship'),
  relationships: staticType('list', staticType('relationship')),
  path: staticType('path'),
  value: ANY,
}

/** Binds the parts of one expression. */
export class ExpressionBinder {
  readonly scope: ExpressionScope
  readonly insideAggregate: boolean
  /** False if the expression calls a function whose value can change from call to call. */
  isPure = true
  private readonly bindKind: BindKind
  /** Static types of local variables, by slot index. */
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

  /** Binds an expression at a position: only some positions allow a pattern predicate, a condition must be boolean. */
  bindAt(ast: Expression, position: ExpressionPosition): TypedExpression {
    if (ast.kind === 'pattern-predicate' && position !== 'column') return this.pattern(ast.pattern, ast.span)
    const typed = this.bind(ast)
    if (position === 'condition') this.expect(['boolean'], typed.type, ast.span, 'a condition')
    return typed
  }

  /** Binds an expression that must be boolean. */
  condition(ast: Expression): BoundExpression {
    return this.bindAt(ast, 'condition').bound
  }

  /** Binds an expression of any kind. Reports `NestingTooDeep` beyond the limit. */
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

  /** Binds a pattern predicate. */
  pattern(pattern: PathPattern, span: Span): TypedExpression {
    return booleanExpression(this.scope.exists(pattern, span))
  }

  /** The content of a slot, with its static type. */
  slot(slot: Slot): TypedExpression {
    return { bound: { kind: 'slot', slot }, type: this.locals.get(slot.index) ?? slot.type ?? SLOT_TYPES[slot.kind] }
  }

  /** The binder for the arguments of an aggregate, in which no other aggregate is allowed. */
  ofArguments(): ExpressionBinder {
    return new ExpressionBinder(this.scope.withoutAggregates(), this.bindKind, true, this.locals)
  }

  /** Binds `body` with a local variable for the items of a list. Aggregates are not allowed, as they do not run per item. */
  overItems<T>(name: string, item: StaticType, body: (inner: ExpressionBinder, variable: Slot) => T): T {
    const scope = this.scope.withoutAggregates()
    const inner = new ExpressionBinder(scope, this.bindKind, this.insideAggregate, new Map(this.locals))
    inner.depth = this.depth
    const result = scope.withLocal(name, 'value', (variable) => {
      inner.locals.set(variable.index, item)
      return body(inner, variable)
    })
    this.isPure &&= inner.isPure
    return result
  }

  /** Whether the value can be of one of these kinds. If not, reports `InvalidArgumentType`; `what` names the operation. */
  expect(kinds: readonly StaticKind[], type: StaticType, span: Span, what: string): boolean {
    if (mayBeOneOf(kinds, type.kind)) return true
    const wanted = kinds.map(kindWithArticle).join(' or ')
    this.report('InvalidArgumentType', `${what} takes ${wanted}, not ${kindWithArticle(type.kind)}`, span)
    return false
  }

  /** Records what the text names in the graph. */
  nameSymbol(symbol: NamedSymbol): void {
    this.scope.nameSymbol(symbol)
  }

  /** Adds a diagnostic. */
  report(code: string, message: string, span: Span): void {
    this.scope.report({ code, message, span })
  }
}
