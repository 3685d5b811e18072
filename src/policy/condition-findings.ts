// Findings in the syntax of a policy's condition, which need no data, such as temporal values that do not exist.
import { impossibleLiteralsIn } from '../engine/impossible-literals.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { formatDiagnostic } from './format-diagnostic.ts'

/** The errors of temporal values that do not exist: the condition would fail at each request that computes one. */
export function literalIssues(policy: unknown): string[] {
  return findingsIn(policy, 'impossible-literal', impossibleLiteralsIn)
}

/** The findings of `find` in the condition of a policy. */
export function findingsIn(policy: unknown, code: string, find: typeof impossibleLiteralsIn): string[] {
  const condition = isJsonObject(policy) ? policy.condition : undefined
  const cypher = isJsonObject(condition) ? condition.cypher : undefined
  if (typeof cypher !== 'string') return []
  return find(cypher).map(
    ({ message, span }) => `policy.condition.cypher: ${formatDiagnostic(cypher, { code, message, span })}`,
  )
}
