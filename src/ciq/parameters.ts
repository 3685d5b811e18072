// The parameters of an execution: what the caller sends, and what only the service fills in.
import { RunFault } from '../engine/errors.ts'
import { fromJson } from '../engine/value/convert.ts'
import type { Value } from '../engine/value/value.ts'
import type { AgentCaller, Claims } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'

export type Parameters = ReadonlyMap<string, Value>

/** The application of the calling agent is the subject (interface, execute rule 4). */
export const APPLICATION = '_Application'

const filledIn: ReadonlySet<string> = new Set(['token', 'svc_token', '_appId'])

export function bindParameters(
  caller: AgentCaller,
  subjectType: string,
  given: Readonly<Record<string, unknown>> = {},
  stringMax: number,
): Result<Parameters, ServiceError> {
  const bound = new Map<string, Value>()
  const issues: string[] = []
  for (const [name, data] of Object.entries(given)) {
    if (filledIn.has(name)) {
      issues.push(`input_params.${name}: reserved, filled by the service`)
    } else if (typeof data === 'string' && data.length > stringMax) {
      issues.push(`input_params.${name}: expected at most ${stringMax} characters, found ${data.length}`)
    } else {
      try {
        bound.set(name, fromJson(data))
      } catch (refusal) {
        if (!(refusal instanceof RunFault)) throw refusal
        issues.push(missingText(name))
      }
    }
  }
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  bound.set('token', claimsOf(caller.user?.claims ?? null))
  bound.set('svc_token', claimsOf(caller.user?.delegation ?? null))
  bound.set('_appId', subjectType === APPLICATION ? caller.applicationId : null)
  return ok(bound)
}

/** A claim that no value can hold (an integer beyond 64 bits) is as good as absent, and an absent one is null. */
function claimsOf(claims: Claims | null): Value {
  const map = new Map<string, Value>()
  for (const [name, claim] of Object.entries(claims ?? {})) {
    try {
      map.set(name, fromJson(claim))
    } catch (refusal) {
      if (!(refusal instanceof RunFault)) throw refusal
    }
  }
  return map
}

export function missingParameters(names: Iterable<string>): Result<never, ServiceError> {
  return err({ kind: 'invalid', issues: [...new Set(names)].map(missingText) })
}

function missingText(name: string): string {
  return `missing or wrong input params, '${name}'`
}
