// Rules for what begins with a name: variables, calls, quantifiers, reduce, map projections and subqueries.
import type { Expression, MapProjection, MapProjectionItem, Quantifier, Reduce, SubqueryBody } from '../ast.ts'
import * as build from '../build-ast.ts'
import { spanOf } from '../literals.ts'
import * as t from '../tokens.ts'
import { kw } from '../tokens.ts'
import { ExpressionRules } from './expressions.ts'
import { classifyNamed } from './lookahead.ts'

/** Rules for named constructs. */
export abstract class NamedRules extends ExpressionRules {
  readonly named = this.RULE('named', (): Expression => {
    const kind = classifyNamed(this.peek)
    return this.OR({
      DEF: [
        { GATE: () => kind === 'variable', ALT: () => build.variable(this.CONSUME(t.FreeName)) },
        { GATE: () => kind === 'function', ALT: () => this.SUBRULE(this.functionCall) },
        { GATE: () => kind === 'count-star', ALT: () => this.SUBRULE(this.countStar) },
        { GATE: () => kind === 'quantifier', ALT: () => this.SUBRULE(this.quantifier) },
        { GATE: () => kind === 'reduce', ALT: () => this.SUBRULE(this.reduce) },
        { GATE: () => kind === 'all-reduce', ALT: () => this.SUBRULE(this.allReduce) },
        { GATE: () => kind === 'trim', ALT: () => this.SUBRULE(this.trimCall) },
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
    // The older form of `exists { }`, whose argument is a property or a pattern.
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
    return {
      kind: 'reduce',
      accumulator,
      initial,
      variable,
      list,
      expression,
      condition: null,
      span: this.since(start),
    }
  })

  readonly allReduce = this.RULE('allReduce', (): Reduce => {
    const start = this.here()
    this.CONSUME(kw.ALLREDUCE)
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
    this.CONSUME2(t.Comma)
    const condition = this.claim(this.SUBRULE4(this.expression))
    this.CONSUME(t.CloseParen)
    return { kind: 'reduce', accumulator, initial, variable, list, expression, condition, span: this.since(start) }
  })

  /** `trim(LEADING 'x' FROM text)`: the same call as `ltrim(text, 'x')`. */
  readonly trimCall = this.RULE('trimCall', (): Expression => {
    const start = this.here()
    const word = this.CONSUME(t.FreeName)
    this.CONSUME(t.OpenParen)
    const name =
      this.OPTION(() =>
        this.OR([
          { ALT: () => this.CONSUME(kw.BOTH) && 'btrim' },
          { ALT: () => this.CONSUME(kw.LEADING) && 'ltrim' },
          { ALT: () => this.CONSUME(kw.TRAILING) && 'rtrim' },
        ]),
      ) ?? 'btrim'
    const characters = this.OPTION2({
      GATE: () => !this.nextIs(1, kw.FROM),
      DEF: () => this.SUBRULE(this.expression),
    })
    this.CONSUME(kw.FROM)
    const text = this.SUBRULE2(this.expression)
    this.CONSUME(t.CloseParen)
    const args = characters === undefined ? [text] : [text, characters]
    const span = this.since(start)
    return { kind: 'function', name: { text: name, span: spanOf(word) }, distinct: false, args, span }
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
