// Parameters of an execution: the caller's input parameters and those that only the service binds.
import type { Value } from '../engine/value/value.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { bindInputParams, claimsToMap, type InputParams, inputIssues } from '../policy/input-parameters.ts'
import type { BoundParameters } from '../policy/value-reference.ts'

/** Subject type for which the calling agent's application is the subject. */
export const APPLICATION_TYPE = '_Application'

/** Parameters that only the service binds. */
export const serviceParameters: ReadonlySet<string> = new Set(['token', 'svc_token', '_appId'])

/**
 * Binds the parameters of one execution. Error: `invalid` for input parameters that are not allowed or that the engine
 * cannot represent.
 */
export function bindParameters(
  caller: AgentCaller,
  subjectType: string,
  params: InputParams = {},
  stringMax: number,
): Result<BoundParameters, ServiceError> {
  const invalidParams = inputIssues(params, { at: 'input_params', reserved: serviceParameters, stringMax })
  if (invalidParams.length > 0) return err({ kind: 'invalid', issues: invalidParams })
  const bound = new Map<string, Value>()
  const issues = bindInputParams(bound, params)
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  bound.set('token', claimsToMap(caller.user?.claims))
  bound.set('svc_token', claimsToMap(caller.user?.delegation))
  bound.set('_appId', subjectType === APPLICATION_TYPE ? caller.applicationId : null)
  return ok(bound)
}
