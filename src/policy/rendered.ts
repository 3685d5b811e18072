// A fault of a policy's Cypher in one text (ruling F7): line, column, what was found, what was expected, and a caret line.
import { type Issue, renderIssue } from '../../grammar/issue.ts'

export function rendered(text: string, issue: Issue): string {
  let message = issue.message
  if (issue.found !== undefined && !message.includes(issue.found)) message += `, found ${issue.found}`
  if (issue.expected !== undefined && !message.includes(issue.expected)) message += `, expected ${issue.expected}`
  return renderIssue(text, { ...issue, message })
}
