// Rules for patterns: nodes, relationships, paths and label expressions.
import type { IToken } from 'chevrotain'
import type {
  HopRange,
  LabelExpression,
  MapLiteral,
  MatchMode,
  Name,
  NodePattern,
  Parameter,
  PathPattern,
  PathSelector,
  RelationshipPattern,
  Span,
} from '../ast.ts'
import * as build from '../build-ast.ts'
import { readInteger, readName, spanOf } from '../literals.ts'
import { throwSyntaxError } from '../syntax-error.ts'
import * as t from '../tokens.ts'
import { kw } from '../tokens.ts'
import { AtomRules } from './atoms.ts'
import { joinParts, type PathPart, withNameAndSelector } from './path-parts.ts'

type KeptPaths = Pick<PathSelector, 'keep' | 'count'>

function hopQuantifier(min: number | null, max: number | null, span: Span): HopRange {
  return { min, max, form: 'quantifier', span }
}

function dynamicQuantifier(sign: IToken): 'all' | 'any' {
  const word = sign.image.toLowerCase()
  if (word === '$' || word === '$all') return 'all'
  if (word === '$any') return 'any'
  const found = `\`${sign.image}\``
  const message = `a label from a parameter is written \`$(${sign.image})\``
  throwSyntaxError({
    code: 'UnexpectedSyntax',
    message,
    span: spanOf(sign),
    found,
    expected: '`$(`, `$all(` or `$any(`',
  })
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
    const variable = this.OPTION({
      GATE: () => this.nextIs(2, t.Equal),
      DEF: () => this.SUBRULE(this.pathName),
    })
    const selector = this.OPTION2(() => this.SUBRULE(this.selector)) ?? null
    const path = this.OR({
      DEF: [{ ALT: () => this.SUBRULE(this.element) }, { ALT: () => this.SUBRULE(this.shortestPath) }],
      ERR_MSG: 'a pattern such as `(n)`',
    })
    if (this.RECORDING_PHASE) return path
    return withNameAndSelector(path, variable ?? null, selector, this.since(start))
  })

  /** `p =` */
  readonly pathName = this.RULE('pathName', (): Name => {
    const name = this.SUBRULE(this.freeName)
    this.CONSUME(t.Equal)
    return name
  })

  readonly shortestPath = this.RULE('shortestPath', (): PathPattern => {
    const start = this.here()
    const shortest = this.OR([
      { ALT: (): PathPattern['shortest'] => this.CONSUME(kw.SHORTESTPATH) && 'single' },
      { ALT: (): PathPattern['shortest'] => this.CONSUME(kw.ALLSHORTESTPATHS) && 'all' },
    ])
    this.CONSUME(t.OpenParen)
    const path = this.SUBRULE(this.element)
    this.CONSUME(t.CloseParen)
    return { ...path, shortest, span: this.since(start) }
  })

  // ---------------------------------------------------------------- match modes and path selectors

  /** `DIFFERENT RELATIONSHIPS` or `REPEATABLE ELEMENTS`, which may also be names of paths. */
  readonly matchMode = this.RULE(
    'matchMode',
    (): MatchMode | null =>
      this.OPTION({
        GATE: () => !this.nextIs(2, t.Equal),
        DEF: () =>
          this.OR([
            {
              ALT: (): MatchMode => {
                this.CONSUME(kw.DIFFERENT)
                this.OR2([
                  { ALT: () => this.CONSUME(kw.RELATIONSHIPS) },
                  {
                    ALT: () => {
                      this.CONSUME(kw.RELATIONSHIP)
                      this.OPTION2(() => this.CONSUME(kw.BINDINGS))
                    },
                  },
                ])
                return 'different'
              },
            },
            {
              ALT: (): MatchMode => {
                this.CONSUME(kw.REPEATABLE)
                this.OR3([
                  { ALT: () => this.CONSUME(kw.ELEMENTS) },
                  {
                    ALT: () => {
                      this.CONSUME(kw.ELEMENT)
                      this.OPTION3(() => this.CONSUME2(kw.BINDINGS))
                    },
                  },
                ])
                return 'repeatable'
              },
            },
          ]),
      }) ?? null,
  )

  /** `SHORTEST 2`, `SHORTEST 2 GROUPS`, `ALL SHORTEST`, `ANY SHORTEST`, `ANY 2`, `ALL`; `PATH` and `PATHS` mean nothing. */
  readonly selector = this.RULE('selector', (): PathSelector => {
    const start = this.here()
    const { keep, count } = this.OR([
      { ALT: () => this.SUBRULE(this.anySelector) },
      { ALT: () => this.SUBRULE(this.allSelector) },
      { ALT: () => this.SUBRULE(this.shortestSelector) },
    ])
    const span = this.since(start)
    if (count === 0) {
      throwSyntaxError({
        code: 'InvalidPathSelector',
        message: 'a path selector must keep at least one path',
        span,
        found: '`0`',
        expected: 'a whole number above 0',
      })
    }
    return { kind: 'selector', keep, count, span }
  })

  readonly anySelector = this.RULE('anySelector', (): KeptPaths => {
    this.CONSUME(kw.ANY)
    const isShortest = this.OPTION(() => this.CONSUME(kw.SHORTEST)) !== undefined
    const count = this.OPTION2({
      GATE: () => !isShortest,
      DEF: () => this.SUBRULE(this.hops),
    })
    this.SUBRULE(this.pathWord)
    return { keep: isShortest ? 'shortest' : 'any', count: count ?? 1 }
  })

  readonly allSelector = this.RULE('allSelector', (): KeptPaths => {
    this.CONSUME(kw.ALL)
    const isShortest = this.OPTION(() => this.CONSUME(kw.SHORTEST)) !== undefined
    this.SUBRULE(this.pathWord)
    return { keep: isShortest ? 'groups' : 'all', count: 1 }
  })

  readonly shortestSelector = this.RULE('shortestSelector', (): KeptPaths => {
    this.CONSUME(kw.SHORTEST)
    const count = this.OPTION(() => this.SUBRULE(this.hops))
    this.SUBRULE(this.pathWord)
    const groups = this.OPTION2(() =>
      this.OR([{ ALT: () => this.CONSUME(kw.GROUPS) }, { ALT: () => this.CONSUME(kw.GROUP) }]),
    )
    if (!this.RECORDING_PHASE && count === undefined && groups === undefined) {
      const token = this.LA(1)
      const found = `\`${token.image}\``
      const expected = 'the number of paths, or `GROUP`'
      const message = `unexpected ${found}, expected ${expected}`
      throwSyntaxError({ code: 'InvalidPathSelector', message, span: spanOf(token), found, expected })
    }
    return { keep: groups === undefined ? 'shortest' : 'groups', count: count ?? 1 }
  })

  readonly pathWord = this.RULE('pathWord', (): void => {
    this.OPTION(() => this.OR([{ ALT: () => this.CONSUME(kw.PATH) }, { ALT: () => this.CONSUME(kw.PATHS) }]))
  })

  // ---------------------------------------------------------------- paths

  /** Chains and parenthesised paths, next to each other. A path may also be in parentheses as a whole. */
  readonly element = this.RULE('element', (): PathPattern => {
    const start = this.here()
    const parts: PathPart[] = []
    this.AT_LEAST_ONE({
      DEF: () => {
        const part = this.OR({
          DEF: [
            {
              GATE: () => this.opensPath(),
              ALT: () => this.SUBRULE(this.parenthesisedPath),
            },
            { ALT: (): PathPart => ({ chain: this.SUBRULE(this.chain), span: this.since(start) }) },
          ],
          IGNORE_AMBIGUITIES: true,
          ERR_MSG: 'a pattern such as `(n)`',
        })
        parts.push(part)
      },
      ERR_MSG: 'a pattern such as `(n)`',
    })
    if (this.RECORDING_PHASE) return parts[0] as unknown as PathPattern
    return joinParts(parts, this.since(start))
  })

  /** Whether the next parenthesis contains a path, not the parts of a node. */
  private opensPath(): boolean {
    return this.nextIs(2, t.OpenParen) || (this.nextIs(3, t.Equal) && this.nextIs(4, t.OpenParen))
  }

  readonly parenthesisedPath = this.RULE('parenthesisedPath', (): PathPart => {
    const start = this.here()
    this.descend()
    this.CONSUME(t.OpenParen)
    const variable = this.OPTION(() => this.SUBRULE(this.pathName)) ?? null
    const path = this.SUBRULE(this.element)
    const where = this.OPTION2(() => this.SUBRULE(this.where)) ?? null
    this.CONSUME(t.CloseParen)
    this.ascend()
    const range = this.OPTION3(() => this.SUBRULE(this.hopQuantifier)) ?? null
    return { path, variable, where, range, span: this.since(start) }
  })

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
    return { min, max: tail === undefined ? min : tail.max, form: 'star', span: this.since(start) }
  })

  /** After the arrow: `+` (one or more), `*` (zero or more), `{2}`, `{2,3}`, `{2,}`, `{,3}` (zero to three). */
  readonly hopQuantifier = this.RULE('hopQuantifier', (): HopRange => {
    const start = this.here()
    return this.OR([
      { ALT: (): HopRange => this.CONSUME(t.Plus) && hopQuantifier(1, null, this.since(start)) },
      { ALT: (): HopRange => this.CONSUME(t.Star) && hopQuantifier(0, null, this.since(start)) },
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
          return this.bounded(min ?? 0, tail === undefined ? min : tail.max, span)
        },
      },
    ])
  })

  /** Bounds that exclude every walk, or every walk but the empty one, are refused as in Neo4j. */
  private bounded(min: number, max: number | null, span: Span): HopRange {
    if (this.RECORDING_PHASE || max === null || (max > 0 && min <= max)) return hopQuantifier(min, max, span)
    const message =
      max === 0
        ? 'the upper bound of a quantifier must be at least 1'
        : `the lower bound ${min} of the quantifier is above its upper bound ${max}`
    throwSyntaxError({ code: 'InvalidRelationshipPattern', message, span })
  }

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

  /** `:A:B`, `:A&B`, `:A|B`, `:A|:B`, `:!A`, `:%`, with parentheses; `IS A` is `:A`. */
  readonly labelExpression = this.RULE('labelExpression', (): LabelExpression => {
    this.OR([{ ALT: () => this.CONSUME(t.Colon) }, { ALT: () => this.CONSUME(kw.IS) }])
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
          { ALT: () => this.SUBRULE(this.dynamicLabel) },
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

  /** `$(expression)`, `$all(expression)`, `$any(expression)`. The lexer reads `$all` as a parameter. */
  readonly dynamicLabel = this.RULE('dynamicLabel', (): LabelExpression => {
    const start = this.here()
    const sign = this.OR([{ ALT: () => this.CONSUME(t.Dollar) }, { ALT: () => this.CONSUME(t.Parameter) }])
    const quantifier = this.RECORDING_PHASE ? 'all' : dynamicQuantifier(sign)
    this.descend()
    this.CONSUME(t.OpenParen)
    const expression = this.SUBRULE(this.expression)
    this.CONSUME(t.CloseParen)
    this.ascend()
    return { kind: 'label-dynamic', quantifier, expression, span: this.since(start) }
  })

  private label(token: IToken): LabelExpression {
    return { kind: 'label', name: readName(token), span: spanOf(token) }
  }
}
