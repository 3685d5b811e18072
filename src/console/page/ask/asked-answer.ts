// Asks a question: the decision, as any program gets it, and its explanation.
import { call } from '../api.ts'
import type { ShownExplanation } from './explanation.ts'
import { type AskedQuestion, bodyOf } from './question.ts'

/** The answer to a question. */
export interface AskedAnswer {
  readonly question: AskedQuestion
  readonly decision: boolean
  /** From the request to the answer, as the browser saw it. */
  readonly roundTripMs: number
  readonly explanation: ShownExplanation
}

/** Asks. Rejects as `call` does. */
export async function ask(projectId: string, question: AskedQuestion, signal: AbortSignal): Promise<AskedAnswer> {
  const body = bodyOf(question)
  const startMs = performance.now()
  const { decision } = await call<{ decision: boolean }>('POST', '/access/v1/evaluation', {
    body,
    project: projectId,
    signal,
  })
  const roundTripMs = performance.now() - startMs
  const explanation = await call<ShownExplanation>('POST', '/access/v1/explain', { body, project: projectId, signal })
  return { question, decision, roundTripMs, explanation }
}
