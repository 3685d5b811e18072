// The log of the process. Errors that repeat are throttled: one line per minute with the number of repeats.
import { givenMasterKey, masterKeyVariable, nextMasterKeyVariable } from '../identity/master-key.ts'
import type { ThrownServiceError } from '../kernel/errors.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { type Log, openLog } from '../ops/log.ts'
import { createLogThrottle } from '../ops/log-throttle.ts'
import type { PolicyError } from '../pdp/decision-deps.ts'
import type { Settings } from '../settings.ts'

/** Minimum time between two log lines for the same error, milliseconds. */
export const REPEAT_INTERVAL_MS = 60_000

/** Opens the log of the process on standard error. Master keys are redacted. */
export function openProcessLog({ logLevel }: Settings, clock: Clock): Log {
  const secrets = ([masterKeyVariable, nextMasterKeyVariable] as const).map(
    (name) => givenMasterKey(name)?.text.trim() ?? '',
  )
  return openLog({ clock, level: logLevel, secrets, write: (line) => process.stderr.write(line) })
}

/** Logs requests that fail because of the installation (a damaged graph, a full disk), throttled by reason. */
export function logUnservedRequests(log: Log, clock: Clock): (error: ThrownServiceError, request: object) => void {
  const timesOf = createLogThrottle(REPEAT_INTERVAL_MS, () => clock.now())
  return ({ message: reason }, request) => {
    const times = timesOf(reason)
    if (times > 0)
      log({ level: 'error', message: 'a request could not be served', ...request, reason, ...repeatCount(times) })
  }
}

/** Logs policies with runtime errors, throttled by policy revision and error: a changed policy is logged at once. */
export function logPolicyErrors(log: Log, clock: Clock): (error: PolicyError) => void {
  const timesOf = createLogThrottle(REPEAT_INTERVAL_MS, () => clock.now())
  return ({ message: reason, ...where }) => {
    const { projectId, policyId, revision, code } = where
    const times = timesOf(JSON.stringify([projectId, policyId, revision, code, reason]))
    if (times > 0)
      log({ level: 'error', message: 'a policy failed and does not grant', ...where, reason, ...repeatCount(times) })
  }
}

/** The number of repeats, if there are any. */
function repeatCount(times: number): { readonly times?: number } {
  return times === 1 ? {} : { times }
}
