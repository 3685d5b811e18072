// The parameters of an execution: what the caller sends, and what only the service fills in.
import type { Value } from '../engine/value/value.ts'
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { bindInput, claimsAsMap, type Given, missingText, refusedInput } from '../policy/input-parameters.ts'

export type Parameters = ReadonlyMap<string, Value>

/** The application of the calling agent is the subject (interface, execute rule 4). */
export const APPLICATION = '_Application'

const filledIn: ReadonlySet<string> = new Set(['token', 'svc_token', '_appId'])

export function bindParameters(
  caller: AgentCaller,
  subjectType: string,
  given: Given = {},
  stringMax: number,
): Result<Parameters, ServiceError> {
  const refused = refusedInput(given, { at: 'input_params', reserved: filledIn, stringMax })
  if (refused.length > 0) return err({ kind: 'invalid', issues: refused })
  const bound = new Map<string, Value>()
  const issues = bindInput(bound, given)
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  bound.set('token', claimsAsMap(caller.user?.claims))
  bound.set('svc_token', claimsAsMap(caller.user?.delegation))
  bound.set('_appId', subjectType === APPLICATION ? caller.applicationId : null)
  return ok(bound)
}

export function missingParameters(names: Iterable<string>): Result<never, ServiceError> {
  return err({ kind: 'invalid', issues: [...new Set(names)].map(missingText) })
}
