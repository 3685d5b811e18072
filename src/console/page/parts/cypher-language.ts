// Checks and completes Cypher by the grammar of the service.
import { call } from '../api.ts'

/** A problem in a text. */
export interface CypherFinding {
  readonly rule: string
  readonly severity: 'error' | 'warning'
  readonly message: string
  /** The text to write instead; null: there is no suggestion. */
  readonly suggestion: string | null
  /** Offset in the text, in UTF-16 code units. */
  readonly start: number
  /** After the last character. */
  readonly end: number
}

/** A text that may follow at a place. */
export interface CypherCompletion {
  readonly text: string
  readonly kind: 'label' | 'relationship-type' | 'property' | 'parameter' | 'variable' | 'function' | 'keyword'
}

/** Checks a query that ends with RETURN. Rejects as `call` does. */
export function checkQuery(projectId: string, query: string, signal: AbortSignal): Promise<readonly CypherFinding[]> {
  return check(projectId, { query }, signal)
}

/** Checks the text of a model. Rejects as `call` does. */
export function checkModel(projectId: string, model: string, signal: AbortSignal): Promise<readonly CypherFinding[]> {
  return check(projectId, { model }, signal)
}

async function check(
  projectId: string,
  body: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly CypherFinding[]> {
  const { findings } = await call<{ readonly findings: readonly CypherFinding[] }>('POST', '/graph/v1/check', {
    project: projectId,
    body,
    signal,
  })
  return findings
}

/** The texts that may follow at an offset. Rejects as `call` does. */
export async function completeCypher(
  projectId: string,
  text: string,
  offset: number,
  signal: AbortSignal,
): Promise<readonly CypherCompletion[]> {
  const { completions } = await call<{ readonly completions: readonly CypherCompletion[] }>(
    'POST',
    '/graph/v1/complete',
    { project: projectId, body: { text, offset }, signal },
  )
  return completions
}
