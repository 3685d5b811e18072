// Compiled policies by stored fields: decisions use the compilation that checked the policy when it was stored.
import type { DocumentFields } from '../config/kind.ts'
import { CompiledOnce } from '../kernel/compiled-once.ts'
import type { Result } from '../kernel/result.ts'
import { type ContextPolicy, compileContextDocument, compileContextPolicy } from './compile-context.ts'
import { type CompiledDocument, compileDecisionDocument, compileDecisionPolicy } from './compile-policy.ts'

type Compilation<T> = Result<T, readonly string[]>

const decisionPolicies = new CompiledOnce<DocumentFields, Compilation<CompiledDocument>>()
const contextPolicies = new CompiledOnce<DocumentFields, Compilation<ContextPolicy>>()

/**
 * Returns the compiled decision policy of stored fields, compiling it on first use. `json`: its parsed text, if the
 * caller has it. Errors are issues for the author.
 */
export function compiledDecisionPolicy(fields: DocumentFields, json?: unknown): Compilation<CompiledDocument> {
  return decisionPolicies.get(fields, ({ policy }) =>
    json === undefined ? compileDecisionPolicy(policy as string) : compileDecisionDocument(json),
  )
}

/** Returns the compiled context policy of stored fields; otherwise as `compiledDecisionPolicy`. */
export function compiledContextPolicy(fields: DocumentFields, json?: unknown): Compilation<ContextPolicy> {
  return contextPolicies.get(fields, ({ policy }) =>
    json === undefined ? compileContextPolicy(policy as string) : compileContextDocument(json),
  )
}
