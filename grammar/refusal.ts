// A syntax fault on its way out of a rule: thrown where it is found, caught once at the grammar's door.
import type { Issue } from './issue.ts'

export class Refusal extends Error {
  readonly issue: Issue
  constructor(issue: Issue) {
    super(issue.message)
    this.issue = issue
  }
}

export function refuse(issue: Issue): never {
  throw new Refusal(issue)
}
