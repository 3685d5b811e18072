// The diagnostic of a rejected query text, and its rendering with a source line and a caret.
import type { Span } from './ast.ts'

/**
 * An error in a query text, with its position.
 * `code` is the detail name of the openCypher TCK if it has one (for example `UndefinedVariable`), otherwise a name of
 * this grammar or engine.
 */
export interface Diagnostic {
  readonly code: string
  /** Lower case, no full stop; text of the author in back-ticks. */
  readonly message: string
  readonly span: Span
  /** The text at the position. */
  readonly found?: string
  /** The accepted alternatives. */
  readonly expected?: string
}

/** A position in a text. */
export interface Position {
  /** 1-based. */
  readonly line: number
  /** 1-based, in UTF-16 code units. */
  readonly column: number
}

/** Converts an offset in UTF-16 code units to a line and a column. */
export function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  return { line, column: offset - before.lastIndexOf('\n') }
}

/**
 * Renders a diagnostic as one string: `line L, column C: message`, then the source line and a caret line. A long source
 * line is cut to 120 characters around the caret.
 */
export function renderDiagnostic(text: string, diagnostic: Diagnostic): string {
  const { line, column } = positionOf(text, diagnostic.span.start)
  const source = text.split('\n')[line - 1] ?? ''
  const windowStart = Math.max(0, column - 1 - 60)
  const shown = source.slice(windowStart, windowStart + 120).replace(/\t/g, ' ')
  const caretAt = column - 1 - windowStart
  const width = Math.max(1, Math.min(diagnostic.span.end - diagnostic.span.start, shown.length - caretAt))
  const caret = ' '.repeat(caretAt) + '^'.repeat(width)
  return `line ${line}, column ${column}: ${diagnostic.message}\n${shown}\n${caret}`
}
