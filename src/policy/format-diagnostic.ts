// Renders a Cypher diagnostic for the author of a policy: line, column, found, expected, and a caret line.
import { type Diagnostic, renderDiagnostic } from '../../grammar/diagnostic.ts'

/** Returns the diagnostic as text. `text` is the Cypher it is about. */
export function formatDiagnostic(text: string, issue: Diagnostic): string {
  let message = issue.message
  if (issue.found !== undefined && !message.includes(issue.found)) message += `, found ${issue.found}`
  if (issue.expected !== undefined && !message.includes(issue.expected)) message += `, expected ${issue.expected}`
  return renderDiagnostic(text, { ...issue, message })
}
