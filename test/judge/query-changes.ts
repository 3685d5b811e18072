// Changes of a query that take one cause of a difference away: if both engines agree on the changed query, the difference has that
// cause. A change is null or an empty list for a query that does not have the cause.
import type { Clause, Expression, Projection, ProjectionItem, Query, SingleQuery } from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'
import { type CypherNode, walkTree } from '../../grammar/walk.ts'
import { print } from '../support/print-cypher.ts'

/** A changed query, and what else must be true of it. */
export interface ChangedQuery {
  /** Both engines must return equal rows for it. */
  readonly text: string
  /** The rows must be those that Verdigraph returns for the query itself. */
  readonly keepsRows: boolean
  /** Must fail on both, on Neo4j with the kind of error that it reports for the query itself; null without this condition. */
  readonly failsAlone: string | null
}

type Change = (query: Query) => ChangedQuery[]
type Members = Readonly<Record<string, unknown>>

/** The changed queries of a text. Empty for a text that does not parse. */
export function changedQueries(text: string, change: Change): ChangedQuery[] {
  const parsed = parse(text)
  return parsed.ok ? change(parsed.query) : []
}

/** The tree with each node replaced by `change(node)`, the children of a node before the node. */
function mapTree<Tree>(tree: Tree, change: (node: CypherNode) => CypherNode): Tree {
  if (tree === null || typeof tree !== 'object') return tree
  if (Array.isArray(tree)) return tree.map((item) => mapTree(item, change)) as Tree
  const members = Object.entries(tree).map(([key, child]) => [key, key === 'span' ? child : mapTree(child, change)])
  const copy = Object.fromEntries(members) as Members
  return ('kind' in copy && 'span' in copy ? change(copy as unknown as CypherNode) : copy) as Tree
}

/** The expression that a text with parameters for its parts stands for: `$a <> $a`. */
function expressionOf(text: string, parts: Readonly<Record<string, Expression>>): Expression {
  const parsed = parse(`RETURN ${text}`)
  const clause = parsed.ok ? parsed.query.parts[0]?.clauses[0] : undefined
  if (clause?.kind !== 'return') throw new Error(`is no expression: ${text}`)
  const { expression } = clause.items[0] as ProjectionItem
  return mapTree(expression, (node) => (node.kind === 'parameter' ? (parts[node.name] ?? node) : node))
}

/** With the column that it had before its expression was changed. */
function withExpression(item: ProjectionItem, expression: Expression): ProjectionItem {
  const alias = item.alias ?? { text: item.text, span: item.span }
  return { ...item, expression, alias }
}

/** The query with each node replaced; empty if nothing changes. */
function everywhere(query: Query, change: (node: CypherNode) => CypherNode, keepsRows: boolean): ChangedQuery[] {
  const text = print(mapTree(query, change))
  return text === print(query) ? [] : [{ text, keepsRows, failsAlone: null }]
}

/** Replaces calls of functions. The names are in lower case. */
function callsReplaced(
  query: Query,
  templates: Readonly<Record<string, string>>,
  isReplaced: (args: readonly Expression[]) => boolean,
  keepsRows: boolean,
): ChangedQuery[] {
  const change = (node: CypherNode): CypherNode => {
    if (node.kind !== 'function' || !isReplaced(node.args)) return node
    const template = templates[node.name.text.toLowerCase()]
    if (template === undefined) return node
    const parts = Object.fromEntries(node.args.map((argument, index) => [`a${index}`, argument]))
    return expressionOf(template, parts)
  }
  return everywhere(query, change, keepsRows)
}

// ---------------------------------------------------------------- the changes

const AGGREGATES = /^(count|sum|avg|min|max|collect|percentilecont|percentiledisc|stdevp?)$/i

/** Whether an expression aggregates. An aggregate within a subquery is one of the subquery. */
function isAggregating(tree: unknown): boolean {
  if (tree === null || typeof tree !== 'object') return false
  if (Array.isArray(tree)) return tree.some(isAggregating)
  const { kind, name } = tree as { kind?: string; name?: { text: string } }
  if (kind === 'query' || kind === 'patterns') return false
  if (kind === 'count-star' || (kind === 'function' && AGGREGATES.test(name?.text ?? ''))) return true
  return Object.values(tree).some(isAggregating)
}

const withoutNaN = (value: Expression): Expression =>
  expressionOf('CASE WHEN $value <> $value THEN null ELSE $value END', { value })

function keysWithoutNaN<Part extends Projection>(projection: Part, isUnion: boolean): Part {
  const aggregates = projection.items.some((item) => isAggregating(item.expression))
  if (!projection.distinct && !aggregates && !isUnion) return projection
  const items = projection.items.map((item) =>
    isAggregating(item.expression) ? item : withExpression(item, withoutNaN(item.expression)),
  )
  return { ...projection, items }
}

/** Values that are not equal to themselves (NaN, or a list with it) become null before they are grouped. */
export const nanInGroups: Change = (query) =>
  everywhere(
    query,
    (node) => {
      if (node.kind === 'with' || node.kind === 'return') return keysWithoutNaN(node, false)
      if (node.kind === 'function' && node.distinct)
        return { ...node, args: node.args.map((argument, index) => (index === 0 ? withoutNaN(argument) : argument)) }
      if (node.kind !== 'query' || !node.unions.includes('distinct')) return node
      const parts = node.parts.map(({ clauses, span }): SingleQuery => {
        const last = clauses.at(-1)
        if (last?.kind !== 'return') return { clauses, span }
        return { clauses: clauses.with(-1, keysWithoutNaN(last, true)), span }
      })
      return { ...node, parts }
    },
    false,
  )

/** A divisor 0 becomes 0.0. An integer that is divided by it has no error then, and other rows. */
export const divisorZero: Change = (query) =>
  everywhere(
    query,
    (node) => {
      if (node.kind !== 'binary' || node.operator !== '/') return node
      return { ...node, right: expressionOf('CASE WHEN $z = 0 THEN toFloat($z) ELSE $z END', { z: node.right }) }
    },
    true,
  )

/** A value that is no list becomes a list of one item where a list is wanted. */
export const singleValueAsList: Change = (query) => {
  const asList = (list: Expression): Expression =>
    expressionOf('CASE WHEN $list IS :: LIST<ANY> THEN $list ELSE [$list] END', { list })
  const change = (node: CypherNode): CypherNode => {
    switch (node.kind) {
      case 'slice':
        return { ...node, target: asList(node.target) }
      case 'unwind':
      case 'list-comprehension':
      case 'quantifier':
      case 'reduce':
        return { ...node, list: asList(node.list) }
      case 'binary':
        return node.operator === 'IN' ? { ...node, right: asList(node.right) } : node
      case 'function':
        return node.name.text.toLowerCase() === 'tail' ? { ...node, args: node.args.map(asList) } : node
      default:
        return node
    }
  }
  return everywhere(query, change, false)
}

/** The text that is split is null if it is empty. */
export const emptyTextAsNull: Change = (query) =>
  callsReplaced(
    query,
    { split: "CASE WHEN $a0 = '' THEN null ELSE split($a0, $a1) END" },
    (args) => args.length === 2,
    false,
  )

/** Subqueries that aggregate become null. */
export const aggregatingSubqueryAsNull: Change = (query) =>
  everywhere(
    query,
    (node) => (isSubquery(node) && hasAggregate(node) ? { kind: 'null', span: node.span } : node),
    false,
  )

function hasAggregate(subquery: SubqueryExpression): boolean {
  let has = false
  walkTree(subquery, (node) => {
    if (node.kind === 'count-star' || (node.kind === 'function' && AGGREGATES.test(node.name.text))) has = true
  })
  return has
}

/** The sum has no rounding, and is a duration where the average is one. */
export const averageAsSum: Change = (query) => callsReplaced(query, { avg: 'sum($a0)' }, () => true, false)

/** Without `:00`, a time with seconds and one without them have the same text. */
export const textWithoutZeros: Change = (query) =>
  callsReplaced(
    query,
    {
      tostring: "replace(toString($a0), ':00', '')",
      tostringornull: "replace(toStringOrNull($a0), ':00', '')",
      tostringlist: "[text IN toStringList($a0) | replace(text, ':00', '')]",
    },
    () => true,
    false,
  )

/** Trims both sides of a text whose left side cannot be trimmed. */
export const trimmedRight: Change = (query) =>
  callsReplaced(query, { rtrim: "substring(btrim('\u{2016}' + $a0, $a1), 1)" }, (args) => args.length === 2, true)

type SubqueryExpression = Extract<Expression, { kind: 'exists' | 'count-subquery' | 'collect-subquery' }>

function isSubquery(node: CypherNode): node is SubqueryExpression {
  return node.kind === 'exists' || node.kind === 'count-subquery' || node.kind === 'collect-subquery'
}

/** Each subset of one or all counts in the condition of an OPTIONAL MATCH is computed before the clause. */
export const countsBeforeOptionalMatch: Change = (query) => {
  const counts: CypherNode[] = []
  walkTree(query, (node) => {
    if (node.kind !== 'match' || !node.optional) return
    walkTree(node.where, (below) => {
      if (isSubquery(below) && below.kind !== 'exists') counts.push(below)
    })
  })
  const subsets = counts.length > 1 ? [...counts.map((count) => [count]), counts] : [counts]
  return subsets.filter((subset) => subset.length > 0).map((subset) => countedBefore(query, new Set(subset.map(place))))
}

const place = ({ span }: CypherNode): string => `${span.start}-${span.end}`

function countedBefore(query: Query, places: ReadonlySet<string>): ChangedQuery {
  const tree = mapTree(query, (node) => {
    if (node.kind !== 'query') return node
    return { ...node, parts: node.parts.map((part) => ({ ...part, clauses: withCountsBefore(part.clauses, places) })) }
  })
  return { text: print(tree), keepsRows: true, failsAlone: null }
}

function withCountsBefore(clauses: readonly Clause[], places: ReadonlySet<string>): Clause[] {
  return clauses.flatMap((clause, index): Clause[] => {
    if (clause.kind !== 'match' || !clause.optional || clause.where === null) return [clause]
    const items: ProjectionItem[] = []
    const where = mapTree(clause.where, (node) => {
      if (!isSubquery(node) || !places.has(place(node))) return node
      const name = `counted${node.span.start}`
      items.push({ expression: node, alias: { text: name, span: node.span }, text: name, span: node.span })
      return { kind: 'variable', name, span: node.span }
    })
    if (items.length === 0) return [clause]
    const { span } = clause
    const rest = { distinct: false, orderBy: [], skip: null, limit: null, where: null, span } as const
    return [
      { kind: 'with', keyword: 'WITH', star: index > 0, items, ...rest },
      { ...clause, where },
    ]
  })
}

/** One part that fails alone, without any row of the query, becomes null. */
export const unusedPartAsNull: Change = (query) => {
  const parts: (Expression | Extract<Clause, { kind: 'call' }>)[] = []
  walkTree(query, (node) => {
    if (isSubquery(node) || isConstant(node) || node.kind === 'call') parts.push(node)
  })
  return parts.map((part): ChangedQuery => {
    const at = place(part)
    const tree = mapTree(query, (node) => {
      if (node.kind !== part.kind || place(node) !== at) return node
      if (node.kind === 'call') return { ...node, imports: null, query: nullColumns(node.query) }
      return { kind: 'null', span: node.span }
    })
    const failsAlone = part.kind === 'call' ? print(part.query) : `RETURN ${printedExpression(part)} AS x`
    return { text: print(tree), keepsRows: true, failsAlone }
  })
}

const OPERATIONS = ['binary', 'comparison', 'unary', 'function', 'property', 'index', 'slice', 'case'] as const
type Operation = Extract<Expression, { kind: (typeof OPERATIONS)[number] }>

const isOperation = (node: CypherNode): node is Operation => OPERATIONS.some((kind) => kind === node.kind)

/** An operation that reads no variable. */
function isConstant(node: CypherNode): node is Operation {
  if (!isOperation(node) || isAggregating(node)) return false
  let reads = false
  walkTree(node, (below) => {
    if (below.kind === 'variable' || below.kind === 'query') reads = true
  })
  return !reads
}

function printedExpression(expression: Expression): string {
  const { span } = expression
  const item = { expression, alias: null, text: '', span }
  const clause: Clause = {
    kind: 'return',
    distinct: false,
    star: false,
    items: [item],
    orderBy: [],
    skip: null,
    limit: null,
    span,
  }
  const query: Query = { kind: 'query', input: null, parts: [{ clauses: [clause], span }], unions: [], span }
  return print(query).replace(/^RETURN /, '')
}

/** One row of nulls with the columns of the query. */
function nullColumns(query: Query): Query {
  const last = query.parts[0]?.clauses.at(-1)
  if (last?.kind !== 'return') return query
  const items = last.items.map((item) => withExpression(item, { kind: 'null', span: item.span }))
  const { span } = query
  const clause: Clause = { ...last, distinct: false, star: false, items, orderBy: [], skip: null, limit: null }
  return { kind: 'query', input: null, parts: [{ clauses: [clause], span }], unions: [], span }
}
