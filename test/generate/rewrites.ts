// Rewrites of a query that must not change its answer: patterns reversed, predicates moved, operands exchanged, equivalences of
// three-valued logic. They need no second implementation: a changed answer is an error of the engine.
import type {
  Clause,
  Expression,
  MatchClause,
  Name,
  NodePattern,
  PathPattern,
  Query,
  RelationshipPattern,
  SingleQuery,
} from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'
import { print } from '../support/print-cypher.ts'

/** A rewritten query. */
export interface Rewrite {
  /** The rule. */
  readonly rule: string
  readonly text: string
}

type QueryTree = Readonly<Record<string, unknown>>
interface RewrittenTree {
  readonly rule: string
  readonly tree: unknown
}

/** A parsed query with the names that rules may use. */
export class Rewriter {
  private readonly query: Query
  private names = 0

  /** Throws for a text that does not parse. */
  constructor(text: string) {
    const parsed = parse(text)
    if (!parsed.ok) throw new Error(`does not parse: ${text}`)
    this.query = parsed.query
  }

  /** All rewrites by one application of one rule. */
  all(): Rewrite[] {
    return [...this.ofTree(this.query as unknown as QueryTree), ...this.ofQuery(this.query)].map(({ rule, tree }) => ({
      rule,
      text: print(tree as Query),
    }))
  }

  private *ofTree(tree: QueryTree, isWhole = true): Generator<RewrittenTree> {
    if (isWhole) yield* this.own(tree)
    // The ends of a quantified pattern are where its repetitions meet.
    const isQuantified = tree.kind === 'quantified-path'
    for (const [key, child] of Object.entries(tree)) {
      if (key === 'span' || child === null || typeof child !== 'object') continue
      if (!Array.isArray(child)) {
        for (const { rule, tree: changed } of this.ofTree(child as QueryTree, !isQuantified || key !== 'pattern'))
          yield { rule, tree: { ...tree, [key]: changed } }
        continue
      }
      for (const [at, item] of child.entries()) {
        if (item === null || typeof item !== 'object') continue
        for (const { rule, tree: changed } of this.ofTree(item as QueryTree))
          yield { rule, tree: { ...tree, [key]: child.with(at, changed) } }
      }
    }
  }

  private *own(tree: QueryTree): Generator<RewrittenTree> {
    switch (tree.kind) {
      case 'binary':
        yield* ofBinary(tree as unknown as Extract<Expression, { kind: 'binary' }>)
        break
      case 'comparison':
        yield* ofComparison(tree as unknown as Extract<Expression, { kind: 'comparison' }>)
        break
      case 'path':
        yield* ofPath(tree as unknown as PathPattern)
        break
      case 'label-or':
      case 'label-and':
        yield { rule: 'labels exchanged', tree: { ...tree, operands: (tree.operands as unknown[]).toReversed() } }
        break
      case 'match':
        yield* this.ofMatch(tree as unknown as MatchClause)
        break
    }
    // A subquery in braces has a condition too.
    if (tree.where !== null && typeof tree.where === 'object' && 'kind' in tree.where)
      for (const { rule, tree: where } of ofCondition(tree.where as Expression))
        yield { rule, tree: { ...tree, where } }
  }

  private *ofMatch(clause: MatchClause): Generator<RewrittenTree> {
    const { patterns } = clause
    if (patterns.length > 1) yield { rule: 'patterns exchanged', tree: { ...clause, patterns: patterns.toReversed() } }
    for (const [at, path] of patterns.entries()) {
      // A selector chooses among the paths that satisfy the pattern, before WHERE.
      if (path.shortest !== null || path.selector !== null) continue
      for (const [index, node] of path.nodes.entries()) {
        for (const { rule, element, conditions } of moved(node)) {
          const nodes = path.nodes.with(index, element as NodePattern)
          yield { rule, tree: withConditions(clause, at, { ...path, nodes }, conditions) }
        }
      }
      for (const [index, step] of path.relationships.entries()) {
        if (step.kind !== 'relationship' || step.range !== null) continue
        for (const { rule, element, conditions } of moved(step)) {
          const relationships = path.relationships.with(index, element as RelationshipPattern)
          yield { rule, tree: withConditions(clause, at, { ...path, relationships }, conditions) }
        }
      }
    }
  }

  /** Rules for whole queries, at their top only: there the scope is known. */
  private *ofQuery(query: Query): Generator<RewrittenTree> {
    for (const [at, part] of query.parts.entries()) {
      for (const { rule, tree } of this.ofClauses(part)) {
        yield { rule, tree: { ...query, parts: query.parts.with(at, tree as SingleQuery) } }
      }
    }
  }

  private *ofClauses(part: SingleQuery): Generator<RewrittenTree> {
    const { clauses } = part
    const put = (at: number, remove: number, ...added: Clause[]): SingleQuery => ({
      ...part,
      clauses: clauses.toSpliced(at, remove, ...added),
    })
    const span = part.span
    const star: Clause = {
      kind: 'with',
      keyword: 'WITH',
      distinct: false,
      star: true,
      items: [],
      orderBy: [],
      skip: null,
      limit: null,
      where: null,
      span,
    }
    this.names += 1
    const one: Clause = {
      kind: 'unwind',
      list: { kind: 'list', items: [{ kind: 'null', span }], span } as Expression,
      variable: { text: `once${this.names}`, span } as Name,
      span,
    }
    const [first] = clauses
    if (first?.kind !== 'use') yield { rule: 'one row unwound first', tree: put(0, 0, one) }
    for (const [at, clause] of clauses.entries()) {
      if (clause.kind !== 'match') continue
      const bindsName = clause.patterns.some(({ variable, nodes }) => variable ?? nodes.some((node) => node.variable))
      if (bindsName) yield { rule: 'WITH * added', tree: put(at + 1, 0, star) }
      if (clause.optional) continue
      if (bindsName && clause.where !== null) {
        const tree = put(at, 1, { ...clause, where: null }, { ...star, where: clause.where } as Clause)
        yield { rule: 'WHERE after WITH *', tree }
      }
      // Relationships are unique within one MATCH, so all but one pattern must be without.
      const withSteps = clause.patterns.filter(({ relationships }) => relationships.length > 0).length
      if (clause.patterns.length > 1 && withSteps <= 1) {
        const [head, ...rest] = clause.patterns
        const tree = put(at, 1, { ...clause, patterns: [head!], where: null }, { ...clause, patterns: rest })
        yield { rule: 'MATCH split', tree }
      }
    }
  }
}

// ---------------------------------------------------------------- patterns

function* ofPath(path: PathPattern): Generator<RewrittenTree> {
  // The order of a named path, and of the list of a variable length, is that of the text.
  const isOrdered =
    path.variable !== null ||
    path.shortest !== null ||
    path.selector !== null ||
    path.relationships.some((step) => step.kind !== 'relationship' || (step.range !== null && step.variable !== null))
  if (isOrdered || path.relationships.length === 0) return
  const flipped = { left: 'right', right: 'left', both: 'both' } as const
  const relationships = path.relationships
    .map((step) => ({ ...step, direction: flipped[(step as RelationshipPattern).direction] }))
    .reverse()
  yield { rule: 'pattern reversed', tree: { ...path, nodes: path.nodes.toReversed(), relationships } }
}

interface Moved {
  readonly rule: string
  readonly element: NodePattern | RelationshipPattern
  readonly conditions: readonly Expression[]
}

/** The requirements of a named element, as conditions of the clause. */
function* moved(element: NodePattern | RelationshipPattern): Generator<Moved> {
  const { variable, properties, where, span } = element
  if (variable === null) return
  const target: Expression = { kind: 'variable', name: variable.text, span }
  if (properties?.kind === 'map' && properties.entries.length > 0) {
    const conditions = properties.entries.map(
      ({ key, value }): Expression => ({
        kind: 'comparison',
        first: { kind: 'property', target, key, span },
        rest: [{ operator: '=', operand: value }],
        span,
      }),
    )
    yield { rule: 'properties moved to WHERE', element: { ...element, properties: null }, conditions }
  }
  if (where !== null) yield { rule: 'inline WHERE moved', element: { ...element, where: null }, conditions: [where] }
  if (element.kind === 'node' && element.labels !== null) {
    const test: Expression = { kind: 'label-test', target, labels: element.labels, span } as Expression
    yield { rule: 'labels moved to WHERE', element: { ...element, labels: null }, conditions: [test] }
  }
}

function withConditions(
  clause: MatchClause,
  at: number,
  path: PathPattern,
  conditions: readonly Expression[],
): MatchClause {
  const where = conditions.reduce<Expression | null>(
    (left, right) => (left === null ? right : { kind: 'binary', operator: 'AND', left, right, span: right.span }),
    clause.where,
  )
  return { ...clause, patterns: clause.patterns.with(at, path), where }
}

// ---------------------------------------------------------------- expressions

const not = (operand: Expression): Expression => ({ kind: 'unary', operator: 'NOT', operand, span: operand.span })

function* ofCondition(where: Expression): Generator<RewrittenTree> {
  const { span } = where
  const literal = (value: boolean): Expression => ({ kind: 'boolean', value, span })
  const binary = (operator: 'AND' | 'OR' | 'XOR', right: Expression): Expression => ({
    kind: 'binary',
    operator,
    left: where,
    right,
    span,
  })
  yield { rule: 'NOT NOT', tree: not(not(where)) }
  yield { rule: 'AND true', tree: binary('AND', literal(true)) }
  yield { rule: 'OR false', tree: binary('OR', literal(false)) }
  yield { rule: 'XOR false', tree: binary('XOR', literal(false)) }
  yield { rule: 'AND itself', tree: binary('AND', where) }
}

function* ofBinary(expression: Extract<Expression, { kind: 'binary' }>): Generator<RewrittenTree> {
  const { operator, left, right, span } = expression
  if (operator === 'AND' || operator === 'OR' || operator === 'XOR')
    yield { rule: `${operator} exchanged`, tree: { ...expression, left: right, right: left } }
  if (operator === 'AND' || operator === 'OR') {
    const dual = operator === 'AND' ? 'OR' : 'AND'
    const inner: Expression = { kind: 'binary', operator: dual, left: not(left), right: not(right), span }
    yield { rule: 'De Morgan', tree: not(inner) }
  }
  if (operator === 'XOR') {
    const only = (yes: Expression, no: Expression): Expression => ({
      kind: 'binary',
      operator: 'AND',
      left: yes,
      right: not(no),
      span,
    })
    yield {
      rule: 'XOR as OR',
      tree: { kind: 'binary', operator: 'OR', left: only(left, right), right: only(right, left), span },
    }
  }
  if (operator === 'IN' && right.kind === 'list' && right.items.length > 0) {
    const equal = (item: Expression): Expression => ({
      kind: 'comparison',
      first: left,
      rest: [{ operator: '=', operand: item }],
      span,
    })
    const tests = right.items.map(equal)
    yield {
      rule: 'IN as OR',
      tree: tests.reduce((all, test) => ({ kind: 'binary', operator: 'OR', left: all, right: test, span })),
    }
  }
}

const mirrored: Readonly<Record<string, string>> = { '=': '=', '<>': '<>', '<': '>', '>': '<', '<=': '>=', '>=': '<=' }

function* ofComparison(expression: Extract<Expression, { kind: 'comparison' }>): Generator<RewrittenTree> {
  const { first, rest, span } = expression
  const [only, ...more] = rest
  if (only === undefined) return
  if (more.length === 0) {
    const operator = mirrored[only.operator]
    yield {
      rule: 'comparison mirrored',
      tree: { ...expression, first: only.operand, rest: [{ ...only, operator, operand: first }] },
    }
    if (only.operator === '<>')
      yield { rule: '<> as NOT =', tree: not({ ...expression, rest: [{ ...only, operator: '=' }] }) }
    return
  }
  const parts = rest.map(
    (each, index): Expression => ({
      kind: 'comparison',
      first: index === 0 ? first : rest[index - 1]!.operand,
      rest: [each],
      span,
    }),
  )
  yield {
    rule: 'chain as AND',
    tree: parts.reduce((left, right) => ({ kind: 'binary', operator: 'AND', left, right, span })),
  }
}
