// Rules for clauses and queries: MATCH, WITH, RETURN, CALL { } and the others, UNION, NEXT and WHEN.
import type { IToken, TokenType } from 'chevrotain'
import type {
  BlockClause,
  CallClause,
  Clause,
  ConditionalClause,
  Expression,
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
import { spanOf } from '../literals.ts'
import { throwSyntaxError } from '../syntax-error.ts'
import * as t from '../tokens.ts'
import { kw } from '../tokens.ts'
import { PatternRules } from './patterns.ts'

/** Whether a clause that begins with the token may follow the clauses. */
function mayContinue(clauses: readonly Clause[], next: TokenType): boolean {
  const last = clauses.at(-1)?.kind
  if (last === 'return' || last === 'conditional' || last === 'block') return false
  return last === undefined || last === 'use' || (next !== kw.WHEN && next !== t.OpenBrace)
}

/** Without braces a reader takes the parts of the UNION for parts of the last branch; the manual of Neo4j demands them. */
function refuseAfterBranches({ clauses }: SingleQuery, union: IToken): void {
  if (clauses.at(-1)?.kind !== 'conditional') return
  throwSyntaxError({
    code: 'UnexpectedSyntax',
    message: '`WHEN` before `UNION` needs braces: write `{ WHEN … } UNION …`, or `THEN { … UNION … }`',
    span: spanOf(union),
    found: '`UNION`',
    expected: '`NEXT` or the end of the query',
  })
}

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
    let query = this.SUBRULE(this.queryStage, { ARGS: [null, start] })
    this.MANY(() => {
      this.CONSUME(kw.NEXT)
      query = this.SUBRULE2(this.queryStage, { ARGS: [query, start] })
    })
    this.ascend()
    return query
  })

  /** The queries between two `NEXT`. `input` is the query before it. */
  readonly queryStage = this.RULE('queryStage', (input: Query | null, start: number): Query => {
    const parts: SingleQuery[] = [this.SUBRULE(this.singleQuery)]
    const unions: ('all' | 'distinct')[] = []
    this.MANY(() => {
      const union = this.CONSUME(kw.UNION)
      if (!this.RECORDING_PHASE) refuseAfterBranches(parts.at(-1)!, union)
      const isAll = this.OPTION(() =>
        this.OR([{ ALT: () => this.CONSUME(kw.ALL) && true }, { ALT: () => this.CONSUME(kw.DISTINCT) && false }]),
      )
      unions.push(isAll ? 'all' : 'distinct')
      parts.push(this.SUBRULE2(this.singleQuery))
    })
    return build.query(input, parts, unions, this.since(start))
  })

  /**
   * RETURN ends a query. `WHEN` and `{ }` are a query of their own, perhaps after `USE`; elsewhere they do not continue it. A query without it is the condition of a policy or the body of `exists { }`. */
  readonly singleQuery = this.RULE('singleQuery', (): SingleQuery => {
    const start = this.here()
    const clauses: Clause[] = []
    this.AT_LEAST_ONE({
      GATE: () => mayContinue(clauses, this.LA(1).tokenType),
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
        { ALT: () => this.SUBRULE(this.filterClause) },
        { ALT: () => this.SUBRULE(this.letClause) },
        { ALT: () => this.SUBRULE(this.forClause) },
        { ALT: () => this.SUBRULE(this.orderClause) },
        { ALT: () => this.SUBRULE(this.conditionalClause) },
        { ALT: () => this.SUBRULE(this.blockClause) },
        {
          ALT: () => {
            const start = this.here()
            this.CONSUME(kw.OPTIONAL)
            return this.OR2([
              { ALT: () => this.SUBRULE2(this.matchClause, { ARGS: [start] }) },
              { ALT: () => this.SUBRULE2(this.callClause, { ARGS: [start] }) },
            ])
          },
        },
      ]),
  )

  /** `optionalStart`: where OPTIONAL begins, if the clause has it. */
  readonly matchClause = this.RULE('matchClause', (optionalStart?: number): MatchClause => {
    const start = optionalStart ?? this.here()
    this.CONSUME(kw.MATCH)
    const mode = this.SUBRULE(this.matchMode)
    const patterns = this.SUBRULE(this.patternList)
    const where = this.OPTION(() => this.SUBRULE(this.where)) ?? null
    return build.match(optionalStart !== undefined, mode, patterns, where, this.since(start))
  })

  readonly filterClause = this.RULE('filterClause', (): WithClause => {
    const start = this.here()
    this.CONSUME(kw.FILTER)
    this.OPTION(() => this.CONSUME(kw.WHERE))
    const where = this.claim(this.SUBRULE(this.expression))
    return build.withAll('FILTER', { where }, this.since(start))
  })

  readonly letClause = this.RULE('letClause', (): WithClause => {
    const start = this.here()
    const items: ProjectionItem[] = []
    this.CONSUME(kw.LET)
    this.AT_LEAST_ONE_SEP({ SEP: t.Comma, DEF: () => items.push(this.SUBRULE(this.letItem)) })
    return build.withAll('LET', { items }, this.since(start))
  })

  readonly letItem = this.RULE('letItem', (): ProjectionItem => {
    const start = this.here()
    const alias = this.SUBRULE(this.freeName)
    this.CONSUME(t.Equal)
    const from = this.here()
    const expression = this.SUBRULE(this.expression)
    return { expression, alias, text: this.source.slice(from, this.since(from).end), span: this.since(start) }
  })

  readonly forClause = this.RULE('forClause', (): UnwindClause => {
    const start = this.here()
    this.CONSUME(kw.FOR)
    const variable = this.SUBRULE(this.freeName)
    this.CONSUME(kw.IN)
    const list = this.SUBRULE(this.expression)
    return { kind: 'unwind', list, variable, span: this.since(start) }
  })

  /** `ORDER BY`, `SKIP` and `LIMIT` as a clause of their own. */
  readonly orderClause = this.RULE('orderClause', (): WithClause => {
    const start = this.here()
    const order = this.OR([
      {
        ALT: () => {
          const orderBy = this.SUBRULE(this.orderBy)
          const skip = this.OPTION(() => this.SUBRULE(this.skip)) ?? null
          return { orderBy, skip, limit: this.OPTION2(() => this.SUBRULE(this.limit)) ?? null }
        },
      },
      {
        ALT: () => {
          const skip = this.SUBRULE2(this.skip)
          return { skip, limit: this.OPTION3(() => this.SUBRULE2(this.limit)) ?? null }
        },
      },
      { ALT: () => ({ limit: this.SUBRULE3(this.limit) }) },
    ])
    return build.withAll('ORDER BY', order, this.since(start))
  })

  readonly conditionalClause = this.RULE('conditionalClause', (): ConditionalClause => {
    const start = this.here()
    this.descend()
    const branches: ConditionalClause['branches'][number][] = []
    const branch = (when: Expression | null, part: SingleQuery): void => {
      branches.push({ when, query: build.query(null, [part], [], part.span) })
    }
    this.AT_LEAST_ONE(() => {
      this.CONSUME(kw.WHEN)
      const when = this.claim(this.SUBRULE(this.expression))
      this.CONSUME(kw.THEN)
      branch(when, this.SUBRULE(this.singleQuery))
    })
    this.OPTION(() => {
      this.CONSUME(kw.ELSE)
      branch(null, this.SUBRULE2(this.singleQuery))
    })
    this.ascend()
    return { kind: 'conditional', branches, span: this.since(start) }
  })

  readonly blockClause = this.RULE('blockClause', (): BlockClause => {
    const start = this.here()
    this.CONSUME(t.OpenBrace)
    const query = this.SUBRULE(this.query)
    this.CONSUME(t.CloseBrace)
    return { kind: 'block', query, span: this.since(start) }
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

  readonly callClause = this.RULE('callClause', (optionalStart?: number): CallClause => {
    const start = optionalStart ?? this.here()
    this.CONSUME(kw.CALL)
    const imports = this.OPTION(() => this.SUBRULE(this.callImports)) ?? null
    this.CONSUME(t.OpenBrace)
    const query = this.SUBRULE(this.query)
    this.CONSUME(t.CloseBrace)
    return { kind: 'call', optional: optionalStart !== undefined, imports, query, span: this.since(start) }
  })

  readonly callImports = this.RULE('callImports', (): CallClause['imports'] => {
    const names: Name[] = []
    this.CONSUME(t.OpenParen)
    const star = this.OPTION(() =>
      this.OR([
        { ALT: () => this.CONSUME(t.Star) && true },
        {
          ALT: () => {
            this.AT_LEAST_ONE_SEP({ SEP: t.Comma, DEF: () => names.push(this.SUBRULE(this.freeName)) })
            return false
          },
        },
      ]),
    )
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
    const skip = this.OPTION3(() => this.SUBRULE(this.skip)) ?? null
    const limit = this.OPTION4(() => this.SUBRULE(this.limit)) ?? null
    return { distinct, star, items, orderBy, skip, limit }
  })

  readonly skip = this.RULE('skip', (): Expression => {
    this.OR([{ ALT: () => this.CONSUME(kw.SKIP) }, { ALT: () => this.CONSUME(kw.OFFSET) }])
    return this.SUBRULE(this.expression)
  })

  readonly limit = this.RULE('limit', (): Expression => {
    this.CONSUME(kw.LIMIT)
    return this.SUBRULE(this.expression)
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
