// What an expression may ask of its surroundings while it is bound.
import type { PathPattern, PatternComprehension, Query, Span, SubqueryBody } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import type { BoundAggregate, BoundExpression, Slot, SlotKind } from './bound.ts'

/**
 * Where an expression stands. `condition`: a truth is expected, and a pattern may stand for one. `column`: a value is
 * expected, and a pattern may not. `open`: the caller does not say; a pattern may stand at the top.
 */
export type ExpressionPosition = 'condition' | 'column' | 'open'

export interface ExpressionScope {
  lookup(name: string): Slot | undefined
  /** Names in scope, for suggestions. */
  names(): readonly string[]
  /** A fresh value slot under that name, visible while `body` binds (comprehension and quantifier variables). */
  withLocal<T>(name: string, kind: SlotKind, body: (slot: Slot) => T): T
  /** Records that the text reads `$name`. */
  parameter(name: string, span: Span): void
  /** Binds a pattern predicate or EXISTS body against this scope. */
  exists(body: SubqueryBody | PathPattern, span: Span): BoundExpression
  /** Binds COUNT { }. */
  count(body: SubqueryBody, span: Span): BoundExpression
  /** Binds COLLECT { }. */
  collect(query: Query, span: Span): BoundExpression
  comprehension(ast: PatternComprehension): BoundExpression
  report(issue: Diagnostic): void
  /**
   * Null where aggregates are refused (WHERE, inline maps, inside another aggregate); else takes the aggregate and
   * returns the slot that stands for its result.
   */
  readonly aggregates: ((aggregate: Omit<BoundAggregate, 'slot'>) => Slot) | null
  /** The scope inside an aggregate's argument: the same, with `aggregates` null. */
  withoutAggregates(): ExpressionScope
}
