// Determines which expressions end a run with an error for some data. The planner does not move such a predicate, because it
// would then be evaluated for rows that the text drops first. A result of a search that evaluates one is confirmed by the check.
import { assertNever } from '../../kernel/assert.ts'
import { isDynamic } from './bind-labels.ts'
import type { BoundClause, BoundExpression, BoundMatch, BoundPart } from './bound.ts'
import { someChild } from './expression-tree.ts'
import { stepPredicates } from './step-predicates.ts'

/** Operators that return null unless both operands are strings. */
const STRING_TESTS: ReadonlySet<string> = new Set(['STARTS WITH', 'ENDS WITH', 'CONTAINS', '=~'])

/** Aggregates that accept every value; sums and percentiles fail on a value that is no number. */
const TOTAL_AGGREGATES: ReadonlySet<string> = new Set(['count', 'collect', 'min', 'max'])

/** True unless evaluation certainly returns a value. */
export function mayFail(expression: BoundExpression): boolean {
  switch (expression.kind) {
    case 'constant':
    case 'parameter':
    case 'slot':
    case 'element-property':
    case 'element-properties':
      return false
    case 'label-test':
      return expression.target.kind !== 'slot' || isDynamic(expression.labels)
    case 'comparison':
    case 'null-test':
    case 'value-test':
    case 'list':
    case 'map':
      return someChild(expression, mayFail)
    case 'binary':
      // The binder has checked a constant pattern; another pattern may be invalid.
      if (expression.operator === '=~' && expression.right.kind !== 'constant') return true
      return !STRING_TESTS.has(expression.operator) || someChild(expression, mayFail)
    case 'and':
    case 'or':
      return expression.operands.some((operand) => !isSafePredicate(operand))
    case 'not':
      return !isSafePredicate(expression.operand)
    case 'xor':
      return !isSafePredicate(expression.left) || !isSafePredicate(expression.right)
    case 'exists':
      return matchMayFail(expression.match)
    case 'property':
    case 'index':
    case 'slice':
    case 'negate':
    case 'case':
    case 'function':
    case 'list-comprehension':
    case 'quantifier':
    case 'reduce':
    case 'subquery':
      return true
    default:
      return assertNever(expression)
  }
}

/** Certainly true, false or null, without an error. `WHERE n.flag` is not safe: it fails if the flag is a string. */
export function isSafePredicate(expression: BoundExpression): boolean {
  return isPredicate(expression) && !mayFail(expression)
}

/** Whether every value of the expression is true, false or null. */
function isPredicate(expression: BoundExpression): boolean {
  switch (expression.kind) {
    case 'constant':
      return expression.value === null || typeof expression.value === 'boolean'
    case 'comparison':
    case 'null-test':
    case 'value-test':
    case 'label-test':
    case 'and':
    case 'or':
    case 'not':
    case 'xor':
    case 'exists':
    case 'quantifier':
      return true
    case 'binary':
      return expression.operator === 'IN' || STRING_TESTS.has(expression.operator)
    case 'parameter':
    case 'slot':
    case 'element-property':
    case 'element-properties':
    case 'property':
    case 'index':
    case 'slice':
    case 'negate':
    case 'list':
    case 'map':
    case 'case':
    case 'function':
    case 'list-comprehension':
    case 'reduce':
    case 'subquery':
      return false
    default:
      return assertNever(expression)
  }
}

/** A definition that is evaluated with a table counts as one that may fail. */
function matchMayFail({ casts, predicates, relationships, derived }: BoundMatch): boolean {
  return (
    casts.length > 0 ||
    derived.some(({ branches }) => branches === null || branches.some(partMayFail)) ||
    predicates.some((predicate) => !isSafePredicate(predicate)) ||
    relationships.some((step) => !stepPredicates(step).every(isSafePredicate))
  )
}

/** Whether a run of the part can fail, apart from limits and from properties of external resolvers. */
export function partMayFail(part: BoundPart): boolean {
  return part.clauses.some(clauseMayFail)
}

function clauseMayFail(clause: BoundClause): boolean {
  switch (clause.kind) {
    case 'match':
      return matchMayFail(clause.match)
    case 'unwind':
      return true
    case 'projection': {
      const { computed, aggregates, grouping, orderBy, skip, limit, where } = clause.projection
      if (skip || limit || (where && !isSafePredicate(where))) return true
      const values = [...computed, ...(grouping ?? []), ...orderBy].map((item) => item.expression)
      return (
        values.some(mayFail) ||
        aggregates.some(({ name, argument }) => !TOTAL_AGGREGATES.has(name) || (argument !== null && mayFail(argument)))
      )
    }
    case 'union':
      return clause.union.parts.some(partMayFail)
    case 'call':
      return partMayFail(clause.part)
    default:
      return assertNever(clause)
  }
}
