// What operators join: literals, names, calls, brackets, CASE, comprehensions, quantifiers and subqueries.
import type { IToken } from 'chevrotain'
import type {
  Case,
  Expression,
  ListComprehension,
  MapLiteral,
  MapProjection,
  MapProjectionItem,
  Parameter,
  PatternComprehension,
  Quantifier,
  Reduce,
  SubqueryBody,
} from '../ast.ts'
import * as build from '../build-ast.ts'
import { readFloat, readInteger, readString, spanOf } from '../literals.ts'
import * as t from '../tokens.ts'
import { kw } from '../tokens.ts'
import { ExpressionRules } from './expressions.ts'
import { bracketed, named, type Peek, startsPath } from './lookahead.ts'

export abstract class AtomRules extends ExpressionRules {
  private readonly peek: Peek = (distance) => this.LA(distance)

  readonly atom = this.RULE(
    'atom',
    (): Expression =>
      this.OR({
        DEF: [
          { ALT: () => this.SUBRULE(this.named) },
          { ALT: () => this.SUBRULE(this.literal) },
          { ALT: () => this.SUBRULE(this.parameter) },
          { ALT: () => this.SUBRULE(this.parenthesised) },
          { ALT: () => this.SUBRULE(this.bracketed) },
          { ALT: () => this.SUBRULE(this.mapLiteral) },
          { ALT: () => this.SUBRULE(this.caseExpression) },
        ],
        ERR_MSG: 'an expression',
      }),
  )

  // ---------------------------------------------------------------- literals and parameters

  readonly literal = this.RULE(
    'literal',
    (): Expression =>
      this.OR([
        { ALT: () => this.integer(this.CONSUME(t.Integer)) },
        { ALT: () => this.float(this.CONSUME(t.Float)) },
        { ALT: () => this.string(this.CONSUME(t.Text)) },
        { ALT: () => build.boolean(this.CONSUME(kw.TRUE), true) },
        { ALT: () => build.boolean(this.CONSUME(kw.FALSE), false) },
        { ALT: (): Expression => ({ kind: 'null', span: spanOf(this.CONSUME(kw.NULL)) }) },
      ]),
  )

  private integer(token: IToken): Expression {
    const sign = this.takeSign()
    const value = this.RECORDING_PHASE ? 0 : readInteger(token, sign !== null)
    return { kind: 'integer', value, span: this.since((sign ?? token).startOffset) }
  }

  private float(token: IToken): Expression {
    const sign = this.takeSign()
    const value = this.RECORDING_PHASE ? 0 : readFloat(token, sign !== null)
    return { kind: 'float', value, span: this.since((sign ?? token).startOffset) }
  }

  private string(token: IToken): Expression {
    return { kind: 'string', value: this.RECORDING_PHASE ? '' : readString(token), span: spanOf(token) }
  }

  private takeSign(): IToken | null {
    const sign = this.literalSign
    this.literalSign = null
    return sign
  }

  readonly parameter = this.RULE('parameter', (): Parameter => build.parameter(this.CONSUME(t.Parameter)))

  readonly mapLiteral = this.RULE('mapLiteral', (): MapLiteral => {
    const start = this.here()
    const entries: MapLiteral['entries'][number][] = []
    this.CONSUME(t.OpenBrace)
    this.MANY_SEP({
      SEP: t.Comma,
      DEF: () => {
        const key = this.SUBRULE(this.anyName)
        this.CONSUME(t.Colon)
        entries.push({ key, value: this.SUBRULE(this.expression) })
      },
    })
    this.CONSUME(t.CloseBrace, { ERR_MSG: entries.length === 0 ? 'a key or `}`' : '`,` or `}`' })
    return { kind: 'map', entries, span: this.since(start) }
  })

  // ---------------------------------------------------------------- brackets

  readonly parenthesised = this.RULE('parenthesised', (): Expression => {
    const isPath = startsPath(this.peek, 1)
    return this.OR({
      DEF: [
        { GATE: () => isPath, ALT: () => this.SUBRULE(this.patternPredicate) },
        {
          ALT: () => {
            this.CONSUME(t.OpenParen)
            const expression = this.SUBRULE(this.expression)
            this.CONSUME(t.CloseParen)
            return expression
          },
        },
      ],
      IGNORE_AMBIGUITIES: true,
    })
  })

  readonly patternPredicate = this.RULE('patternPredicate', (): Expression => {
    const start = this.here()
    const chain = this.SUBRULE(this.chain)
    return this.predicate(build.path(null, null, chain, this.since(start)))
  })

  readonly bracketed = this.RULE('bracketed', (): Expression => {
    const kind = bracketed(this.peek)
    return this.OR({
      DEF: [
        { GATE: () => kind === 'list', ALT: () => this.SUBRULE(this.listLiteral) },
        { GATE: () => kind === 'list-comprehension', ALT: () => this.SUBRULE(this.listComprehension) },
        { GATE: () => kind === 'pattern-comprehension', ALT: () => this.SUBRULE(this.patternComprehension) },
      ],
      IGNORE_AMBIGUITIES: true,
    })
  })

  readonly listLiteral = this.RULE('listLiteral', (): Expression => {
    const start = this.here()
    const items: Expression[] = []
    this.CONSUME(t.OpenBracket)
    this.MANY_SEP({ SEP: t.Comma, DEF: () => items.push(this.SUBRULE(this.expression)) })
    this.CONSUME(t.CloseBracket, { ERR_MSG: items.length === 0 ? 'an expression or `]`' : '`,` or `]`' })
    return { kind: 'list', items, span: this.since(start) }
  })

  readonly listComprehension = this.RULE('listComprehension', (): ListComprehension => {
    const start = this.here()
    this.CONSUME(t.OpenBracket)
    const variable = this.SUBRULE(this.freeName)
    this.CONSUME(kw.IN)
    const list = this.SUBRULE(this.expression)
    const where = this.OPTION(() => this.SUBRULE(this.where)) ?? null
    const projection =
      this.OPTION2(() => {
        this.CONSUME(t.ComprehensionBar)
        return this.SUBRULE2(this.expression)
      }) ?? null
    this.CONSUME(t.CloseBracket, { ERR_MSG: projection === null ? '`WHERE`, `|` or `]`' : '`]`' })
    return { kind: 'list-comprehension', variable, list, where, projection, span: this.since(start) }
  })

  readonly patternComprehension = this.RULE('patternComprehension', (): PatternComprehension => {
    const start = this.here()
    this.CONSUME(t.OpenBracket)
    const pattern = this.SUBRULE(this.pathPattern)
    const where = this.OPTION(() => this.SUBRULE(this.where)) ?? null
    this.CONSUME(t.ComprehensionBar, { ERR_MSG: '`WHERE` or `|`' })
    const projection = this.SUBRULE(this.expression)
    this.CONSUME(t.CloseBracket)
    return { kind: 'pattern-comprehension', pattern, where, projection, span: this.since(start) }
  })

  readonly where = this.RULE('where', (): Expression => {
    this.CONSUME(kw.WHERE)
    return this.claim(this.SUBRULE(this.expression))
  })

  // ---------------------------------------------------------------- what begins with a name

  readonly named = this.RULE('named', (): Expression => {
    const kind = named(this.peek)
    return this.OR({
      DEF: [
        { GATE: () => kind === 'variable', ALT: () => build.variable(this.CONSUME(t.FreeName)) },
        { GATE: () => kind === 'function', ALT: () => this.SUBRULE(this.functionCall) },
        { GATE: () => kind === 'count-star', ALT: () => this.SUBRULE(this.countStar) },
        { GATE: () => kind === 'quantifier', ALT: () => this.SUBRULE(this.quantifier) },
        { GATE: () => kind === 'reduce', ALT: () => this.SUBRULE(this.reduce) },
        { GATE: () => kind === 'map-projection', ALT: () => this.SUBRULE(this.mapProjection) },
        { GATE: () => kind === 'exists', ALT: () => this.SUBRULE(this.existsSubquery) },
        { GATE: () => kind === 'count', ALT: () => this.SUBRULE(this.countSubquery) },
        { GATE: () => kind === 'collect', ALT: () => this.SUBRULE(this.collectSubquery) },
      ],
      IGNORE_AMBIGUITIES: true,
    })
  })

  readonly functionCall = this.RULE('functionCall', (): Expression => {
    const start = this.here()
    const parts = [this.CONSUME(t.FreeName)]
    this.MANY(() => {
      this.CONSUME(t.Dot)
      parts.push(this.CONSUME(t.AnyName))
    })
    this.CONSUME(t.OpenParen)
    const distinct = this.OPTION(() => this.CONSUME(kw.DISTINCT)) !== undefined
    const args: Expression[] = []
    this.MANY_SEP({ SEP: t.Comma, DEF: () => args.push(this.SUBRULE(this.expression)) })
    this.CONSUME(t.CloseParen, { ERR_MSG: args.length === 0 ? 'an expression or `)`' : '`,` or `)`' })
    const call = build.functionCall(parts, distinct, args, this.since(start))
    // The older form of `exists { }`: its argument is a property or a pattern.
    if (args.length === 1 && call.name.text.toLowerCase() === 'exists') this.claim(args[0]!)
    return call
  })

  readonly countStar = this.RULE('countStar', (): Expression => {
    const start = this.here()
    this.CONSUME(kw.COUNT)
    this.CONSUME(t.OpenParen)
    this.CONSUME(t.Star)
    this.CONSUME(t.CloseParen)
    return { kind: 'count-star', span: this.since(start) }
  })

  readonly quantifier = this.RULE('quantifier', (): Quantifier => {
    const start = this.here()
    const quantifier = this.SUBRULE(this.quantifierWord)
    this.CONSUME(t.OpenParen)
    const variable = this.SUBRULE(this.freeName)
    this.CONSUME(kw.IN)
    const list = this.SUBRULE(this.expression)
    const where = this.OPTION(() => this.SUBRULE(this.where)) ?? null
    this.CONSUME(t.CloseParen, { ERR_MSG: where === null ? '`WHERE`' : '`)`' })
    return { kind: 'quantifier', quantifier, variable, list, where, span: this.since(start) }
  })

  readonly quantifierWord = this.RULE('quantifierWord', (): Quantifier['quantifier'] =>
    this.OR([
      { ALT: (): Quantifier['quantifier'] => this.CONSUME(kw.ALL) && 'all' },
      { ALT: (): Quantifier['quantifier'] => this.CONSUME(kw.ANY) && 'any' },
      { ALT: (): Quantifier['quantifier'] => this.CONSUME(kw.NONE) && 'none' },
      { ALT: (): Quantifier['quantifier'] => this.CONSUME(kw.SINGLE) && 'single' },
    ]),
  )

  readonly reduce = this.RULE('reduce', (): Reduce => {
    const start = this.here()
    this.CONSUME(kw.REDUCE)
    this.CONSUME(t.OpenParen)
    const accumulator = this.SUBRULE(this.freeName)
    this.CONSUME(t.Equal)
    const initial = this.SUBRULE(this.expression)
    this.CONSUME(t.Comma)
    const variable = this.SUBRULE2(this.freeName)
    this.CONSUME(kw.IN)
    const list = this.SUBRULE2(this.expression)
    this.CONSUME(t.Bar)
    const expression = this.SUBRULE3(this.expression)
    this.CONSUME(t.CloseParen)
    return { kind: 'reduce', accumulator, initial, variable, list, expression, span: this.since(start) }
  })

  readonly mapProjection = this.RULE('mapProjection', (): MapProjection => {
    const start = this.here()
    const variable = this.SUBRULE(this.freeName)
    const items: MapProjectionItem[] = []
    this.CONSUME(t.OpenBrace)
    this.MANY_SEP({ SEP: t.Comma, DEF: () => items.push(this.SUBRULE(this.mapProjectionItem)) })
    this.CONSUME(t.CloseBrace, { ERR_MSG: items.length === 0 ? '`.key`, `.*`, a key or `}`' : '`,` or `}`' })
    return { kind: 'map-projection', variable, items, span: this.since(start) }
  })

  readonly mapProjectionItem = this.RULE('mapProjectionItem', (): MapProjectionItem => {
    const start = this.here()
    return this.OR([
      {
        ALT: () => {
          this.CONSUME(t.Dot)
          return this.OR2([
            { ALT: (): MapProjectionItem => this.CONSUME(t.Star) && { kind: 'all', span: this.since(start) } },
            {
              ALT: (): MapProjectionItem => ({
                kind: 'property',
                key: this.SUBRULE(this.anyName),
                span: this.since(start),
              }),
            },
          ])
        },
      },
      {
        ALT: (): MapProjectionItem => {
          const key = this.SUBRULE2(this.anyName)
          const value = this.OPTION(() => {
            this.CONSUME(t.Colon)
            return this.SUBRULE(this.expression)
          })
          const span = this.since(start)
          return value === undefined ? { kind: 'variable', variable: key, span } : { kind: 'entry', key, value, span }
        },
      },
    ])
  })

  readonly caseExpression = this.RULE('caseExpression', (): Case => {
    const start = this.here()
    const branches: Case['branches'][number][] = []
    this.CONSUME(kw.CASE)
    const subject = this.OPTION(() => this.SUBRULE(this.expression)) ?? null
    this.AT_LEAST_ONE({
      DEF: () => {
        this.CONSUME(kw.WHEN)
        const when = this.SUBRULE2(this.expression)
        if (subject === null) this.claim(when)
        this.CONSUME(kw.THEN)
        // biome-ignore lint/suspicious/noThenProperty: the tree's own word for the value of a branch; never awaited
        branches.push({ when, then: this.SUBRULE3(this.expression) })
      },
      ERR_MSG: '`WHEN`',
    })
    const otherwise =
      this.OPTION2(() => {
        this.CONSUME(kw.ELSE)
        return this.SUBRULE4(this.expression)
      }) ?? null
    this.CONSUME(kw.END, { ERR_MSG: otherwise === null ? '`WHEN`, `ELSE` or `END`' : '`END`' })
    return { kind: 'case', subject, branches, otherwise, span: this.since(start) }
  })

  // ---------------------------------------------------------------- subqueries

  readonly existsSubquery = this.RULE('existsSubquery', (): Expression => {
    const start = this.here()
    this.CONSUME(kw.EXISTS)
    const body = this.SUBRULE(this.subqueryBody)
    return { kind: 'exists', body, span: this.since(start) }
  })

  readonly countSubquery = this.RULE('countSubquery', (): Expression => {
    const start = this.here()
    this.CONSUME(kw.COUNT)
    const body = this.SUBRULE(this.subqueryBody)
    return { kind: 'count-subquery', body, span: this.since(start) }
  })

  readonly collectSubquery = this.RULE('collectSubquery', (): Expression => {
    const start = this.here()
    this.CONSUME(kw.COLLECT)
    this.CONSUME(t.OpenBrace)
    const query = this.SUBRULE(this.query)
    this.CONSUME(t.CloseBrace)
    return { kind: 'collect-subquery', query, span: this.since(start) }
  })

  readonly subqueryBody = this.RULE('subqueryBody', (): SubqueryBody => {
    this.CONSUME(t.OpenBrace)
    const body = this.OR({
      DEF: [
        { ALT: (): SubqueryBody => ({ kind: 'query', query: this.SUBRULE(this.query) }) },
        {
          ALT: (): SubqueryBody => {
            const patterns = this.SUBRULE(this.patternList)
            const where = this.OPTION(() => this.SUBRULE(this.where)) ?? null
            return { kind: 'patterns', patterns, where }
          },
        },
      ],
      // `USE` may be a clause or a name; here it is the clause.
      IGNORE_AMBIGUITIES: true,
      ERR_MSG: 'a pattern or a clause such as `MATCH`',
    })
    this.CONSUME(t.CloseBrace)
    return body
  })
}
