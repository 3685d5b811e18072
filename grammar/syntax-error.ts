// A syntax fault on its way out of a rule: thrown where it is found, caught once at the grammar's door.
import type { Diagnostic } from './diagnostic.ts'

export class CypherSyntaxError extends Error {
  readonly diagnostic: Diagnostic
  constructor(issue: Diagnostic) {
    super(issue.message)
    this.diagnostic = issue
  }
}

export function throwSyntaxError(issue: Diagnostic): never {
  throw new CypherSyntaxError(issue)
}
