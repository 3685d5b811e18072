// Derives from the syntax tree what the formatter must know about single tokens: which are names, which belong to arrows,
// labels or ranges, which signs have one operand, and which parts of the text stay as they are.
import type { IToken } from 'chevrotain'
import type {
  Expression,
  LabelExpression,
  ProjectionItem,
  Query,
  RelationshipPattern,
  Span,
  ValueTest,
} from '../../../grammar/ast.ts'
import * as t from '../../../grammar/tokens.ts'
import { kw } from '../../../grammar/tokens.ts'
import { type CypherNode, walkTree } from '../../../grammar/walk.ts'
import { assertNever } from '../../kernel/assert.ts'

/** Sets of token offsets, and spans that are printed as written. */
export interface TokenRoles {
  /** Tokens at a place of a name: also keywords, which are then not changed. */
  readonly names: ReadonlySet<number>
  /** Signs with one operand. */
  readonly signs: ReadonlySet<number>
  /** The signs and brackets of relationships. */
  readonly arrows: ReadonlySet<number>
  /** Tokens of label expressions, with their colon, and of numbers of hops. */
  readonly joined: ReadonlySet<number>
  /** Tokens after which there is a space, whatever follows. */
  readonly spaced: ReadonlySet<number>
  /** Tokens of path selectors: keywords that are no functions here. */
  readonly words: ReadonlySet<number>
  /** Colons of maps. */
  readonly mapColons: ReadonlySet<number>
  /** Braces of subqueries. */
  readonly blocks: ReadonlySet<number>
  /** The literal `null`, not the keyword of `IS NULL`. */
  readonly nulls: ReadonlySet<number>
  /** The text of a column without alias is its name. */
  readonly verbatim: readonly Span[]
}

/** Finds tokens by their offsets. */
export class TokenTable {
  readonly tokens: readonly IToken[]
  private readonly byOffset: ReadonlyMap<number, number>

  constructor(tokens: readonly IToken[]) {
    this.tokens = tokens
    this.byOffset = new Map(tokens.map((token, i) => [token.startOffset, i]))
  }

  /** The index of the token that starts at an offset. */
  at(offset: number): number {
    return this.byOffset.get(offset)!
  }

  /** The indexes of the tokens of a span, from the first to the one after the last. */
  range({ start, end }: Span): readonly [first: number, end: number] {
    return [this.at(start), this.firstFrom(end)]
  }

  /** The index of the first token that starts at an offset or later. */
  private firstFrom(offset: number): number {
    let [low, high] = [0, this.tokens.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.tokens[middle]!.startOffset < offset) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The offset of the last token with one of the types before an offset. */
  before(offset: number, ...types: readonly unknown[]): number {
    let i = this.at(offset) - 1
    while (!types.includes(this.tokens[i]!.tokenType)) i -= 1
    return this.tokens[i]!.startOffset
  }

  /** The offset of the first token with that type from an offset on. */
  after(offset: number, type: unknown): number {
    let i = this.firstFrom(offset)
    while (this.tokens[i]!.tokenType !== type) i += 1
    return this.tokens[i]!.startOffset
  }

  /** The offset of the last token of a span. */
  lastOf(span: Span): number {
    return this.tokens[this.range(span)[1] - 1]!.startOffset
  }

  /** The offset of the bracket that the bracket at an offset closes. */
  openerOf(closer: number): number {
    const at = this.at(closer)
    let i = at - 1
    while (this.tokens[i]!.payload !== at - i) i -= 1
    return this.tokens[i]!.startOffset
  }
}

/** Derives the roles of the tokens of a query. */
export function rolesOf(query: Query, table: TokenTable): TokenRoles {
  const collector = new RoleCollector(table)
  walkTree(query, (node) => collector.enter(node))
  collector.names(query)
  return collector.roles
}

class RoleCollector {
  readonly roles = {
    names: new Set<number>(),
    signs: new Set<number>(),
    arrows: new Set<number>(),
    joined: new Set<number>(),
    spaced: new Set<number>(),
    words: new Set<number>(),
    mapColons: new Set<number>(),
    blocks: new Set<number>(),
    nulls: new Set<number>(),
    verbatim: [] as Span[],
  }
  private readonly table: TokenTable

  constructor(table: TokenTable) {
    this.table = table
  }

  enter(node: CypherNode): void {
    const { roles, table } = this
    switch (node.kind) {
      case 'variable':
        roles.names.add(node.span.start)
        return
      case 'label':
        roles.names.add(node.span.start)
        return
      case 'null':
        roles.nulls.add(node.span.start)
        return
      case 'node':
        if (node.labels !== null) this.labels(node.labels)
        return
      case 'relationship':
        this.relationship(node)
        return
      case 'label-test':
        this.labels(node.labels)
        return
      case 'selector':
        for (let [i, end] = table.range(node.span); i < end; i++) roles.words.add(table.tokens[i]!.startOffset)
        return
      case 'quantified-path':
        this.join(...table.range(node.range.span))
        roles.spaced.add(table.lastOf(node.range.span))
        return
      case 'value-test':
        this.valueTypes(node)
        return
      case 'map':
        for (const { key } of node.entries) roles.mapColons.add(table.after(key.span.end, t.Colon))
        return
      case 'map-projection':
        for (const item of node.items)
          if (item.kind === 'entry') roles.mapColons.add(table.after(item.key.span.end, t.Colon))
        return
      case 'unary':
        if (node.operator !== 'NOT') roles.signs.add(node.span.start)
        return
      case 'integer':
      case 'float':
        if (table.tokens[table.at(node.span.start)]!.tokenType === t.Minus) roles.signs.add(node.span.start)
        return
      case 'exists':
      case 'count-subquery':
      case 'collect-subquery':
      case 'call':
      case 'block':
        this.block(node.span)
        return
      case 'with':
      case 'return':
        for (const item of node.items) this.column(item)
        return
      default:
        return
    }
  }

  /** Marks the tokens of every name of the tree; a dotted name has several. */
  names(tree: unknown): void {
    if (tree === null || typeof tree !== 'object') return
    const { text, span, expression } = tree as { text?: unknown; span?: Span; expression?: unknown }
    if (typeof text === 'string' && span !== undefined && expression === undefined) {
      const [first, end] = this.table.range(span)
      for (let i = first; i < end; i++) this.roles.names.add(this.table.tokens[i]!.startOffset)
    }
    for (const child of Object.values(tree)) this.names(child)
  }

  private column({ alias, expression, span }: ProjectionItem): void {
    // Parentheses around a variable are a part of the name.
    const isVariable =
      expression.kind === 'variable' && expression.span.end - expression.span.start === span.end - span.start
    if (alias === null && !isVariable) this.roles.verbatim.push(span)
  }

  private block(span: Span): void {
    const closer = this.table.lastOf(span)
    this.roles.blocks.add(closer).add(this.table.openerOf(closer))
  }

  private relationship({ span, types, range, properties, where }: RelationshipPattern): void {
    const { roles, table } = this
    const inside = [range, properties, where].flatMap((part) => (part === null ? [] : [part.span]))
    const [first, end] = table.range(span)
    for (let i = first; i < end; i++) {
      const { tokenType, startOffset } = table.tokens[i]!
      if (!arrowTokens.has(tokenType) || inside.some((one) => one.start <= startOffset && startOffset < one.end))
        continue
      roles.arrows.add(startOffset)
    }
    if (types !== null) this.labels(types)
    if (range !== null) this.join(...table.range(range.span))
  }

  /** Labels with the colon and the parentheses around them, which the span does not include. `IS` keeps its spaces. */
  private labels(labels: LabelExpression): void {
    const { tokens } = this.table
    let [first, end] = this.table.range(labels.span)
    const dynamic = dynamicExpressions(labels).map(({ span }) => this.table.range(span))
    while (tokens[first]!.tokenType !== t.Colon && tokens[first]!.tokenType !== kw.IS) {
      first -= 1
      if (tokens[first]!.tokenType === t.OpenParen) end += 1
    }
    if (tokens[first]!.tokenType === kw.IS) first += 2
    for (const [from, to] of dynamic) {
      this.join(first, from)
      first = to
    }
    this.join(first, end)
  }

  /** `::` and the angle brackets of `LIST<INTEGER>` are printed without spaces inside. */
  private valueTypes({ operand, span }: ValueTest): void {
    const { tokens } = this.table
    const [, end] = this.table.range(span)
    for (let i = this.table.at(span.start) + 1; i < end; i++) {
      const { tokenType, startOffset } = tokens[i]!
      if (startOffset < operand.span.end) continue
      const before = tokens[i - 1]!.tokenType
      const isInside =
        tokenType === t.Less || before === t.Less || tokenType === t.Greater || tokenType === t.Exclamation
      if (isInside || (tokenType === t.Colon && before === t.Colon)) this.join(i, i + 1)
    }
  }

  private join(first: number, end: number): void {
    for (let i = first; i < end; i++) this.roles.joined.add(this.table.tokens[i]!.startOffset)
  }
}

/** The expressions of dynamic labels, in the order of the text. */
function dynamicExpressions(labels: LabelExpression): readonly Expression[] {
  switch (labels.kind) {
    case 'label':
    case 'label-any':
      return []
    case 'label-and':
    case 'label-or':
      return labels.operands.flatMap(dynamicExpressions)
    case 'label-not':
      return dynamicExpressions(labels.operand)
    case 'label-dynamic':
      return [labels.expression]
    default:
      return assertNever(labels)
  }
}

const arrowTokens: ReadonlySet<unknown> = new Set([t.Less, t.Minus, t.Greater, t.OpenBracket, t.CloseBracket])

/** Keywords that begin an operand, such as `count(` and `shortestPath(`: no space before their parenthesis. */
export const callWords: ReadonlyMap<unknown, string> = new Map([
  [kw.ALL, 'all'],
  [kw.ANY, 'any'],
  [kw.NONE, 'none'],
  [kw.SINGLE, 'single'],
  [kw.REDUCE, 'reduce'],
  [kw.ALLREDUCE, 'allReduce'],
  [kw.COUNT, 'count'],
  [kw.COLLECT, 'collect'],
  [kw.EXISTS, 'exists'],
  [kw.SHORTESTPATH, 'shortestPath'],
  [kw.ALLSHORTESTPATHS, 'allShortestPaths'],
])
