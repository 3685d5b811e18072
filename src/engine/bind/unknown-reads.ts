// Which reads of properties may take a value that nobody knows (an external resolver supplies it) for unknown, that is for
// null: those that can only keep a row out, whatever the value is. In three-valued logic a comparison with unknown is
// unknown, and stays so under NOT; what is true all the same is true of every value. A row that is out must then not let
// another one in: not below an aggregation, a SKIP or LIMIT, an optional or a shortest match, or EXISTS under NOT. All other
// reads of such a property are faults.
import type { BoundClause, BoundExpression, BoundMatch, BoundPart } from './bound.ts'

/** The same query with these reads marked. */
export function markUnknownReads<P extends BoundPart>(query: P): P {
  return query.clauses.some(dependsOnRows) ? query : { ...query, clauses: query.clauses.map(markClause) }
}

function dependsOnRows(clause: BoundClause): boolean {
  switch (clause.kind) {
    case 'projection': {
      const { aggregates, grouping, skip, limit } = clause.projection
      return aggregates.length > 0 || grouping !== null || skip !== null || limit !== null
    }
    case 'union':
      return clause.union.parts.some((part) => part.clauses.some(dependsOnRows))
    case 'call':
      return clause.part.clauses.some(dependsOnRows)
    default:
      return false
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
        : { ...clause, projection: { ...clause.projection, where: markTruth(where, true) } }
    }
    case 'union': {
      const parts = clause.union.parts.map((part) => ({ ...part, clauses: part.clauses.map(markClause) }))
      return { ...clause, union: { ...clause.union, parts } }
    }
    case 'call':
      return { ...clause, part: { ...clause.part, clauses: clause.part.clauses.map(markClause) } }
    case 'unwind':
      return clause
  }
}

function markMatch(match: BoundMatch): BoundMatch {
  if (match.relationships.some(({ shortest }) => shortest !== null)) return match
  return {
    ...match,
    predicates: match.predicates.map((predicate) => markTruth(predicate, true)),
    relationships: match.relationships.map((relationship) =>
      relationship.each === null
        ? relationship
        : {
            ...relationship,
            each: { ...relationship.each, predicate: markTruth(relationship.each.predicate, true) },
          },
    ),
  }
}

const TESTS: ReadonlySet<string> = new Set(['STARTS WITH', 'ENDS WITH', 'CONTAINS', 'IN', '=~'])

/** `positive`: to be true keeps a row, and to be anything else drops it. */
function markTruth(expression: BoundExpression, positive: boolean): BoundExpression {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return { ...expression, operands: expression.operands.map((operand) => markTruth(operand, positive)) }
    case 'not':
      return { ...expression, operand: markTruth(expression.operand, false) }
    case 'xor':
      return { ...expression, left: markTruth(expression.left, false), right: markTruth(expression.right, false) }
    case 'comparison':
      return { ...expression, left: markRead(expression.left), right: markRead(expression.right) }
    case 'binary':
      if (!TESTS.has(expression.operator)) return expression
      return { ...expression, left: markRead(expression.left), right: markRead(expression.right) }
    case 'exists':
      return positive ? { ...expression, match: markMatch(expression.match) } : expression
    default:
      return markRead(expression)
  }
}

function markRead(expression: BoundExpression): BoundExpression {
  return expression.kind === 'element-property' ? { ...expression, mayBeUnknown: true } : expression
}
