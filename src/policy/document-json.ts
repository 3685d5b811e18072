// Parses the JSON text of policy and query documents.
import { parseJson } from '../kernel/json/json.ts'
import { err, type Result } from '../kernel/result.ts'

/**
 * Parses a document that is stored as text. Long integers stay exact, because a policy that compares with a rounded
 * integer would admit another value. Refuses duplicate members, because a reader might believe the one that is not
 * executed. Error: an issue with line and column; `member` names the text in the request.
 */
export function parseDocument(text: string, member: string): Result<unknown, readonly string[]> {
  const json = parseJson(text, 'integers')
  return json.ok ? json : err([`${member}: ${json.error.message}`])
}
