// Rules for patterns: nodes, relationships, paths and label expressions.
import type { IToken } from 'chevrotain'
import type {
  HopRange,
  LabelExpression,
  MapLiteral,
  NodePattern,
  Parameter,
  PathPattern,
  RelationshipPattern,
} from '../ast.ts'
import * as build from '../build-ast.ts'
import { readInteger, readName, spanOf } from '../literals.ts'
import { throwSyntaxError } from '../syntax-error.ts'
import * as t from '../tokens.ts'
import { kw } from '../tokens.ts'
import { AtomRules } from './atoms.ts'

interface Shortest {
  readonly shortest: PathPattern['shortest']
  readonly chain: build.PatternChain
}

/** Rules for patterns. */
export abstract class PatternRules extends AtomRules {
  readonly patternList = this.RULE('patternList', (): PathPattern[] => {
    const patterns: PathPattern[] = []
    this.AT_LEAST_ONE_SEP({
      SEP: t.Comma,
      DEF: () => patterns.push(this.SUBRULE(this.pathPattern)),
      ERR_MSG: 'a pattern',
    })
    return patterns
  })

  readonly pathPattern = this.RULE('pathPattern', (): PathPattern => {
    const start = this.here()
    const variable =
      this.OPTION({
        GATE: () => this.nextIs(2, t.Equal),
        DEF: () => {
          const name = this.SUBRULE(this.freeName)
          this.CONSUME(t.Equal)
          return name
        },
      }) ?? null
    const { shortest, chain } = this.OR({
      DEF: [
        { ALT: (): Shortest => ({ shortest: null, chain: this.SUBRULE(this.element) }) },
        { ALT: () => this.SUBRULE(this.shortestPath) },
      ],
      ERR_MSG: 'a pattern such as `(n)`',
    })
    return build.path(variable, shortest, chain, this.since(start))
  })

  readonly shortestPath = this.RULE('shortestPath', (): Shortest => {
    const shortest = this.OR([
      { ALT: (): Shortest['shortest'] => this.CONSUME(kw.SHORTESTPATH) && 'single' },
      { ALT: (): Shortest['shortest'] => this.CONSUME(kw.ALLSHORTESTPATHS) && 'all' },
    ])
    this.CONSUME(t.OpenParen)
    const chain = this.SUBRULE(this.element)
    this.CONSUME(t.CloseParen)
    return { shortest, chain }
  })

  /** openCypher allows parentheses around a whole path. */
  readonly element = this.RULE(
    'element',
    (): build.PatternChain =>
      this.OR({
        DEF: [
          {
            GATE: () => this.nextIs(2, t.OpenParen),
            ALT: () => {
              this.descend()
              this.CONSUME(t.OpenParen)
              const chain = this.SUBRULE(this.element)
              this.CONSUME(t.CloseParen)
              this.ascend()
              return chain
            },
          },
          { ALT: () => this.SUBRULE(this.chain) },
        ],
        IGNORE_AMBIGUITIES: true,
        ERR_MSG: 'a pattern such as `(n)`',
      }),
  )

  readonly chain = this.RULE('chain', (): build.PatternChain => {
    const nodes: NodePattern[] = [this.SUBRULE(this.node)]
    const relationships: RelationshipPattern[] = []
    this.MANY(() => {
      relationships.push(this.SUBRULE(this.relationship))
      nodes.push(this.SUBRULE2(this.node))
    })
    return { nodes, relationships }
  })

  readonly node = this.RULE('node', (): NodePattern => {
    const start = this.here()
    this.CONSUME(t.OpenParen)
    const variable = this.OPTION(() => this.SUBRULE(this.freeName)) ?? null
    const labels = this.OPTION2(() => this.SUBRULE(this.labelExpression)) ?? null
    const properties = this.OPTION3(() => this.SUBRULE(this.properties)) ?? null
    const where = this.OPTION4(() => this.SUBRULE(this.where)) ?? null
    const bare = labels === null && properties === null && where === null
    const more = variable === null ? 'a name, a label, properties or `)`' : '`:`, `{`, `WHERE` or `)`'
    this.CONSUME(t.CloseParen, { ERR_MSG: bare ? more : '`)`' })
    return build.node({ variable, labels, properties, where }, this.since(start))
  })

  readonly relationship = this.RULE('relationship', (): RelationshipPattern => {
    const start = this.here()
    const left = this.OPTION(() => this.CONSUME(t.Less)) !== undefined
    this.CONSUME(t.Minus)
    const detail = this.OPTION2(() => this.SUBRULE(this.relationshipDetail)) ?? build.bareRelationship
    this.CONSUME2(t.Minus)
    const right = this.OPTION3(() => this.CONSUME(t.Greater)) !== undefined
    const quantifier = this.OPTION4(() => this.SUBRULE(this.hopQuantifier)) ?? null
    if (quantifier !== null && detail.range) {
      const message = 'the number of hops is given twice'
      const found = `\`${this.source.slice(quantifier.span.start, quantifier.span.end)}\``
      throwSyntaxError({ code: 'InvalidRelationshipPattern', message, span: quantifier.span, found, expected: '`(`' })
    }
    return build.relationship(detail, left, right, quantifier, this.since(start))
  })

  readonly relationshipDetail = this.RULE('relationshipDetail', (): build.RelationshipPatternFields => {
    this.CONSUME(t.OpenBracket)
    const variable = this.OPTION(() => this.SUBRULE(this.freeName)) ?? null
    const types = this.OPTION2(() => this.SUBRULE(this.labelExpression)) ?? null
    const range = this.OPTION3(() => this.SUBRULE(this.hopRange)) ?? null
    const properties = this.OPTION4(() => this.SUBRULE(this.properties)) ?? null
    const where = this.OPTION5(() => this.SUBRULE(this.where)) ?? null
    this.CONSUME(t.CloseBracket)
    return { variable, types, range, properties, where }
  })

  readonly properties = this.RULE('properties', (): MapLiteral | Parameter =>
    this.OR([{ ALT: () => this.SUBRULE(this.mapLiteral) }, { ALT: () => this.SUBRULE(this.parameter) }]),
  )

  // ---------------------------------------------------------------- numbers of hops

  /** Inside the brackets: `*`, `*2`, `*1..3`, `*..3`, `*2..`. */
  readonly hopRange = this.RULE('hopRange', (): HopRange => {
    const start = this.here()
    this.CONSUME(t.Star)
    const min = this.OPTION(() => this.SUBRULE(this.hops)) ?? null
    const tail = this.OPTION2(() => {
      this.CONSUME(t.Dots)
      return { max: this.OPTION3(() => this.SUBRULE2(this.hops)) ?? null }
    })
    return { min, max: tail === undefined ? min : tail.max, span: this.since(start) }
  })

  /** After the arrow: `+` (one or more), `*` (zero or more), `{2}`, `{2,3}`, `{2,}`, `{,3}` (zero to three). */
  readonly hopQuantifier = this.RULE('hopQuantifier', (): HopRange => {
    const start = this.here()
    return this.OR([
      { ALT: (): HopRange => this.CONSUME(t.Plus) && { min: 1, max: null, span: this.since(start) } },
      { ALT: (): HopRange => this.CONSUME(t.Star) && { min: 0, max: null, span: this.since(start) } },
      {
        ALT: (): HopRange => {
          this.CONSUME(t.OpenBrace)
          const min = this.OPTION(() => this.SUBRULE(this.hops)) ?? null
          const tail = this.OPTION2(() => {
            this.CONSUME(t.Comma)
            return { max: this.OPTION3(() => this.SUBRULE2(this.hops)) ?? null }
          })
          this.CONSUME(t.CloseBrace)
          const span = this.since(start)
          if (min === null && tail?.max == null) {
            const message = 'the number of hops is missing between `{` and `}`'
            throwSyntaxError({
              code: 'InvalidRelationshipPattern',
              message,
              span,
              found: '`}`',
              expected: 'a whole number',
            })
          }
          return { min: min ?? 0, max: tail === undefined ? min : tail.max, span }
        },
      },
    ])
  })

  readonly hops = this.RULE('hops', (): number => this.hopCount(this.CONSUME(t.Integer)))

  private hopCount(token: IToken): number {
    if (this.RECORDING_PHASE) return 0
    const count = readInteger(token, false)
    if (typeof count === 'number') return count
    const found = `\`${token.image}\``
    const message = `${found} hops are too many`
    throwSyntaxError({
      code: 'InvalidRelationshipPattern',
      message,
      span: spanOf(token),
      found,
      expected: 'a whole number below 2^53',
    })
  }

  // ---------------------------------------------------------------- labels

  /** `:A:B`, `:A&B`, `:A|B`, `:A|:B`, `:!A`, `:%`, with parentheses. */
  readonly labelExpression = this.RULE('labelExpression', (): LabelExpression => {
    this.CONSUME(t.Colon)
    return this.SUBRULE(this.labelOr)
  })

  readonly labelOr = this.RULE('labelOr', (): LabelExpression => {
    const start = this.here()
    const operands = [this.SUBRULE(this.labelAnd)]
    this.MANY(() => {
      this.CONSUME(t.Bar)
      this.OPTION(() => this.CONSUME(t.Colon))
      operands.push(this.SUBRULE2(this.labelAnd))
    })
    return build.labels('label-or', operands, this.since(start))
  })

  readonly labelAnd = this.RULE('labelAnd', (): LabelExpression => {
    const start = this.here()
    const operands = [this.SUBRULE(this.labelNot)]
    this.MANY(() => {
      this.OR([{ ALT: () => this.CONSUME(t.Colon) }, { ALT: () => this.CONSUME(t.Ampersand) }])
      operands.push(this.SUBRULE2(this.labelNot))
    })
    return build.labels('label-and', operands, this.since(start))
  })

  readonly labelNot = this.RULE('labelNot', (): LabelExpression => {
    const starts: number[] = []
    this.MANY(() => {
      starts.push(this.CONSUME(t.Exclamation).startOffset)
    })
    let operand = this.SUBRULE(this.labelAtom)
    for (let i = starts.length - 1; i >= 0; i--) {
      operand = { kind: 'label-not', operand, span: this.since(starts[i]!) }
    }
    return operand
  })

  readonly labelAtom = this.RULE(
    'labelAtom',
    (): LabelExpression =>
      this.OR({
        DEF: [
          { ALT: () => this.label(this.CONSUME(t.AnyName)) },
          { ALT: (): LabelExpression => ({ kind: 'label-any', span: spanOf(this.CONSUME(t.Percent)) }) },
          {
            ALT: () => {
              this.descend()
              this.CONSUME(t.OpenParen)
              const expression = this.SUBRULE(this.labelOr)
              this.CONSUME(t.CloseParen)
              this.ascend()
              return expression
            },
          },
        ],
        ERR_MSG: 'a label',
      }),
  )

  private label(token: IToken): LabelExpression {
    return { kind: 'label', name: readName(token), span: spanOf(token) }
  }
}
