// What the operator is told: the log of the process, and of what goes wrong again and again one line in a while.
import { masterKeyVariable, nextMasterKeyVariable } from '../identity/master-key.ts'
import type { Clock } from '../kernel/clock.ts'
import type { ServiceFault } from '../kernel/errors.ts'
import { type Log, openLog } from '../ops/log.ts'
import { seldom } from '../ops/seldom.ts'
import type { DecisionFault } from '../pdp/parts.ts'
import type { Settings } from '../settings.ts'

/** How often the log tells of one damaged place, of a disk that is full, or of a fault in a policy, while requests meet it. */
const SAME_FAULT_MS = 60_000

export function standardLog({ logLevel }: Settings, clock: Clock): Log {
  const secrets = [process.env[masterKeyVariable] ?? '', process.env[nextMasterKeyVariable] ?? '']
  return openLog({ clock, level: logLevel, secrets, write: (line) => process.stderr.write(line) })
}

/** Tells of requests that could not be served, each place once in a while: every request may meet it. */
export function unserved(log: Log, clock: Clock): (fault: ServiceFault, request: object) => void {
  const timesOf = seldom(SAME_FAULT_MS, () => clock.now())
  return ({ message: reason }, request) => {
    const times = timesOf(reason)
    if (times > 0) log({ level: 'error', message: 'a request could not be served', ...request, reason, ...more(times) })
  }
}

/** Tells of policies that faulted, each fault of a policy once in a while, and at once again when the policy was changed. */
export function faultedPolicies(log: Log, clock: Clock): (fault: DecisionFault) => void {
  const timesOf = seldom(SAME_FAULT_MS, () => clock.now())
  return ({ message: reason, ...where }) => {
    const { projectId, policyId, revision, code } = where
    const times = timesOf(JSON.stringify([projectId, policyId, revision, code, reason]))
    if (times > 0)
      log({ level: 'error', message: 'a policy faulted and does not grant', ...where, reason, ...more(times) })
  }
}

/** Nothing where this is the only time. */
function more(times: number): { readonly times?: number } {
  return times === 1 ? {} : { times }
}
