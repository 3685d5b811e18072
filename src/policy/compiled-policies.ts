// Compiled policies by stored fields and model: decisions use the compilation that checked the policy when it was stored.
import type { DocumentFields } from '../config/kind.ts'
import { CompiledForPair } from '../kernel/compiled-once.ts'
import type { Result } from '../kernel/result.ts'
import type { StoredModel } from '../model/stored-model.ts'
import { type ContextPolicy, compileContextDocument, compileContextPolicy } from './compile-context.ts'
import { type CompiledDocument, compileDecisionDocument, compileDecisionPolicy } from './compile-policy.ts'

type Compilation<T> = Result<T, readonly string[]>

const decisionPolicies = new CompiledForPair<StoredModel, DocumentFields, Compilation<CompiledDocument>>()
const contextPolicies = new CompiledForPair<StoredModel, DocumentFields, Compilation<ContextPolicy>>()

/**
 * Returns the compiled decision policy of stored fields, compiling it on first use. `model`: that of its project. `json`: its parsed
 * text, if the caller has it. Errors are issues for the author.
 */
export function compiledDecisionPolicy(
  fields: DocumentFields,
  model: StoredModel,
  json?: unknown,
): Compilation<CompiledDocument> {
  return decisionPolicies.get(model, fields, () => {
    if (!model.ok) return model
    return json === undefined
      ? compileDecisionPolicy(fields.policy as string, model.value)
      : compileDecisionDocument(json, model.value)
  })
}

/** Returns the compiled context policy of stored fields; otherwise as `compiledDecisionPolicy`. */
export function compiledContextPolicy(
  fields: DocumentFields,
  model: StoredModel,
  json?: unknown,
): Compilation<ContextPolicy> {
  return contextPolicies.get(model, fields, () => {
    if (!model.ok) return model
    return json === undefined
      ? compileContextPolicy(fields.policy as string, model.value)
      : compileContextDocument(json, model.value)
  })
}
