// Rules for expressions, from the loosest operator to the tightest; atoms.ts has the operands.
// openCypher: OR < XOR < AND < NOT < comparison < string, list and null predicates < + - < * / % < ^ < sign < postfix.
import type { IToken, ParserMethod, TokenType } from 'chevrotain'
import type { BinaryOperator, Comparison, ComparisonOperator, Expression, Span, ValueTestKind } from '../ast.ts'
import * as build from '../build-ast.ts'
import { spanOf } from '../literals.ts'
import { throwSyntaxError } from '../syntax-error.ts'
import * as t from '../tokens.ts'
import { kw } from '../tokens.ts'
import { continuesTypeName, readTypeName } from '../type-names.ts'
import { asNormalForm, type ValueType } from '../value-types.ts'
import { startsLabelAfterIs } from './lookahead.ts'
import { RuleBase } from './rule-base.ts'

/** Reports a union of which some types include null and others do not. `NOTHING` has no values and goes with both. */
function rejectMixedNull(types: readonly ValueType[], span: Span): void {
  const some = types.filter(({ name }) => name !== 'NOTHING')
  if (some.every(({ nullable }) => nullable) || !some.some(({ nullable }) => nullable)) return
  const message = 'either all types of a union have `NOT NULL`, or none of them'
  throwSyntaxError({ code: 'UnexpectedSyntax', message, span })
}

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
      left = this.SUBRULE(this.predicateOn, { ARGS: [left, start] })
    })
    return left
  })

  /** One predicate after its left operand. */
  readonly predicateOn = this.RULE(
    'predicateOn',
    (left: Expression, start: number): Expression =>
      this.OR([
        { ALT: () => this.SUBRULE(this.isPredicate, { ARGS: [left, start] }) },
        {
          ALT: (): Expression => {
            this.CONSUME(t.Colon)
            this.CONSUME2(t.Colon)
            const types = this.SUBRULE(this.valueTypes)
            return {
              kind: 'value-test',
              operand: left,
              test: { kind: 'type', types },
              negated: false,
              span: this.since(start),
            }
          },
        },
        {
          ALT: (): Expression => {
            const operator = this.SUBRULE(this.predicateOperator)
            const right = this.SUBRULE(this.sum)
            return build.binary(operator, left, right, this.since(start))
          },
        },
      ]),
  )

  /** `IS NULL`, `IS :: TYPE` and `IS NORMALIZED`, each with or without NOT. */
  readonly isPredicate = this.RULE('isPredicate', (operand: Expression, start: number): Expression => {
    this.CONSUME(kw.IS)
    const negated = this.OPTION(() => this.CONSUME(kw.NOT)) !== undefined
    const test = this.OR([
      { ALT: () => this.CONSUME(kw.NULL) && null },
      {
        ALT: (): ValueTestKind => {
          this.CONSUME(t.Colon)
          this.CONSUME2(t.Colon)
          return { kind: 'type', types: this.SUBRULE(this.valueTypes) }
        },
      },
      {
        ALT: (): ValueTestKind => {
          this.CONSUME(kw.TYPED)
          return { kind: 'type', types: this.SUBRULE2(this.valueTypes) }
        },
      },
      { ALT: (): ValueTestKind => this.CONSUME(kw.NORMALIZED) && { kind: 'normalized', form: 'NFC' } },
      { ALT: () => this.SUBRULE(this.normalFormTest) },
    ])
    const span = this.since(start)
    return test === null
      ? { kind: 'null-test', operand, negated, span }
      : { kind: 'value-test', operand, test, negated, span }
  })

  readonly normalFormTest = this.RULE('normalFormTest', (): ValueTestKind => {
    const word = this.CONSUME(t.Identifier)
    const form = asNormalForm(word.image)
    if (!this.RECORDING_PHASE && form === null) {
      const expected = '`NULL`, `NOT`, `::`, `TYPED` or `NORMALIZED`'
      const found = `\`${word.image}\``
      const message = `unexpected ${found}, expected ${expected}`
      throwSyntaxError({ code: 'UnexpectedSyntax', message, span: spanOf(word), found, expected })
    }
    this.CONSUME(kw.NORMALIZED)
    return { kind: 'normalized', form: form ?? 'NFC' }
  })

  // ---------------------------------------------------------------- types of values

  /** `INTEGER | STRING NOT NULL | LIST<FLOAT>`. */
  readonly valueTypes = this.RULE('valueTypes', (): ValueType[] => {
    this.descend()
    const start = this.here()
    const types = [this.SUBRULE(this.valueType)]
    this.MANY(() => {
      this.CONSUME(t.Bar)
      types.push(this.SUBRULE2(this.valueType))
    })
    this.ascend()
    const all = types.flat()
    if (!this.RECORDING_PHASE) rejectMixedNull(all, this.since(start))
    return all
  })

  /** Several types for `ANY<INTEGER | STRING>`. */
  readonly valueType = this.RULE('valueType', (): readonly ValueType[] => {
    const start = this.here()
    const words: string[] = []
    this.AT_LEAST_ONE({
      GATE: () => words.length === 0 || continuesTypeName(words, this.LA(1).image),
      DEF: () => {
        const word = this.OR([
          { ALT: () => this.CONSUME(t.FreeName) },
          { ALT: () => this.CONSUME(kw.NULL) },
          { ALT: () => this.CONSUME(kw.WITH) },
        ])
        words.push(word.image)
      },
      ERR_MSG: 'a type such as `INTEGER`',
    })
    const nameSpan = this.since(start)
    const name = this.RECORDING_PHASE ? 'LIST' : readTypeName(words, nameSpan)
    const inner =
      this.OPTION({
        GATE: () => name === 'LIST' || name === 'ANY',
        DEF: () => {
          this.CONSUME(t.Less)
          const types = this.SUBRULE(this.valueTypes)
          this.CONSUME(t.Greater)
          return types
        },
      }) ?? null
    if (!this.RECORDING_PHASE && name === 'LIST' && inner === null) {
      const message = 'a list type names the type of its items: `LIST<INTEGER>`'
      throwSyntaxError({ code: 'UnexpectedSyntax', message, span: nameSpan, found: '`LIST`', expected: '`<`' })
    }
    const nullable = this.OPTION2(() => this.SUBRULE(this.notNull)) === undefined
    let types: readonly ValueType[] =
      name === 'ANY' && inner !== null
        ? inner.map((type) => ({ ...type, nullable: type.nullable && nullable }))
        : [{ name, items: inner, nullable }]
    this.MANY({
      GATE: () => /^(?:list|array)$/i.test(this.LA(1).image),
      DEF: () => {
        this.CONSUME(t.Identifier)
        const nullableList = this.OPTION3(() => this.SUBRULE2(this.notNull)) === undefined
        types = [{ name: 'LIST', items: types, nullable: nullableList }]
      },
    })
    return types
  })

  /** `NOT NULL` or `!`. */
  readonly notNull = this.RULE('notNull', (): boolean =>
    this.OR([
      { ALT: () => this.CONSUME(kw.NOT) && this.CONSUME(kw.NULL) && true },
      { ALT: () => this.CONSUME(t.Exclamation) && true },
    ]),
  )

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
      signs.push(this.CONSUME(t.SignOperator))
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
    this.MANY({
      GATE: () => this.continuesOperand(),
      DEF: () => {
        target = this.SUBRULE(this.accessTo, { ARGS: [target, start] })
      },
    })
    return target
  })

  /** `n::INTEGER` tests a type, and `n IS NULL` a value, not a label. */
  private continuesOperand(): boolean {
    if (this.nextIs(1, t.Colon)) return !this.nextIs(2, t.Colon)
    return !this.nextIs(1, kw.IS) || startsLabelAfterIs(this.peek, 1)
  }

  /** One property, label test, index or slice after its target. */
  readonly accessTo = this.RULE(
    'accessTo',
    (target: Expression, start: number): Expression =>
      this.OR([
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
      ]),
  )

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
