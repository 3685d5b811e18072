// Derives from the syntax tree where the formatter may break lines: groups of places that are broken together, or not at
// all if the group fits on the line.
import type { Clause, ConditionalClause, Expression, Query, SingleQuery, Span } from '../../../grammar/ast.ts'
import * as t from '../../../grammar/tokens.ts'
import { kw } from '../../../grammar/tokens.ts'
import { walkTree } from '../../../grammar/walk.ts'
import type { TokenTable } from './token-roles.ts'

/** A part of the text that is printed on one line if it fits. */
export interface LineGroup {
  readonly start: number
  readonly end: number
}

/** A place before which a line may be broken. `group`: null: always. `indent`: levels deeper than the group. */
interface LineBreak {
  readonly group: LineGroup | null
  readonly indent: number
}

/** The groups, and the breaks by the offset of the token that follows. */
export interface LineLayout {
  readonly groups: readonly LineGroup[]
  readonly breaks: ReadonlyMap<number, LineBreak>
}

/** Derives the layout of a query. */
export function layoutOf(query: Query, table: TokenTable): LineLayout {
  const collector = new LayoutCollector(table)
  collector.query(query, null, 0)
  walkTree(query, (node) => {
    switch (node.kind) {
      case 'exists':
      case 'count-subquery':
        if (node.body.kind === 'query') collector.block(node.span, node.body.query)
        else collector.patternBlock(node.span, node.body.where)
        return
      case 'collect-subquery':
      case 'call':
      case 'block':
        collector.block(node.span, node.query)
        return
      case 'conditional':
        collector.branches(node)
        return
      case 'case':
        collector.alternatives(node)
        return
      case 'list':
      case 'map':
      case 'function':
      case 'reduce':
        collector.items(node.span)
        return
      default:
        return
    }
  })
  return collector
}

class LayoutCollector implements LineLayout {
  readonly groups: LineGroup[] = []
  readonly breaks = new Map<number, LineBreak>()
  private readonly table: TokenTable
  private readonly depths: readonly number[]

  constructor(table: TokenTable) {
    this.table = table
    let depth = 0
    this.depths = table.tokens.map(({ tokenType }) => {
      if (closers.has(tokenType)) depth -= 1
      const own = depth
      if (openers.has(tokenType)) depth += 1
      return own
    })
  }

  /** `group`: the block around the query; null: the whole text. */
  query({ input, parts }: Query, group: LineGroup | null, indent: number): void {
    if (input !== null) {
      this.query(input, group, indent)
      this.break(this.table.after(input.span.end, kw.NEXT), group, indent)
    }
    parts.forEach((part, i) => {
      if (i > 0) {
        this.break(this.table.after(parts[i - 1]!.span.end, kw.UNION), group, indent)
        this.break(part.span.start, group, indent)
      }
      this.clauses(part, group, indent)
    })
  }

  block(span: Span, query: Query): void {
    const group = this.braces(span)
    this.query(query, group, 1)
  }

  /** `WHEN`, `ELSE` and the queries of the branches, each on a line of its own unless all fit on one. */
  branches({ branches, span }: ConditionalClause): void {
    const group = this.group(span)
    branches.forEach(({ when, query }, i) => {
      const keyword = this.table.before(when?.span.start ?? query.span.start, when === null ? kw.ELSE : kw.WHEN)
      if (i > 0) this.break(keyword, group, 0)
      const [part] = query.parts
      if (part === undefined || part.clauses.at(-1)?.kind === 'block') return
      const inner = this.group(query.span)
      this.break(query.span.start, group, 1)
      part.clauses.forEach((clause, at) => {
        if (at > 0) this.break(clause.span.start, inner, 0)
        this.clause(clause)
      })
    })
  }

  patternBlock(span: Span, where: Expression | null): void {
    const group = this.braces(span)
    if (where !== null) this.condition(where, group, 1)
  }

  alternatives(node: Extract<Expression, { kind: 'case' }>): void {
    const group = this.group(node.span)
    for (const { when } of node.branches) this.break(this.table.before(when[0]!.span.start, kw.WHEN), group, 1)
    if (node.otherwise !== null) this.break(this.table.before(node.otherwise.span.start, kw.ELSE), group, 1)
    this.break(this.table.lastOf(node.span), group, 0)
  }

  /** The items between the last bracket of the span and its partner. */
  items(span: Span): void {
    const closer = this.table.lastOf(span)
    const opener = this.table.openerOf(closer)
    const [first, last] = [this.table.at(opener), this.table.at(closer)]
    if (last === first + 1) return
    const group = this.group({ start: opener, end: span.end })
    this.break(this.table.tokens[first + 1]!.startOffset, group, 1)
    for (let i = first + 1; i < last; i++) {
      const isBetween = this.depths[i] === this.depths[first]! + 1 && this.table.tokens[i]!.tokenType === t.Comma
      if (isBetween) this.break(this.table.tokens[i + 1]!.startOffset, group, 1)
    }
    this.break(closer, group, 0)
  }

  private clauses({ clauses }: SingleQuery, group: LineGroup | null, indent: number): void {
    for (const clause of clauses) {
      this.break(clause.span.start, group, indent)
      this.clause(clause)
    }
  }

  private clause(clause: Clause): void {
    const group = this.group(clause.span)
    switch (clause.kind) {
      case 'match': {
        const { patterns, where } = clause
        const list = this.group({ start: patterns[0]!.span.start, end: patterns.at(-1)!.span.end })
        for (const { span } of patterns.slice(1)) this.break(span.start, list, 1)
        if (where !== null) this.condition(where, group, 0)
        return
      }
      case 'with':
      case 'return': {
        const { items, star, orderBy, skip, limit } = clause
        const isShort = clause.kind === 'with' && clause.keyword !== 'WITH'
        const [firstItem] = items
        if (firstItem !== undefined) {
          const list = this.group({ start: firstItem.span.start, end: items.at(-1)!.span.end })
          for (const { span } of star && !isShort ? items : items.slice(1)) this.break(span.start, list, 1)
        }
        const [key] = orderBy
        const tail = [
          ...(key === undefined ? [] : [this.table.before(key.span.start, kw.ORDER)]),
          ...(skip === null ? [] : [this.table.before(skip.span.start, kw.SKIP, kw.OFFSET)]),
          ...(limit === null ? [] : [this.table.before(limit.span.start, kw.LIMIT)]),
        ]
        for (const offset of tail) if (offset !== clause.span.start) this.break(offset, group, 1)
        if (clause.kind !== 'with' || clause.where === null) return
        if (clause.keyword === 'WITH') this.condition(clause.where, group, 0)
        else this.junction(clause.span.start, clause.where)
        return
      }
      default:
        return
    }
  }

  /** A WHERE, with breaks before the operators of its outermost conjunction or disjunction. */
  private condition(where: Expression, around: LineGroup, indent: number): void {
    const keyword = this.table.before(where.span.start, kw.WHERE)
    this.break(keyword, around, indent)
    this.junction(keyword, where)
  }

  /** Breaks before the operators of the outermost conjunction or disjunction of a condition after a keyword. */
  private junction(keyword: number, where: Expression): void {
    const depth = this.depths[this.table.at(keyword)]
    const group = this.group({ start: keyword, end: where.span.end })
    for (let at = where; at.kind === 'binary' && at.operator === outermost(where); at = at.left) {
      const sign = this.table.after(at.left.span.end, kw[at.operator as 'AND' | 'OR' | 'XOR'])
      if (this.depths[this.table.at(sign)] === depth) this.break(sign, group, 1)
    }
  }

  private braces(span: Span): LineGroup {
    const closer = this.table.lastOf(span)
    const opener = this.table.openerOf(closer)
    const group = this.group({ start: opener, end: span.end })
    this.break(this.table.tokens[this.table.at(opener) + 1]!.startOffset, group, 1)
    this.break(closer, group, 0)
    return group
  }

  private group({ start, end }: Span): LineGroup {
    const group = { start, end }
    this.groups.push(group)
    return group
  }

  private break(offset: number, group: LineGroup | null, indent: number): void {
    this.breaks.set(offset, { group, indent })
  }
}

const openers: ReadonlySet<unknown> = new Set([t.OpenParen, t.OpenBracket, t.OpenBrace])
const closers: ReadonlySet<unknown> = new Set([t.CloseParen, t.CloseBracket, t.CloseBrace])

function outermost(where: Expression): 'AND' | 'OR' | 'XOR' | null {
  const operator = where.kind === 'binary' ? where.operator : null
  return operator === 'AND' || operator === 'OR' || operator === 'XOR' ? operator : null
}
