// Brings the alternatives of a definition into the form in which they are planned: each end is introduced by a MATCH, with the
// labels of the head, as late as the text allows, so that a search from the other end reaches it along relationships.
import type {
  Clause,
  DefinitionEnd,
  DefinitionText,
  Expression,
  LabelExpression,
  MatchClause,
} from '../../../grammar/ast.ts'
import { walkTree } from '../../../grammar/walk.ts'
import type { DefinitionBranch } from '../bind/definitions.ts'
import { plainMatch, plainNode, plainPath } from '../bind/plain-patterns.ts'

/** The alternatives of a definition in the form for planning. `needs`: of each; absent: all are always needed. */
export function branchesOf(
  { source, target, body }: DefinitionText,
  needs: readonly DefinitionBranch['needs'][] = [],
): readonly DefinitionBranch[] {
  return body.parts.map(({ clauses }, at) => ({
    needs: needs[at] ?? null,
    source: source.variable.text,
    target: target.variable.text,
    clauses: [source, target].reduce(withEnd, clauses.flatMap(splitPatterns)),
  }))
}

/**
 * `MATCH … WHERE (u)-[:R]->(x) AND …` as `MATCH … MATCH (u)-[:R]->(x) WHERE …`. The rows differ only in how often they occur, which does
 * not matter in a definition; and the pattern can be expanded from either end.
 */
function splitPatterns(clause: Clause): readonly Clause[] {
  if (clause.kind !== 'match' || clause.optional || clause.where === null) return [clause]
  // The conditions on a path of `shortestPath` choose the path, so they stay with it.
  if (clause.patterns.some(({ shortest }) => shortest !== null)) return [clause]
  const conditions = conjunctsOf(clause.where)
  const patterns = conditions.flatMap((one) => (one.kind === 'pattern-predicate' ? [one.pattern] : []))
  if (patterns.length === 0) return [clause]
  const others = conditions.filter(({ kind }) => kind !== 'pattern-predicate')
  const where = others.reduce<Expression | null>((left, right) => (left === null ? right : and(left, right)), null)
  const matches = patterns.map((pattern) => plainMatch(pattern))
  return [{ ...clause, where: null }, ...matches.slice(0, -1), { ...matches.at(-1)!, where }]
}

function conjunctsOf(expression: Expression): readonly Expression[] {
  if (expression.kind !== 'binary' || expression.operator !== 'AND') return [expression]
  return [...conjunctsOf(expression.left), ...conjunctsOf(expression.right)]
}

function and(left: Expression, right: Expression): Expression {
  return { kind: 'binary', operator: 'AND', left, right, span: { start: left.span.start, end: right.span.end } }
}

/** The clauses with a MATCH that introduces the end with its labels, before anything else names it. */
function withEnd(clauses: readonly Clause[], end: DefinitionEnd): readonly Clause[] {
  const name = end.variable.text
  const first = clauses.findIndex((clause) => mentions(clause, name))
  const at = first < 0 ? clauses.length : first
  const clause = clauses[at]
  if (clause?.kind === 'match' && !clause.optional) {
    const changed = withLabels(clause, end)
    if (changed !== null) return clauses.with(at, changed)
  }
  return clauses.toSpliced(at, 0, endAlone(end))
}

/** The clause with the labels at the node that introduces the end; null if it does not introduce it. */
function withLabels(clause: MatchClause, { variable, labels }: DefinitionEnd): MatchClause | null {
  for (const [i, pattern] of clause.patterns.entries()) {
    const isInside = (at: number): boolean =>
      (pattern.selector !== null || pattern.shortest !== null) && at > 0 && at < pattern.nodes.length - 1
    const at = pattern.nodes.findIndex((node) => node.variable?.text === variable.text)
    if (at < 0 || isInside(at)) continue
    const node = pattern.nodes[at]!
    const nodes = pattern.nodes.with(at, { ...node, labels: bothLabels(node.labels, labels) })
    return { ...clause, patterns: clause.patterns.with(i, { ...pattern, nodes }) }
  }
  return null
}

/** Both expressions must hold; null demands nothing. */
export function bothLabels(own: LabelExpression | null, head: LabelExpression | null): LabelExpression | null {
  if (own === null || head === null) return own ?? head
  return { kind: 'label-and', operands: [own, head], span: own.span }
}

function endAlone({ variable, labels, span }: DefinitionEnd): MatchClause {
  return plainMatch(plainPath([{ ...plainNode(null, span, labels), variable }], [], span))
}

function mentions(clause: Clause, name: string): boolean {
  let found = false
  walkTree(clause, (node) => {
    if (node.kind === 'variable') found ||= node.name === name
    else if (node.kind === 'node' || node.kind === 'relationship' || node.kind === 'map-projection') {
      found ||= node.variable?.text === name
    }
  })
  return found
}
