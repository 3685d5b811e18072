// A fault of a policy's Cypher in one text (ruling F7): line, column, what was found, what was expected, and a caret line.
import { type Diagnostic, renderDiagnostic } from '../../grammar/diagnostic.ts'

export function formatDiagnostic(text: string, issue: Diagnostic): string {
  let message = issue.message
  if (issue.found !== undefined && !message.includes(issue.found)) message += `, found ${issue.found}`
  if (issue.expected !== undefined && !message.includes(issue.expected)) message += `, expected ${issue.expected}`
  return renderDiagnostic(text, { ...issue, message })
}
