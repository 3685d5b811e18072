// Rules for expressions, from the loosest operator to the tightest; atoms.ts has the operands.
// openCypher: OR < XOR < AND < NOT < comparison < string, list and null predicates < + - < * / % < ^ < sign < postfix.
import type { IToken, ParserMethod, TokenType } from 'chevrotain'
import type { BinaryOperator, Comparison, ComparisonOperator, Expression } from '../ast.ts'
import * as build from '../build-ast.ts'
import { throwSyntaxError } from '../syntax-error.ts'
import * as t from '../tokens.ts'
import { kw } from '../tokens.ts'
import { RuleBase } from './rule-base.ts'

/** Rules for operators. */
export abstract class ExpressionRules extends RuleBase {
  abstract readonly atom: ParserMethod<[], Expression>

  /** The sign that belongs to the next number literal, so that -2^63 is in range. */
  protected literalSign: IToken | null = null

  readonly expression = this.RULE('expression', (): Expression => {
    this.descend()
    const expression = this.SUBRULE(this.disjunction)
    this.ascend()
    return expression
  })

  readonly disjunction = this.leftAssociative('disjunction', kw.OR, 'truth', () => this.exclusiveDisjunction)
  readonly exclusiveDisjunction = this.leftAssociative('exclusiveDisjunction', kw.XOR, 'truth', () => this.conjunction)
  readonly conjunction = this.leftAssociative('conjunction', kw.AND, 'truth', () => this.negation)

  readonly negation = this.RULE('negation', (): Expression => {
    const starts: number[] = []
    this.MANY(() => {
      starts.push(this.CONSUME(kw.NOT).startOffset)
    })
    let operand = this.SUBRULE(this.comparison)
    for (let i = starts.length - 1; i >= 0; i--) {
      operand = { kind: 'unary', operator: 'NOT', operand: this.claim(operand), span: this.since(starts[i]!) }
    }
    return operand
  })

  readonly comparison = this.RULE('comparison', (): Expression => {
    const start = this.here()
    const first = this.SUBRULE(this.predicated)
    let rest: Comparison['rest'][number][] | null = null
    this.MANY(() => {
      const operator = this.CONSUME(t.ComparisonOperator).image as ComparisonOperator
      const operand = this.SUBRULE2(this.predicated)
      rest ??= []
      rest.push({ operator, operand })
    })
    return rest === null ? first : { kind: 'comparison', first, rest, span: this.since(start) }
  })

  /** `a STARTS WITH b`, `a IN b`, `a IS NULL` and the like; left-associative. */
  readonly predicated = this.RULE('predicated', (): Expression => {
    const start = this.here()
    let left = this.SUBRULE(this.sum)
    this.MANY(() => {
      this.OR([
        {
          ALT: () => {
            this.CONSUME(kw.IS)
            const negated = this.OPTION(() => this.CONSUME(kw.NOT)) !== undefined
            this.CONSUME(kw.NULL)
            left = { kind: 'null-test', operand: left, negated, span: this.since(start) }
          },
        },
        {
          ALT: () => {
            const operator = this.SUBRULE(this.predicateOperator)
            const right = this.SUBRULE2(this.sum)
            left = build.binary(operator, left, right, this.since(start))
          },
        },
      ])
    })
    return left
  })

  readonly predicateOperator = this.RULE(
    'predicateOperator',
    (): BinaryOperator =>
      this.OR([
        { ALT: (): BinaryOperator => this.CONSUME(kw.IN) && 'IN' },
        { ALT: (): BinaryOperator => this.CONSUME(t.Matches) && '=~' },
        { ALT: (): BinaryOperator => this.CONSUME(kw.CONTAINS) && 'CONTAINS' },
        { ALT: (): BinaryOperator => this.CONSUME(kw.STARTS) && this.CONSUME(kw.WITH) && 'STARTS WITH' },
        { ALT: (): BinaryOperator => this.CONSUME(kw.ENDS) && this.CONSUME2(kw.WITH) && 'ENDS WITH' },
      ]),
  )

  readonly sum = this.leftAssociative('sum', t.AdditiveOperator, 'value', () => this.product)
  readonly product = this.leftAssociative('product', t.MultiplicativeOperator, 'value', () => this.power)
  readonly power = this.leftAssociative('power', t.Caret, 'value', () => this.signed)

  readonly signed = this.RULE('signed', (): Expression => {
    const signs: IToken[] = []
    this.MANY(() => {
      signs.push(this.CONSUME(t.AdditiveOperator))
    })
    if (signs.length > 0 && this.signsLiteral(signs.at(-1)!)) this.literalSign = signs.pop()!
    let operand = this.SUBRULE(this.postfixed)
    for (let i = signs.length - 1; i >= 0; i--) {
      const sign = signs[i]!
      const operator = sign.tokenType === t.Minus ? '-' : '+'
      operand = { kind: 'unary', operator, operand, span: this.since(sign.startOffset) }
    }
    return operand
  })

  readonly postfixed = this.RULE('postfixed', (): Expression => {
    const start = this.here()
    let target = this.SUBRULE(this.atom)
    this.MANY(() => {
      target = this.OR([
        {
          ALT: (): Expression => {
            this.CONSUME(t.Dot)
            const key = this.SUBRULE(this.anyName)
            return { kind: 'property', target, key, span: this.since(start) }
          },
        },
        {
          ALT: (): Expression => {
            const labels = this.SUBRULE(this.labelExpression)
            return { kind: 'label-test', target, labels, span: this.since(start) }
          },
        },
        { ALT: () => this.SUBRULE(this.indexed, { ARGS: [target, start] }) },
      ])
    })
    return target
  })

  /** `[i]`, `[from..to]`, `[..to]`, `[from..]`, `[..]`. */
  readonly indexed = this.RULE('indexed', (target: Expression, start: number): Expression => {
    this.CONSUME(t.OpenBracket)
    const from = this.OPTION(() => this.SUBRULE(this.expression)) ?? null
    const tail = this.OPTION2(() => {
      this.CONSUME(t.Dots)
      return { to: this.OPTION3(() => this.SUBRULE2(this.expression)) ?? null }
    })
    this.CONSUME(t.CloseBracket, { ERR_MSG: from === null ? 'an expression or `..`' : '`]`' })
    const span = this.since(start)
    if (tail !== undefined) return { kind: 'slice', target, from, to: tail.to, span }
    if (from === null) {
      const message = 'an index is missing between `[` and `]`'
      throwSyntaxError({ code: 'UnexpectedSyntax', message, span, found: '`]`', expected: 'an expression or `..`' })
    }
    return { kind: 'index', target, index: from, span }
  })

  // ---------------------------------------------------------------- shared shapes

  private leftAssociative(
    name: string,
    sign: TokenType,
    operands: 'truth' | 'value',
    tighter: () => ParserMethod<[], Expression>,
  ): ParserMethod<[], Expression> {
    return this.RULE(name, (): Expression => {
      const start = this.here()
      let left = this.SUBRULE(tighter())
      this.MANY(() => {
        const operator = this.CONSUME(sign).image.toUpperCase() as BinaryOperator
        const right = this.SUBRULE2(tighter())
        if (operands === 'truth') {
          this.claim(left)
          this.claim(right)
        }
        left = build.binary(operator, left, right, this.since(start))
      })
      return left
    })
  }

  /**
   * A minus directly before a number is part of the literal unless a postfix operator follows: `-1` but not `-1[0]`.
   */
  private signsLiteral(sign: IToken): boolean {
    const number = this.LA(1).tokenType
    if (sign.tokenType !== t.Minus || (number !== t.Integer && number !== t.Float)) return false
    const after = this.LA(2).tokenType
    return after !== t.Dot && after !== t.OpenBracket && after !== t.Colon
  }
}
