// Rules for operands: literals, parameters, brackets of all kinds, comprehensions and CASE. named.ts has those that
// begin with a name.
import type { IToken } from 'chevrotain'
import type {
  Case,
  CaseOperand,
  ComparisonOperator,
  Expression,
  ListComprehension,
  MapLiteral,
  Parameter,
  PatternComprehension,
} from '../ast.ts'
import * as build from '../build-ast.ts'
import { readFloat, readInteger, readString, spanOf } from '../literals.ts'
import * as t from '../tokens.ts'
import { kw } from '../tokens.ts'
import { classifyBracketed, startsPath } from './lookahead.ts'
import { NamedRules } from './named.ts'

/** Rules for operands. */
export abstract class AtomRules extends NamedRules {
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
    return this.predicate(build.path(null, chain, this.since(start)))
  })

  readonly bracketed = this.RULE('bracketed', (): Expression => {
    const kind = classifyBracketed(this.peek)
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

  // ---------------------------------------------------------------- CASE

  readonly caseExpression = this.RULE('caseExpression', (): Case => {
    const start = this.here()
    const branches: Case['branches'][number][] = []
    this.CONSUME(kw.CASE)
    const subject = this.OPTION(() => this.SUBRULE(this.expression)) ?? null
    this.AT_LEAST_ONE({
      DEF: () => {
        this.CONSUME(kw.WHEN)
        const when = [this.SUBRULE(this.caseTest, { ARGS: [subject !== null] })]
        this.MANY({
          GATE: () => subject !== null,
          DEF: () => {
            this.CONSUME(t.Comma)
            when.push(this.SUBRULE2(this.caseTest, { ARGS: [true] }))
          },
        })
        this.CONSUME(kw.THEN)
        branches.push({ when, then: this.SUBRULE2(this.expression) })
      },
      ERR_MSG: '`WHEN`',
    })
    const otherwise =
      this.OPTION2(() => {
        this.CONSUME(kw.ELSE)
        return this.SUBRULE3(this.expression)
      }) ?? null
    this.CONSUME(kw.END, { ERR_MSG: otherwise === null ? '`WHEN`, `ELSE` or `END`' : '`END`' })
    return { kind: 'case', subject, branches, otherwise, span: this.since(start) }
  })

  /** With a subject, a test may begin with its operator: `WHEN > 5`, `WHEN IS NULL`, `WHEN STARTS WITH 'a'`. */
  readonly caseTest = this.RULE('caseTest', (hasSubject: boolean): Expression => {
    const start = this.here()
    const subject: CaseOperand = { kind: 'case-operand', span: { start, end: start } }
    return this.OR({
      DEF: [
        {
          GATE: () => hasSubject,
          ALT: (): Expression => {
            const operator = this.CONSUME(t.ComparisonOperator).image as ComparisonOperator
            const operand = this.SUBRULE(this.predicated)
            return { kind: 'comparison', first: subject, rest: [{ operator, operand }], span: this.since(start) }
          },
        },
        {
          GATE: () => hasSubject,
          ALT: () => this.SUBRULE(this.predicateOn, { ARGS: [subject, start] }),
        },
        {
          ALT: () => {
            const when = this.SUBRULE(this.expression)
            return hasSubject ? when : this.claim(when)
          },
        },
      ],
      ERR_MSG: 'an expression',
    })
  })
}
