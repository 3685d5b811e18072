// The parser that all rule classes make up, and the conversion of its errors to diagnostics.
import type { IParserConfig, IToken } from 'chevrotain'
import type { Query } from './ast.ts'
import { errorMessageProvider, toDiagnostic } from './messages.ts'
import { ClauseRules } from './rules/clauses.ts'
import { CypherSyntaxError } from './syntax-error.ts'
import { vocabulary } from './tokens.ts'

/** The rules of the language. A subclass supplies the decisions: it calls or replaces `performSelfAnalysis`. */
export abstract class CypherParser extends ClauseRules {
  constructor(config: IParserConfig) {
    // One token of lookahead decides nearly everywhere; rules/lookahead.ts handles the rest.
    super(vocabulary, { maxLookahead: 1, errorMessageProvider, ...config })
  }

  /** Parses the tokens of `source`. Throws a CypherSyntaxError at the first error. */
  read(source: string, tokens: IToken[]): Query {
    this.begin(source, tokens)
    const query = this.statement()
    const error = this.errors[0]
    if (error !== undefined) throw new CypherSyntaxError(toDiagnostic(error, source, tokens))
    this.rejectStrayPatterns()
    return query
  }
}
