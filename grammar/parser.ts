// Assembles the chapters of rules into the one parser of the process and turns its faults into issues.
import type { IParserConfig, IToken } from 'chevrotain'
import type { Query } from './ast.ts'
import { errorMessageProvider, toDiagnostic } from './messages.ts'
import { ClauseRules } from './rules/clauses.ts'
import { CypherSyntaxError } from './syntax-error.ts'
import { vocabulary } from './tokens.ts'

export class CypherParser extends ClauseRules {
  constructor(config: IParserConfig) {
    // One token of lookahead decides nearly everywhere; the rest is in rules/lookahead.ts.
    super(vocabulary, { maxLookahead: 1, errorMessageProvider: errorMessageProvider, ...config })
    this.performSelfAnalysis()
  }

  /** Throws a Refusal at the first fault. */
  read(source: string, tokens: IToken[]): Query {
    this.begin(source, tokens)
    const query = this.statement()
    const error = this.errors[0]
    if (error !== undefined) throw new CypherSyntaxError(toDiagnostic(error, source, tokens))
    this.refuseUnclaimed()
    return query
  }
}

export const parser = new CypherParser({ skipValidations: true })
