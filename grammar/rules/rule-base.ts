// Base class of the rule classes: spans, the nesting limit, the places where a pattern may be a truth value, and the
// rules that a class uses before a subclass defines them.
import { EmbeddedActionsParser, EOF, type IToken, type ParserMethod, type TokenType } from 'chevrotain'
import type {
  Expression,
  LabelExpression,
  MapLiteral,
  MatchMode,
  Name,
  NodePattern,
  Parameter,
  PathPattern,
  PatternPredicate,
  Query,
  Span,
} from '../ast.ts'
import type { PatternChain } from '../build-ast.ts'
import * as build from '../build-ast.ts'
import { spanOf } from '../literals.ts'
import { throwSyntaxError } from '../syntax-error.ts'
import { AnyName, FreeName, kw } from '../tokens.ts'
import type { Peek } from './lookahead.ts'

/** Maximum nesting of brackets, subqueries and CASE: far above real queries and far below the stack limit. */
export const maxNesting = 200

/** Base of all rule classes; each class adds one chapter of the grammar. */
export abstract class RuleBase extends EmbeddedActionsParser {
  abstract readonly query: ParserMethod<[], Query>
  abstract readonly expression: ParserMethod<[], Expression>
  abstract readonly mapLiteral: ParserMethod<[], MapLiteral>
  abstract readonly parameter: ParserMethod<[], Parameter>
  abstract readonly pathPattern: ParserMethod<[], PathPattern>
  abstract readonly patternList: ParserMethod<[], PathPattern[]>
  abstract readonly chain: ParserMethod<[], PatternChain>
  abstract readonly node: ParserMethod<[], NodePattern>
  abstract readonly matchMode: ParserMethod<[], MatchMode | null>
  abstract readonly labelExpression: ParserMethod<[], LabelExpression>

  protected source = ''
  private depth = 0
  /** Patterns read in an expression, until `claim` finds that a boolean is expected at their position. The rest is rejected. */
  private readonly unclaimed = new Set<PatternPredicate>()

  protected begin(source: string, tokens: IToken[]): void {
    this.source = source
    this.depth = 0
    this.unclaimed.clear()
    this.input = tokens
  }

  // ---------------------------------------------------------------- positions

  /** The offset of the next token. */
  protected here(): number {
    return this.LA(1).startOffset
  }

  /** The span from `start` to the end of the last token read. */
  protected since(start: number): Span {
    const last = this.LA(0)
    return { start, end: last.startOffset + last.image.length }
  }

  protected readonly peek: Peek = (distance) => this.LA(distance)

  protected nextIs(distance: number, type: TokenType): boolean {
    return this.LA(distance).tokenType === type
  }

  // ---------------------------------------------------------------- nesting

  protected descend(): void {
    this.depth++
    if (this.depth <= maxNesting) return
    const token = this.LA(1)
    const end = this.source.length
    const span = token.tokenType === EOF ? { start: end, end } : spanOf(token)
    throwSyntaxError({ code: 'NestingTooDeep', message: `more than ${maxNesting} levels of nesting`, span })
  }

  protected ascend(): void {
    this.depth--
  }

  // ---------------------------------------------------------------- patterns as truth values

  protected claim<E extends Expression | null>(condition: E): E {
    if (this.unclaimed.size > 0) this.unclaimed.delete(condition as PatternPredicate)
    return condition
  }

  protected predicate(pattern: PathPattern): PatternPredicate {
    const node: PatternPredicate = { kind: 'pattern-predicate', pattern, span: pattern.span }
    this.unclaimed.add(node)
    return node
  }

  protected rejectStrayPatterns(): void {
    const first = this.unclaimed.values().next().value
    if (first === undefined) return
    throwSyntaxError({
      code: 'UnexpectedSyntax',
      message: 'a path pattern is allowed only where a condition is expected, or inside `exists { }` or `count { }`',
      span: first.span,
      found: 'a path pattern',
      expected: 'a value',
    })
  }

  readonly where = this.RULE('where', (): Expression => {
    this.CONSUME(kw.WHERE)
    return this.claim(this.SUBRULE(this.expression))
  })

  // ---------------------------------------------------------------- names

  /** A variable or an alias. */
  readonly freeName = this.RULE('freeName', (): Name => build.name(this.CONSUME(FreeName)))

  /** A property key, a label, a part of a dotted name. */
  readonly anyName = this.RULE('anyName', (): Name => build.name(this.CONSUME(AnyName)))
}
