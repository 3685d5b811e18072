// The texts of `context.reason` of a denial that is not simply "no policy grants": the only table of the kinds of fault. A text
// contains no value and no name of a policy, because the caller may not read policies.
import type { ExecutionErrorCode } from '../engine/errors.ts'

/** The text for the caller, by the kind of fault inside a policy. */
const faultTexts: Readonly<Record<ExecutionErrorCode, string>> = {
  type: 'a value has a type that the policy does not accept',
  argument: 'a value is not in the range that the policy accepts',
  arithmetic: 'a calculation overflowed or divided by zero',
  'missing-parameter': 'a parameter has no value',
  external: 'the policy reads a property that only an external resolver supplies',
  entity: 'an element that the policy reads was deleted',
  plan: 'the policy cannot be executed; the log of the service has the cause',
  budget: 'a limit of the service was reached before the policies were decided',
}

/** The reason of a denial after a fault inside a policy: `policy_failed (KIND): what happened`. */
export function faultReason(code: ExecutionErrorCode): string {
  return `policy_failed (${code}): ${faultTexts[code]}`
}

/** Whether the reason of a denial is that of a fault inside a policy. */
export function isFaultReason(reason: string | undefined): reason is string {
  return reason?.startsWith('policy_failed ') === true
}

/** The reason of a denial if a policy grants and another one forbids. */
export const FORBIDDEN_REASON = 'forbidden: a policy forbids what another policy grants'

/** The reason of an action search that finds nothing, if no policy in force has the two types. */
export const NO_POLICY_FOR_TYPES_REASON = 'no_policy: no policy is for these types of subject and resource'

/** The reason of a denial if no policy in force names the action for the two types. */
export const NO_POLICY_REASON = 'no_policy: no policy names this action for these types of subject and resource'
