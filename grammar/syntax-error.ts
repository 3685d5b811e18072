// The exception that carries a diagnostic out of a parser rule. It never leaves the grammar: `parse` catches it.
import type { Diagnostic } from './diagnostic.ts'

/** Thrown by a rule at the first error of a text. */
export class CypherSyntaxError extends Error {
  readonly diagnostic: Diagnostic
  constructor(issue: Diagnostic) {
    super(issue.message)
    this.diagnostic = issue
  }
}

/** Throws a CypherSyntaxError. */
export function throwSyntaxError(issue: Diagnostic): never {
  throw new CypherSyntaxError(issue)
}
