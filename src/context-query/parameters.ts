// The parameters of an execution: what the caller sends, and what only the service fills in.
import type { Value } from '../engine/value/value.ts'
import type { AgentCaller } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import {
  bindInputParams,
  claimsToMap,
  type InputParams,
  inputIssues,
  missingParameterText,
} from '../policy/input-parameters.ts'

export type BoundParameters = ReadonlyMap<string, Value>

/** The application of the calling agent is the subject (interface, execute rule 4). */
export const APPLICATION_TYPE = '_Application'

const filledIn: ReadonlySet<string> = new Set(['token', 'svc_token', '_appId'])

export function bindParameters(
  caller: AgentCaller,
  subjectType: string,
  given: InputParams = {},
  stringMax: number,
): Result<BoundParameters, ServiceError> {
  const refused = inputIssues(given, { at: 'input_params', reserved: filledIn, stringMax })
  if (refused.length > 0) return err({ kind: 'invalid', issues: refused })
  const bound = new Map<string, Value>()
  const issues = bindInputParams(bound, given)
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  bound.set('token', claimsToMap(caller.user?.claims))
  bound.set('svc_token', claimsToMap(caller.user?.delegation))
  bound.set('_appId', subjectType === APPLICATION_TYPE ? caller.applicationId : null)
  return ok(bound)
}

export function missingParameters(names: Iterable<string>): Result<never, ServiceError> {
  return err({ kind: 'invalid', issues: [...new Set(names)].map(missingParameterText) })
}
