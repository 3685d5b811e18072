// The errors of the engine. They contain a position in the query text if there is one, and no HTTP status.
import { type Diagnostic, positionOf, renderDiagnostic } from '../../grammar/diagnostic.ts'

/**
 * The query text cannot be executed. Thrown before any data is read. `diagnostics` has at least one entry. The message shows each
 * of them with its line, its column, and a caret under the position in the source line.
 *
 * @example
 * try {
 *   graph.prepare('MATCH (subject')
 * } catch (error) {
 *   if (error instanceof CompileError) console.log(error.line, error.column, error.message)
 * }
 */
export class CompileError extends Error {
  override readonly name = 'CompileError'
  readonly diagnostics: readonly Diagnostic[]
  /** Line of the first diagnostic, from 1. Null if the error is not in a text, for example an unknown variable of `find`. */
  readonly line: number | null
  /** Column of the first diagnostic, from 1, in UTF-16 code units. Null as `line` is. */
  readonly column: number | null
  /** `text`: the text that the spans of the diagnostics refer to; null if they refer to none. */
  constructor(diagnostics: readonly Diagnostic[], text: string | null) {
    const show = (diagnostic: Diagnostic): string =>
      text === null ? diagnostic.message : renderDiagnostic(text, diagnostic)
    super(diagnostics.map(show).join('\n') || 'the query cannot be compiled')
    const [first] = diagnostics
    const position = text === null || first === undefined ? null : positionOf(text, first.span.start)
    this.diagnostics = diagnostics
    this.line = position?.line ?? null
    this.column = position?.column ?? null
  }
}

/** Why an execution failed. */
export type ExecutionErrorCode =
  /** A value of a type that the operation does not accept (openCypher TCK: TypeError). */
  | 'type'
  /** A value out of the range of the operation (openCypher TCK: ArgumentError). */
  | 'argument'
  /** Overflow, or division by zero. */
  | 'arithmetic'
  /** A parameter without a value; `subject` is its name. */
  | 'missing-parameter'
  /** A property that only an external resolver can supply; `subject` is its name. */
  | 'external'
  /** The entity does not exist any more (openCypher TCK: EntityNotFound). */
  | 'entity'
  /** A limit on time, steps or memory is reached; `subject` is the name of the limit. */
  | 'budget'
  /** A plan that would overwrite a value is refused before it runs: a fault of the planner. */
  | 'plan'

/**
 * Execution failed. Operators and expressions throw it; the callers of the engine catch it.
 *
 * @example
 * try {
 *   graph.query('RETURN $missing AS value')
 * } catch (error) {
 *   if (error instanceof ExecutionError) console.log(error.code, error.subject) // missing-parameter missing
 * }
 */
export class ExecutionError extends Error {
  override readonly name = 'ExecutionError'
  readonly code: ExecutionErrorCode
  readonly subject: string | null
  /** The detail name of the openCypher TCK, if it has one for this error. */
  readonly detail: string | null
  /** The message without values from data or parameters: for logs, and for callers that may not read the graph. */
  readonly redactedMessage: string
  constructor(
    code: ExecutionErrorCode,
    message: string,
    subject: string | null = null,
    detail: string | null = null,
    redactedMessage = message,
  ) {
    super(message)
    this.redactedMessage = redactedMessage
    this.code = code
    this.subject = subject
    this.detail = detail
  }
}
