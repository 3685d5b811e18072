// Which expressions can end a run with a fault, whatever the data. Such a predicate is not moved to where it would look at
// rows that the text drops first, and what a search finds with one is confirmed by the check.
import type { BoundClause, BoundExpression, BoundPart } from './bound.ts'
import { mapChildren } from './expression-tree.ts'

/** True unless it is certain that evaluating it cannot fault. */
export function mayFail(expression: BoundExpression): boolean {
  switch (expression.kind) {
    case 'constant':
    case 'parameter':
    case 'slot':
    case 'element-property':
    case 'element-properties':
      return false
    case 'label-test':
      return expression.target.kind !== 'slot'
    case 'comparison':
    case 'null-test':
    case 'list':
    case 'map':
      return anyChildMayFail(expression)
    case 'binary':
      // These are null for anything but two strings; a pattern that is known was found to be one.
      if (expression.operator === '=~' && expression.right.kind !== 'constant') return true
      return (
        !['STARTS WITH', 'ENDS WITH', 'CONTAINS', '=~'].includes(expression.operator) || anyChildMayFail(expression)
      )
    case 'and':
    case 'or':
      return expression.operands.some((operand) => !isSafePredicate(operand))
    case 'not':
      return !isSafePredicate(expression.operand)
    case 'xor':
      return !isSafePredicate(expression.left) || !isSafePredicate(expression.right)
    case 'exists':
      return (
        expression.match.casts.length > 0 ||
        expression.match.predicates.some((predicate) => !isSafePredicate(predicate)) ||
        expression.match.relationships.some(({ each }) => each !== null && !isSafePredicate(each.predicate))
      )
    default:
      return true
  }
}

function anyChildMayFail(expression: BoundExpression): boolean {
  let found = false
  mapChildren(expression, (child) => {
    found ||= mayFail(child)
    return child
  })
  return found
}

/** A truth for certain, and without a fault: `WHERE n.flag` faults where the flag is a string. */
export function isSafePredicate(expression: BoundExpression): boolean {
  switch (expression.kind) {
    case 'constant':
      return expression.value === null || typeof expression.value === 'boolean'
    case 'comparison':
    case 'null-test':
    case 'label-test':
    case 'and':
    case 'or':
    case 'not':
    case 'xor':
    case 'exists':
      return !mayFail(expression)
    case 'binary':
      return !mayFail(expression)
    default:
      return false
  }
}

/** Every property that faults where a resolver supplies it; `''`: all of an element's at once. */
export function propertyNamesIn(query: unknown, found = new Set<string>()): Set<string> {
  if (typeof query !== 'object' || query === null) return found
  if ('kind' in query && query.kind === 'element-property' && 'key' in query && !('mayBeUnknown' in query))
    found.add(String(query.key))
  if ('kind' in query && query.kind === 'element-properties') found.add('')
  for (const part of Object.values(query)) propertyNamesIn(part, found)
  return found
}

/** Whether any run of the part can fault (limits and properties of resolvers apart). */
export function partMayFail(part: BoundPart): boolean {
  return part.clauses.some(clauseMayFail)
}

function clauseMayFail(clause: BoundClause): boolean {
  switch (clause.kind) {
    case 'match': {
      const { casts, predicates, relationships } = clause.match
      return (
        casts.length > 0 ||
        predicates.some((predicate) => !isSafePredicate(predicate)) ||
        relationships.some(({ each }) => each !== null && !isSafePredicate(each.predicate))
      )
    }
    case 'unwind':
      return true
    case 'projection': {
      const { computed, aggregates, grouping, orderBy, skip, limit, where } = clause.projection
      if (skip || limit || (where && !isSafePredicate(where))) return true
      const values = [...computed, ...(grouping ?? []), ...orderBy].map((item) => item.expression)
      // Sums and percentiles fault on what is no number.
      const plain = new Set(['count', 'collect', 'min', 'max'])
      return (
        values.some(mayFail) ||
        aggregates.some((a) => !plain.has(a.name) || (a.argument !== null && mayFail(a.argument)))
      )
    }
    case 'union':
      return clause.union.parts.some(partMayFail)
    case 'call':
      return partMayFail(clause.part)
  }
}
