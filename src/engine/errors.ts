// What the engine refuses or fails with: values with a span where there is a text, never an HTTP status.
import type { Diagnostic } from '../../grammar/diagnostic.ts'

/** The text cannot be executed: found before any data is read. `issues` is never empty. */
export class CompileError extends Error {
  override readonly name = 'CompileFault'
  readonly diagnostics: readonly Diagnostic[]
  constructor(issues: readonly Diagnostic[]) {
    super(issues[0]?.message ?? 'the query cannot be compiled')
    this.diagnostics = issues
  }
}

export type ExecutionErrorCode =
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
export class ExecutionError extends Error {
  override readonly name = 'RunFault'
  readonly code: ExecutionErrorCode
  readonly subject: string | null
  /** The TCK's detail name where it has one. */
  readonly detail: string | null
  /** The message without what stood in data or parameters: for logs, and for callers who may not read the graph. */
  readonly redactedMessage: string
  constructor(
    code: ExecutionErrorCode,
    message: string,
    subject: string | null = null,
    detail: string | null = null,
    withoutValues = message,
  ) {
    super(message)
    this.redactedMessage = withoutValues
    this.code = code
    this.subject = subject
    this.detail = detail
  }
}
