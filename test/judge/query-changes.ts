// Changes of a query that take one cause of a difference away: if both engines agree on the changed query, the difference has that
// cause. A change is null or an empty list for a query that does not have the cause.
import type {
  Clause,
  Expression,
  MapProjectionItem,
  PathPattern,
  Projection,
  ProjectionItem,
  Query,
  SingleQuery,
} from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'
import { type CypherNode, walkTree } from '../../grammar/walk.ts'
import { print } from '../support/print-cypher.ts'

/** A changed query, and what else must be true of it. */
export interface ChangedQuery {
  /** Both engines must return equal rows for it. */
  readonly text: string
  /** The rows must be those that Verdigraph returns for the query itself. */
  readonly keepsRows: boolean
  /** Unless empty, one must fail on both engines, with the kind of error that one of them reports for the query itself. */
  readonly failsAlone: readonly string[]
}

type QueryChange = (query: Query) => ChangedQuery[]

/** The changed queries of a text. Empty for a text that does not parse. */
export function changedQueries(text: string, change: QueryChange): ChangedQuery[] {
  const parsed = parse(text)
  return parsed.ok ? change(parsed.query) : []
}

/** The tree with each node replaced by `change(node)`, the children of a node before the node. */
function mapTree<Tree>(tree: Tree, change: (node: CypherNode) => CypherNode): Tree {
  if (tree === null || typeof tree !== 'object') return tree
  if (Array.isArray(tree)) return tree.map((item) => mapTree(item, change)) as Tree
  const isProjection = 'kind' in tree && tree.kind === 'map-projection'
  const members = Object.entries(tree).map(([key, child]) => {
    if (key === 'span') return [key, child]
    return [key, isProjection && key === 'items' ? mapItems(child, change) : mapTree(child, change)]
  })
  const copy = Object.fromEntries(members)
  return ('kind' in copy && 'span' in copy ? change(copy as unknown as CypherNode) : copy) as Tree
}

/** The items of a map projection are no nodes, although their kinds have the names of some. */
function mapItems(
  items: readonly MapProjectionItem[],
  change: (node: CypherNode) => CypherNode,
): readonly MapProjectionItem[] {
  return items.map((item) => (item.kind === 'entry' ? { ...item, value: mapTree(item.value, change) } : item))
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
  return text === print(query) ? [] : [{ text, keepsRows, failsAlone: [] }]
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
export const nanInGroups: QueryChange = (query) =>
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
export const divisorZero: QueryChange = (query) =>
  everywhere(
    query,
    (node) => {
      if (node.kind !== 'binary' || node.operator !== '/') return node
      return { ...node, right: expressionOf('CASE WHEN $z = 0 THEN toFloat($z) ELSE $z END', { z: node.right }) }
    },
    true,
  )

/** A list of a subquery is copied before an item or a part of it is taken. */
export const collectedCopied: QueryChange = (query) =>
  everywhere(
    query,
    (node) => {
      if ((node.kind !== 'index' && node.kind !== 'slice') || node.target.kind !== 'collect-subquery') return node
      return { ...node, target: expressionOf('[item IN $list | item]', { list: node.target }) }
    },
    true,
  )

/** A count is no operand of a comparison. */
export const countsWrapped: QueryChange = (query) =>
  everywhere(
    query,
    (node) => (node.kind === 'count-subquery' ? expressionOf('coalesce($count, 0)', { count: node }) : node),
    true,
  )

/** A condition that is no boolean becomes null. */
export const conditionAsBoolean: QueryChange = (query) => {
  // These are booleans, and a pattern cannot be an operand.
  const plain = [
    'comparison',
    'null-test',
    'label-test',
    'value-test',
    'boolean',
    'quantifier',
    'exists',
    'pattern-predicate',
  ]
  const isPlain = (condition: Expression): boolean =>
    plain.includes(condition.kind) ||
    (condition.kind === 'binary' && /^(AND|OR|XOR)$/.test(condition.operator)) ||
    (condition.kind === 'unary' && condition.operator === 'NOT')
  const checked = (condition: Expression): Expression =>
    isPlain(condition)
      ? condition
      : expressionOf('CASE WHEN $condition IS :: BOOLEAN THEN $condition ELSE null END', { condition })
  return everywhere(
    query,
    (node) => {
      if (node.kind === 'binary' && /^(AND|OR|XOR)$/.test(node.operator))
        return { ...node, left: checked(node.left), right: checked(node.right) }
      if (node.kind === 'unary' && node.operator === 'NOT') return { ...node, operand: checked(node.operand) }
      if (node.kind === 'case' && node.subject === null)
        return { ...node, branches: node.branches.map((branch) => ({ ...branch, when: branch.when.map(checked) })) }
      if (!('where' in node) || node.where === null) return node
      return { ...node, where: checked(node.where) }
    },
    false,
  )
}

/** A boolean or a temporal value becomes a text before it is added to one. */
export const addedAsText: QueryChange = (query) => {
  const types = ['BOOLEAN', 'DATE', 'DURATION', 'LOCAL TIME', 'ZONED TIME', 'LOCAL DATETIME', 'ZONED DATETIME']
  const isOther = types.map((type) => `${type} NOT NULL`).join(' | ')
  // Both sides: beside a call that returns a text, Neo4j refuses a value whose type the text of the query shows.
  const template = `CASE
    WHEN $a IS :: STRING NOT NULL AND $b IS :: ${isOther} THEN toStringOrNull($a) + toStringOrNull($b)
    WHEN $b IS :: STRING NOT NULL AND $a IS :: ${isOther} THEN toStringOrNull($a) + toStringOrNull($b)
    ELSE $a + $b END`
  return everywhere(
    query,
    (node) =>
      node.kind === 'binary' && node.operator === '+' ? expressionOf(template, { a: node.left, b: node.right }) : node,
    false,
  )
}

/** A value that is no list becomes a list of one item where a list is wanted. */
export const singleValueAsList: QueryChange = (query) => {
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
export const emptyTextAsNull: QueryChange = (query) =>
  callsReplaced(
    query,
    { split: "CASE WHEN $a0 = '' THEN null ELSE split($a0, $a1) END" },
    (args) => args.length === 2,
    false,
  )

/** The parts of a text that was split are copied. */
export const splitCopied: QueryChange = (query) =>
  callsReplaced(query, { split: "[part IN split($a0, $a1) | part + '']" }, (args) => args.length === 2, true)

/** Subqueries that aggregate become null. */
export const aggregatingSubqueryAsNull: QueryChange = (query) =>
  everywhere(
    query,
    (node) => (isSubquery(node) && hasAggregate(node) ? { kind: 'null', span: node.span } : node),
    false,
  )

function hasAggregate(subquery: BracedSubquery): boolean {
  let has = false
  walkTree(subquery, (node) => {
    if (node.kind === 'count-star' || (node.kind === 'function' && AGGREGATES.test(node.name.text))) has = true
  })
  return has
}

/** The sum has no rounding, and is a duration where the average is one. */
export const averageAsSum: QueryChange = (query) => callsReplaced(query, { avg: 'sum($a0)' }, () => true, false)

/** Without `:00`, a time with seconds and one without them have the same text. */
export const textWithoutZeros: QueryChange = (query) =>
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

/** A text with a digit outside of 0 to 9 is null before it is read as an integer. */
export const otherDigitsAsNull: QueryChange = (query) => {
  const read = (argument: string): string =>
    `CASE WHEN ${argument} IS :: STRING NOT NULL AND ${argument} =~ '(?s).*[^\\\\P{Nd}0-9].*' THEN null ELSE ${argument} END`
  return callsReplaced(
    query,
    {
      tointeger: `toInteger(${read('$a0')})`,
      tointegerornull: `toIntegerOrNull(${read('$a0')})`,
      tointegerlist: `toIntegerList([item IN $a0 | ${read('item')}])`,
    },
    () => true,
    true,
  )
}

/** Without a selector of groups, a pattern of one length has the same paths: all are of one group. */
export const groupsOfOneLengthAsAll: QueryChange = (query) =>
  everywhere(
    query,
    (node) => {
      if (node.kind !== 'path' || node.selector?.keep !== 'groups' || node.where === null) return node
      return hasOneLength(node) ? { ...node, selector: null } : node
    },
    true,
  )

function hasOneLength({ relationships }: PathPattern): boolean {
  return relationships.every((part) => {
    if (part.kind === 'quantified-path' && !hasOneLength(part.pattern)) return false
    return part.range === null || (part.range.min !== null && part.range.min === part.range.max)
  })
}

/** Trims both sides of a text whose left side cannot be trimmed. */
export const trimmedRight: QueryChange = (query) =>
  callsReplaced(query, { rtrim: "substring(btrim('\u{2016}' + $a0, $a1), 1)" }, (args) => args.length === 2, true)

type BracedSubquery = Extract<Expression, { kind: 'exists' | 'count-subquery' | 'collect-subquery' }>

function isSubquery(node: CypherNode): node is BracedSubquery {
  return node.kind === 'exists' || node.kind === 'count-subquery' || node.kind === 'collect-subquery'
}

/** Each subset of one or all counts in the condition of an OPTIONAL MATCH is computed before the clause. */
export const countsBeforeOptionalMatch: QueryChange = (query) => {
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
  return { text: print(tree), keepsRows: true, failsAlone: [] }
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

const OPERATIONS = [
  ...(['binary', 'comparison', 'unary', 'function', 'property', 'index', 'slice', 'case', 'quantifier'] as const),
  ...(['reduce', 'list-comprehension', 'exists', 'count-subquery', 'collect-subquery'] as const),
] as const
type Operation = Extract<Expression, { kind: (typeof OPERATIONS)[number] }>

const isOperation = (node: CypherNode): node is Operation => OPERATIONS.some((kind) => kind === node.kind)

/**
 * One part that fails alone becomes null. Alone: after the clauses before it, without their conditions, or after a MATCH of all
 * combinations of the nodes that it reads.
 */
export const unevaluatedPartAsNull: QueryChange = (query) => {
  const [part] = query.parts
  if (part === undefined || query.parts.length > 1 || query.input !== null) return []
  return part.clauses.flatMap((clause, index): ChangedQuery[] => {
    if (clause.kind === 'call') {
      const empty = { ...clause, imports: null, query: nullColumns(clause.query) }
      const text = print(withClauses(query, part.clauses.with(index, empty)))
      return [{ text, keepsRows: false, failsAlone: [print(clause.query)] }]
    }
    const before = part.clauses.slice(0, index).map(bare)
    // The condition of a clause also reads the names that the clause brings.
    const brought = clause.kind === 'match' || clause.kind === 'with' ? [...before, bare(clause)] : before
    const conditions = conditionsOf(clause)
    const inConditions = new Set(conditions.flatMap(operationsIn).map(place))
    const parts = operationsIn(clause).filter((operation) => !isAggregating(operation))
    return [
      ...conditions.map((condition) => changed(condition, brought, filteredRows(condition))),
      ...parts.map((operation) => {
        const readsBrought = clause.kind === 'match' || inConditions.has(place(operation))
        return changed(operation, readsBrought ? brought : before, [returned(operation)])
      }),
    ]
  })

  function changed(expression: Expression, known: readonly Clause[], alone: readonly Clause[]): ChangedQuery {
    const at = place(expression)
    const tree = mapTree(query, (node) =>
      node.kind === expression.kind && place(node) === at ? { kind: 'null', span: node.span } : node,
    )
    const places = [known, nodesRead(expression, query)]
    const failsAlone = places.map((clauses) => print(withClauses(query, [...clauses, ...alone])))
    return {
      text: print(tree),
      keepsRows: false,
      failsAlone,
    }
  }
}

const withClauses = (query: Query, clauses: readonly Clause[]): Query => ({
  ...query,
  parts: [{ clauses, span: query.span }],
})

/** The clause without conditions, so that as many rows as possible reach the next. */
function bare(clause: Clause): Clause {
  return mapTree(clause, (node) => {
    switch (node.kind) {
      case 'match':
      case 'with':
      case 'path':
      case 'quantified-path':
        return { ...node, where: null }
      case 'node':
        return { ...node, labels: null, properties: null, where: null }
      case 'relationship':
        return { ...node, types: null, properties: null, where: null }
      default:
        return node
    }
  })
}

/** The condition of a MATCH or WITH, and its operands of AND. */
function conditionsOf(clause: Clause): Expression[] {
  const where = clause.kind === 'match' || clause.kind === 'with' ? clause.where : null
  const operands = (condition: Expression): Expression[] =>
    condition.kind === 'binary' && condition.operator === 'AND'
      ? [condition, ...operands(condition.left), ...operands(condition.right)]
      : [condition]
  return where === null ? [] : operands(where)
}

/** The operations of a clause; those within a subquery belong to the subquery. */
function operationsIn(tree: unknown): Operation[] {
  if (tree === null || typeof tree !== 'object') return []
  if (Array.isArray(tree)) return tree.flatMap(operationsIn)
  const node = tree as CypherNode
  if (node.kind === 'query') return []
  // As in `mapItems`.
  if (node.kind === 'map-projection')
    return node.items.flatMap((item) => (item.kind === 'entry' ? operationsIn(item.value) : []))
  const below = isSubquery(node) ? [] : Object.values(tree).flatMap(operationsIn)
  return 'span' in tree && isOperation(node) ? [node, ...below] : below
}

function returned(expression: Expression): Clause {
  const { span } = expression
  const items = [{ expression, alias: { text: 'x', span }, text: 'x', span }]
  return { kind: 'return', distinct: false, star: false, items, orderBy: [], skip: null, limit: null, span }
}

/** A MATCH of the nodes that an expression reads, without their relationships. */
function nodesRead(expression: Expression, query: Query): Clause[] {
  const read = namesRead(expression)
  const nodes = new Map<string, PathPattern>()
  walkTree(query, (node) => {
    if (node.kind !== 'node' || node.variable === null || !read.has(node.variable.text)) return
    const { span } = node
    // Those of a subquery belong to the expression.
    if (span.start >= expression.span.start && span.end <= expression.span.end) return
    const alone = { ...node, labels: null, properties: null, where: null }
    const path = { variable: null, shortest: null, selector: null, relationships: [], where: null, span } as const
    nodes.set(node.variable.text, { kind: 'path', nodes: [alone], ...path })
  })
  if (nodes.size === 0) return []
  const { span } = expression
  return [{ kind: 'match', optional: false, mode: null, patterns: [...nodes.values()], where: null, span }]
}

/** The names that an expression reads, its own included. */
function namesRead(expression: Expression): Set<string> {
  const read = new Set<string>()
  walkTree(expression, (node) => {
    if (node.kind === 'variable') read.add(node.name)
    if (node.kind !== 'map-projection') return
    read.add(node.variable.text)
    for (const item of node.items) if (item.kind === 'variable') read.add(item.variable.text)
  })
  return read
}

/** Whether an expression reads a name; a subquery is taken for one that brings its own. */
const readsNames = (expression: Expression): boolean => !isSubquery(expression) && namesRead(expression).size > 0

/** The rows for which a condition is true, as numbers. */
function filteredRows(condition: Expression): Clause[] {
  const { span } = condition
  const reads = readsNames(condition)
  const one = returned({ kind: 'integer', value: 1, span }) as Extract<Clause, { kind: 'return' }>
  return [
    { ...one, kind: 'with', keyword: 'WITH', star: reads, where: condition },
    returned({ kind: 'variable', name: 'x', span }),
  ]
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
