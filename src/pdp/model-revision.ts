// Requests that name a revision of the model: `context.model_revision`. Decisions are made with the present model alone, because policies
// are compiled with it and plans are kept for it; a request that expects another revision is refused.
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { DecisionDeps, EvaluationRequest } from './decision-deps.ts'

type ModelDeps = Pick<DecisionDeps, 'modelUsed'>

/** The error of a request that expects another revision than the present one (`invalid`). Null: none. */
export function modelRevisionError(
  deps: ModelDeps,
  projectId: string,
  context: EvaluationRequest['context'],
): Result<never, ServiceError> | null {
  const expected = context?.model_revision
  if (expected === undefined || expected === 0) return null
  const revision = modelRevision(deps, projectId)
  if (revision === expected) return null
  const found = revision === 0 ? 'the project has no model' : `the model of the project has revision ${revision}`
  return err({
    kind: 'invalid',
    issues: [
      `context.model_revision: expected revision ${expected}, but ${found}, and decisions use the present model: read it again, or send 0, which any revision matches`,
    ],
  })
}

/** The revision of the model of a project; 0: it has none. */
export function modelRevision(deps: ModelDeps, projectId: string): number {
  return deps.modelUsed?.(projectId)?.revision ?? 0
}

/** A decision with the revision of the model. */
export function withModelRevision<T extends { readonly context?: object }, E>(
  deps: ModelDeps,
  projectId: string,
  answer: Result<T, E>,
): Result<T, E> {
  if (!answer.ok) return answer
  const told = { ...answer.value.context, model_revision: modelRevision(deps, projectId) }
  return ok({ ...answer.value, context: told })
}
