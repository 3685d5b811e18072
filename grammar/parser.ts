// The parser that all rule classes make up, and the conversion of its errors to diagnostics.
import type { IParserConfig, IToken } from 'chevrotain'
import type { ModelText, Query } from './ast.ts'
import { errorMessageProvider, toDiagnostic } from './messages.ts'
import { ModelRules } from './rules/model.ts'
import { CypherSyntaxError } from './syntax-error.ts'
import { vocabulary } from './tokens.ts'

/** The rules of the language. A subclass supplies the decisions: it calls or replaces `performSelfAnalysis`. */
export abstract class CypherParser extends ModelRules {
  constructor(config: IParserConfig) {
    // One token of lookahead decides nearly everywhere; rules/lookahead.ts handles the rest.
    super(vocabulary, { maxLookahead: 1, errorMessageProvider, ...config })
  }

  /** Parses the tokens of `source`. Throws a CypherSyntaxError at the first error. */
  read(source: string, tokens: IToken[]): Query {
    return this.readAs(() => this.statement(), source, tokens)
  }

  /** Parses the tokens of a model. Throws a CypherSyntaxError at the first error. */
  readModel(source: string, tokens: IToken[]): ModelText {
    return this.readAs(() => this.model(), source, tokens)
  }

  private readAs<T>(rule: () => T, source: string, tokens: IToken[]): T {
    this.begin(source, tokens)
    const tree = rule()
    const error = this.errors[0]
    if (error !== undefined) throw new CypherSyntaxError(toDiagnostic(error, source, tokens))
    this.rejectStrayPatterns()
    return tree
  }
}
