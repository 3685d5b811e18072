// What the engine refuses or fails with: values with a span where there is a text, never an HTTP status.
import type { Issue } from '../../grammar/issue.ts'

/** The text cannot be executed: found before any data is read. `issues` is never empty. */
export class CompileFault extends Error {
  override readonly name = 'CompileFault'
  readonly issues: readonly Issue[]
  constructor(issues: readonly Issue[]) {
    super(issues[0]?.message ?? 'the query cannot be compiled')
    this.issues = issues
  }
}

export type RunFaultCode =
  /** A value of a kind that the operation does not take (TCK: TypeError and ArgumentError details). */
  | 'type'
  | 'argument'
  | 'arithmetic'
  /** A parameter that was not given; `subject` is its name. */
  | 'missing-parameter'
  /** A property that only an external resolver can supply; `subject` is its name. */
  | 'external'
  /** The entity is gone (TCK: EntityNotFound). */
  | 'entity'
  /** Time, rows touched or memory; `subject` is the name of the limit. */
  | 'budget'

/** Execution failed. Thrown inside cursors, caught once at the cursor's edge. */
export class RunFault extends Error {
  override readonly name = 'RunFault'
  readonly code: RunFaultCode
  readonly subject: string | null
  /** The TCK's detail name where it has one. */
  readonly detail: string | null
  /** The message without what stood in data or parameters: for logs, and for callers who may not read the graph. */
  readonly withoutValues: string
  constructor(
    code: RunFaultCode,
    message: string,
    subject: string | null = null,
    detail: string | null = null,
    withoutValues = message,
  ) {
    super(message)
    this.withoutValues = withoutValues
    this.code = code
    this.subject = subject
    this.detail = detail
  }
}
