// Finds the conditions of the WHERE clauses of a policy, and writes the policy without each of them, and with each alternative of an
// OR alone. A condition is tested if a decision differs without it; an alternative is tested if it grants alone.
import type { Expression } from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'

/** The policy with one change in a WHERE. */
interface ConditionVariant {
  /** `without`: the condition is replaced by `true`. `alone`: the other alternatives of its OR are removed. */
  readonly kind: 'without' | 'alone'
  /** The text of the condition. */
  readonly text: string
  /** Offset of the condition in the Cypher. */
  readonly at: number
  /** The Cypher with the change. */
  readonly cypher: string
}

/** Returns the variants of a condition in the order of the text; none if it cannot be parsed. */
export function conditionVariants(cypher: string): readonly ConditionVariant[] {
  const parsed = parse(cypher)
  if (!parsed.ok) return []
  const found: ConditionVariant[] = []
  const changed = (kind: ConditionVariant['kind'], part: Expression, replaced: Expression, text: string): void => {
    const { start, end } = replaced.span
    found.push({
      kind,
      text: cypher.slice(part.span.start, part.span.end),
      at: part.span.start,
      cypher: `${cypher.slice(0, start)}${text}${cypher.slice(end)}`,
    })
  }
  const visitCondition = (condition: Expression): void => {
    const alternatives = operandsOf(condition, 'OR')
    if (alternatives.length > 1) {
      for (const one of alternatives) {
        changed('alone', one, condition, `(${cypher.slice(one.span.start, one.span.end)})`)
        if (operandsOf(one, 'AND').length > 1) visitCondition(one)
      }
      return
    }
    const conjuncts = operandsOf(condition, 'AND')
    for (const one of conjuncts) {
      changed('without', one, one, 'true')
      if (operandsOf(one, 'OR').length > 1) visitCondition(one)
    }
  }
  visitWheres(parsed.query, visitCondition)
  return found.sort((a, b) => a.at - b.at)
}

/** The operands of a chain of one operator; the expression itself if it is not a chain. */
function operandsOf(expression: Expression, operator: 'AND' | 'OR'): readonly Expression[] {
  if (expression.kind !== 'binary' || expression.operator !== operator) return [expression]
  return [...operandsOf(expression.left, operator), ...operandsOf(expression.right, operator)]
}

function visitWheres(tree: unknown, visit: (condition: Expression) => void): void {
  if (typeof tree !== 'object' || tree === null) return
  for (const [name, child] of Object.entries(tree)) {
    if (name === 'where' && child !== null) visit(child as Expression)
    visitWheres(child, visit)
  }
}
