// The scope of an expression: what the expression binder uses of the clause that contains the expression.
import type { PathPattern, PatternComprehension, Query, Span, SubqueryBody } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import type { BoundAggregate, BoundExpression, NamedSymbol, Slot, SlotKind } from './bound.ts'

/**
 * The position of an expression. `condition`: a boolean is expected, and a pattern predicate is allowed. `column`: a value is
 * expected, and a pattern predicate is not allowed. `open`: unknown; a pattern predicate is allowed at the top.
 */
export type ExpressionPosition = 'condition' | 'column' | 'open'

/** The names in scope of an expression, and where its subqueries, parameters, aggregates and diagnostics go. */
export interface ExpressionScope {
  /** The slot of a variable; undefined if it is not in scope. */
  lookup(name: string): Slot | undefined
  /** The variables whose `_final_score` is that of their trust score; null: texts of the dialect do not read scores. */
  readonly scoredVariables: readonly string[] | null
  /** Whether a function may differ for the same input, such as `rand()`. */
  readonly allowsImpure: boolean
  /** Whether a relationship type is derived by a definition. */
  isDerived(type: string): boolean
  /** The names in scope, for suggestions. */
  names(): readonly string[]
  /** Declares a local variable with a new slot while `body` runs (comprehensions, quantifiers). */
  withLocal<T>(name: string, kind: SlotKind, body: (slot: Slot) => T): T
  /** Records that the text reads `$name`. Reports reserved names. */
  parameter(name: string, span: Span): void
  /** Records what the text names in the graph. */
  nameSymbol(symbol: NamedSymbol): void
  /** Binds a pattern predicate or the body of EXISTS { }. */
  exists(body: SubqueryBody | PathPattern, span: Span): BoundExpression
  /** Binds the body of COUNT { }. */
  count(body: SubqueryBody, span: Span): BoundExpression
  /** Binds the body of COLLECT { }. */
  collect(query: Query, span: Span): BoundExpression
  /** Binds a pattern comprehension. */
  comprehension(ast: PatternComprehension): BoundExpression
  /** Adds a diagnostic. */
  report(diagnostic: Diagnostic): void
  /**
   * Registers an aggregate and returns the slot of its result. Null where aggregates are not allowed (WHERE, inline maps,
   * inside another aggregate).
   */
  readonly aggregates: ((aggregate: Omit<BoundAggregate, 'slot'>) => Slot) | null
  /** The same scope with `aggregates` null, for the arguments of an aggregate. */
  withoutAggregates(): ExpressionScope
}
