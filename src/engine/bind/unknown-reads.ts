// Marks the property reads that may treat a value as unknown (null) if an external resolver supplies it. Such a read can only
// drop a row, whatever the value is: in three-valued logic a comparison with unknown is unknown, also under NOT, and what is
// true with unknown is true with every value. A dropped row must not let another row in, so reads below an aggregation, SKIP
// or LIMIT, an optional match, a shortest path, or EXISTS under NOT stay unmarked. An unmarked read of such a property fails.
import { assertNever } from '../../kernel/assert.ts'
import type { BoundClause, BoundExpression, BoundMatch, BoundPart } from './bound.ts'
import { mapStepPredicates } from './step-predicates.ts'

/** The same query with these reads marked (`mayBeUnknown`). */
export function markUnknownReads<P extends BoundPart>(query: P): P {
  return query.clauses.some(dependsOnRows) ? query : { ...query, clauses: query.clauses.map(markClause) }
}

/** Whether what a row contributes depends on other rows. */
export function dependsOnRows(clause: BoundClause): boolean {
  switch (clause.kind) {
    case 'projection': {
      const { aggregates, grouping, skip, limit } = clause.projection
      return aggregates.length > 0 || grouping !== null || skip !== null || limit !== null
    }
    case 'union':
      return clause.union.parts.some((part) => part.clauses.some(dependsOnRows))
    case 'call':
      return clause.part.clauses.some(dependsOnRows)
    case 'match':
    case 'unwind':
      return false
    default:
      return assertNever(clause)
  }
}

function markClause(clause: BoundClause): BoundClause {
  switch (clause.kind) {
    case 'match':
      return clause.match.optional ? clause : { ...clause, match: markMatch(clause.match) }
    case 'projection': {
      const { where } = clause.projection
      return where === null
        ? clause
        : { ...clause, projection: { ...clause.projection, where: markPredicate(where, true) } }
    }
    case 'union': {
      const parts = clause.union.parts.map((part) => ({ ...part, clauses: part.clauses.map(markClause) }))
      return { ...clause, union: { ...clause.union, parts } }
    }
    case 'call':
      if (clause.optional) return clause
      return { ...clause, part: { ...clause.part, clauses: clause.part.clauses.map(markClause) } }
    case 'unwind':
      return clause
    default:
      return assertNever(clause)
  }
}

function markMatch(match: BoundMatch): BoundMatch {
  if (match.relationships.some(({ selection }) => selection !== null)) return match
  return {
    ...match,
    predicates: match.predicates.map((predicate) => markPredicate(predicate, true)),
    relationships: match.relationships.map((step) =>
      mapStepPredicates(step, (predicate) => markPredicate(predicate, true)),
    ),
  }
}

/** Operators whose result is null if an operand is null. */
const NULL_PROPAGATING_TESTS: ReadonlySet<string> = new Set(['STARTS WITH', 'ENDS WITH', 'CONTAINS', 'IN', '=~'])

/** `positive`: a row is kept only if the predicate is true. Operands of NOT and XOR are visited with `positive` false. */
function markPredicate(expression: BoundExpression, positive: boolean): BoundExpression {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return { ...expression, operands: expression.operands.map((operand) => markPredicate(operand, positive)) }
    case 'not':
      return { ...expression, operand: markPredicate(expression.operand, false) }
    case 'xor':
      return {
        ...expression,
        left: markPredicate(expression.left, false),
        right: markPredicate(expression.right, false),
      }
    case 'comparison':
      return { ...expression, left: markRead(expression.left), right: markRead(expression.right) }
    case 'binary':
      if (!NULL_PROPAGATING_TESTS.has(expression.operator)) return expression
      return { ...expression, left: markRead(expression.left), right: markRead(expression.right) }
    case 'exists':
      return positive ? { ...expression, match: markMatch(expression.match) } : expression
    case 'element-property':
      return markRead(expression)
    // Null tests and computed values can be true because a value is unknown, so their reads stay unmarked.
    case 'constant':
    case 'parameter':
    case 'slot':
    case 'element-properties':
    case 'property':
    case 'index':
    case 'slice':
    case 'label-test':
    case 'negate':
    case 'null-test':
    case 'value-test':
    case 'list':
    case 'map':
    case 'case':
    case 'function':
    case 'list-comprehension':
    case 'quantifier':
    case 'reduce':
    case 'subquery':
      return expression
    default:
      return assertNever(expression)
  }
}

function markRead(expression: BoundExpression): BoundExpression {
  return expression.kind === 'element-property' ? { ...expression, mayBeUnknown: true } : expression
}
