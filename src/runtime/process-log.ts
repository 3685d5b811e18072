// What the operator is told: the log of the process, and of what goes wrong again and again one line in a while.
import { masterKeyVariable, nextMasterKeyVariable } from '../identity/master-key.ts'
import type { Clock } from '../kernel/clock.ts'
import type { ThrownServiceError } from '../kernel/errors.ts'
import { type Log, openLog } from '../ops/log.ts'
import { createLogThrottle } from '../ops/log-throttle.ts'
import type { PolicyError } from '../pdp/decision-deps.ts'
import type { Settings } from '../settings.ts'

/** How often the log tells of one damaged place, of a disk that is full, or of a fault in a policy, while requests meet it. */
const REPEAT_INTERVAL_MS = 60_000

export function openProcessLog({ logLevel }: Settings, clock: Clock): Log {
  const secrets = [process.env[masterKeyVariable] ?? '', process.env[nextMasterKeyVariable] ?? '']
  return openLog({ clock, level: logLevel, secrets, write: (line) => process.stderr.write(line) })
}

/** Tells of requests that could not be served, each place once in a while: every request may meet it. */
export function logUnservedRequests(log: Log, clock: Clock): (fault: ThrownServiceError, request: object) => void {
  const timesOf = createLogThrottle(REPEAT_INTERVAL_MS, () => clock.now())
  return ({ message: reason }, request) => {
    const times = timesOf(reason)
    if (times > 0)
      log({ level: 'error', message: 'a request could not be served', ...request, reason, ...repeatCount(times) })
  }
}

/** Tells of policies that faulted, each fault of a policy once in a while, and at once again when the policy was changed. */
export function logPolicyErrors(log: Log, clock: Clock): (fault: PolicyError) => void {
  const timesOf = createLogThrottle(REPEAT_INTERVAL_MS, () => clock.now())
  return ({ message: reason, ...where }) => {
    const { projectId, policyId, revision, code } = where
    const times = timesOf(JSON.stringify([projectId, policyId, revision, code, reason]))
    if (times > 0)
      log({ level: 'error', message: 'a policy faulted and does not grant', ...where, reason, ...repeatCount(times) })
  }
}

/** Nothing where this is the only time. */
function repeatCount(times: number): { readonly times?: number } {
  return times === 1 ? {} : { times }
}
