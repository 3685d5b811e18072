// Rules for clauses and queries: USE, MATCH, UNWIND, WITH, RETURN, CALL { }, UNION.
import type {
  CallClause,
  Clause,
  MatchClause,
  Name,
  Projection,
  ProjectionItem,
  Query,
  ReturnClause,
  SingleQuery,
  SortItem,
  UnwindClause,
  UseClause,
  WithClause,
} from '../ast.ts'
import * as build from '../build-ast.ts'
import { throwSyntaxError } from '../syntax-error.ts'
import * as t from '../tokens.ts'
import { kw } from '../tokens.ts'
import { PatternRules } from './patterns.ts'

/** Rules for clauses and queries. */
export abstract class ClauseRules extends PatternRules {
  /** The whole text. */
  readonly statement = this.RULE('statement', (): Query => {
    const query = this.SUBRULE(this.query)
    this.OPTION(() => this.CONSUME(t.Semicolon))
    return query
  })

  readonly query = this.RULE('query', (): Query => {
    this.descend()
    const start = this.here()
    const parts: SingleQuery[] = [this.SUBRULE(this.singleQuery)]
    const unions: ('all' | 'distinct')[] = []
    this.MANY(() => {
      this.CONSUME(kw.UNION)
      unions.push(this.OPTION(() => this.CONSUME(kw.ALL)) === undefined ? 'distinct' : 'all')
      parts.push(this.SUBRULE2(this.singleQuery))
    })
    this.ascend()
    return build.query(parts, unions, this.since(start))
  })

  /** RETURN ends a query. A query without it is the condition of a policy or the body of `exists { }`. */
  readonly singleQuery = this.RULE('singleQuery', (): SingleQuery => {
    const start = this.here()
    const clauses: Clause[] = []
    this.AT_LEAST_ONE({
      GATE: () => clauses.at(-1)?.kind !== 'return',
      DEF: () => clauses.push(this.SUBRULE(this.clause)),
      ERR_MSG: 'a clause such as `MATCH`',
    })
    return { clauses, span: this.since(start) }
  })

  readonly clause = this.RULE(
    'clause',
    (): Clause =>
      this.OR([
        { ALT: () => this.SUBRULE(this.matchClause) },
        { ALT: () => this.SUBRULE(this.withClause) },
        { ALT: () => this.SUBRULE(this.returnClause) },
        { ALT: () => this.SUBRULE(this.unwindClause) },
        { ALT: () => this.SUBRULE(this.callClause) },
        { ALT: () => this.SUBRULE(this.useClause) },
      ]),
  )

  readonly matchClause = this.RULE('matchClause', (): MatchClause => {
    const start = this.here()
    const optional = this.OPTION(() => this.CONSUME(kw.OPTIONAL)) !== undefined
    this.CONSUME(kw.MATCH)
    const patterns = this.SUBRULE(this.patternList)
    const where = this.OPTION2(() => this.SUBRULE(this.where)) ?? null
    return build.match(optional, patterns, where, this.since(start))
  })

  readonly unwindClause = this.RULE('unwindClause', (): UnwindClause => {
    const start = this.here()
    this.CONSUME(kw.UNWIND)
    const list = this.SUBRULE(this.expression)
    this.CONSUME(kw.AS)
    const variable = this.SUBRULE(this.freeName)
    return { kind: 'unwind', list, variable, span: this.since(start) }
  })

  readonly useClause = this.RULE('useClause', (): UseClause => {
    const start = this.here()
    this.CONSUME(kw.USE)
    const graph = this.SUBRULE(this.freeName)
    const member = this.OPTION(() => {
      this.CONSUME(t.Dot)
      return this.SUBRULE(this.anyName)
    })
    const reference = `${graph.text}.${member?.text}`
    if (!this.RECORDING_PHASE && reference.toLowerCase() !== 'graph.byname') {
      const expected = '`graph.byName(…)`'
      const span = this.since(graph.span.start)
      const found = `\`${this.source.slice(span.start, span.end)}\``
      throwSyntaxError({
        code: 'UnexpectedSyntax',
        message: `\`USE\` expects a graph as ${expected}`,
        span,
        found,
        expected,
      })
    }
    this.CONSUME(t.OpenParen)
    const argument = this.SUBRULE(this.expression)
    this.CONSUME(t.CloseParen)
    return { kind: 'use', argument, span: this.since(start) }
  })

  readonly callClause = this.RULE('callClause', (): CallClause => {
    const start = this.here()
    this.CONSUME(kw.CALL)
    const imports = this.OPTION(() => this.SUBRULE(this.callImports)) ?? null
    this.CONSUME(t.OpenBrace)
    const query = this.SUBRULE(this.query)
    this.CONSUME(t.CloseBrace)
    return { kind: 'call', imports, query, span: this.since(start) }
  })

  readonly callImports = this.RULE('callImports', (): CallClause['imports'] => {
    const names: Name[] = []
    this.CONSUME(t.OpenParen)
    const star = this.OR([
      { ALT: () => this.CONSUME(t.Star) && true },
      {
        ALT: () => {
          this.MANY_SEP({ SEP: t.Comma, DEF: () => names.push(this.SUBRULE(this.freeName)) })
          return false
        },
      },
    ])
    this.CONSUME(t.CloseParen, { ERR_MSG: star ? '`)`' : 'a variable, `*` or `)`' })
    return star ? '*' : names
  })

  // ---------------------------------------------------------------- projections

  readonly withClause = this.RULE('withClause', (): WithClause => {
    const start = this.here()
    this.CONSUME(kw.WITH)
    const projection = this.SUBRULE(this.projection)
    const where = this.OPTION(() => this.SUBRULE(this.where)) ?? null
    return build.withClause(projection, where, this.since(start))
  })

  readonly returnClause = this.RULE('returnClause', (): ReturnClause => {
    const start = this.here()
    this.CONSUME(kw.RETURN)
    const projection = this.SUBRULE(this.projection)
    return build.returnClause(projection, this.since(start))
  })

  readonly projection = this.RULE('projection', (): Projection => {
    const distinct = this.OPTION(() => this.CONSUME(kw.DISTINCT)) !== undefined
    const items: ProjectionItem[] = []
    const star = this.OR([
      { ALT: () => this.CONSUME(t.Star) && true },
      {
        ALT: () => {
          items.push(this.SUBRULE(this.projectionItem))
          return false
        },
      },
    ])
    this.MANY(() => {
      this.CONSUME(t.Comma)
      items.push(this.SUBRULE2(this.projectionItem))
    })
    const orderBy = this.OPTION2(() => this.SUBRULE(this.orderBy)) ?? []
    const skip =
      this.OPTION3(() => {
        this.OR2([{ ALT: () => this.CONSUME(kw.SKIP) }, { ALT: () => this.CONSUME(kw.OFFSET) }])
        return this.SUBRULE(this.expression)
      }) ?? null
    const limit =
      this.OPTION4(() => {
        this.CONSUME(kw.LIMIT)
        return this.SUBRULE2(this.expression)
      }) ?? null
    return { distinct, star, items, orderBy, skip, limit }
  })

  readonly projectionItem = this.RULE('projectionItem', (): ProjectionItem => {
    const start = this.here()
    const expression = this.SUBRULE(this.expression)
    const text = this.source.slice(start, this.since(start).end)
    const alias =
      this.OPTION(() => {
        this.CONSUME(kw.AS)
        return this.SUBRULE(this.freeName)
      }) ?? null
    return { expression, alias, text, span: this.since(start) }
  })

  readonly orderBy = this.RULE('orderBy', (): SortItem[] => {
    const items: SortItem[] = []
    this.CONSUME(kw.ORDER)
    this.CONSUME(kw.BY)
    this.AT_LEAST_ONE_SEP({ SEP: t.Comma, DEF: () => items.push(this.SUBRULE(this.sortItem)) })
    return items
  })

  readonly sortItem = this.RULE('sortItem', (): SortItem => {
    const start = this.here()
    const expression = this.SUBRULE(this.expression)
    const descending = this.OPTION(() =>
      this.OR([
        { ALT: () => this.CONSUME(kw.ASC) && false },
        { ALT: () => this.CONSUME(kw.ASCENDING) && false },
        { ALT: () => this.CONSUME(kw.DESC) && true },
        { ALT: () => this.CONSUME(kw.DESCENDING) && true },
      ]),
    )
    return { expression, descending: descending ?? false, span: this.since(start) }
  })
}
