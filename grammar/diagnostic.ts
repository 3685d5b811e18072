// What a text can be refused for: one value with a position, and the one way to show it to a person.
import type { Span } from './ast.ts'

/**
 * A refusal of a query text.
 * `code` is the detail name of the openCypher TCK where it has one (for example `UndefinedVariable`), else our own word.
 */
export interface Diagnostic {
  readonly code: string
  /** Lower case, no full stop; the author's own words in back-ticks. */
  readonly message: string
  readonly span: Span
  readonly found?: string
  readonly expected?: string
}

export interface Position {
  /** 1-based. */
  readonly line: number
  /** 1-based, in UTF-16 code units. */
  readonly column: number
}

export function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  return { line, column: offset - before.lastIndexOf('\n') }
}

/**
 * Renders an issue as one string: `line L, column C: message`, then the source line and a caret line.
 * Long lines are cut to a window around the caret.
 */
export function renderDiagnostic(text: string, issue: Diagnostic): string {
  const { line, column } = positionOf(text, issue.span.start)
  const source = text.split('\n')[line - 1] ?? ''
  const windowStart = Math.max(0, column - 1 - 60)
  const shown = source.slice(windowStart, windowStart + 120).replace(/\t/g, ' ')
  const caretAt = column - 1 - windowStart
  const width = Math.max(1, Math.min(issue.span.end - issue.span.start, shown.length - caretAt))
  const caret = ' '.repeat(caretAt) + '^'.repeat(width)
  return `line ${line}, column ${column}: ${issue.message}\n${shown}\n${caret}`
}
