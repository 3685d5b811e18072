// What the operator is told: the log of the process, and of what goes wrong again and again one line in a while.
import { masterKeyVariable, nextMasterKeyVariable } from '../identity/master-key.ts'
import type { Clock } from '../kernel/clock.ts'
import type { ServiceFault } from '../kernel/errors.ts'
import { type Log, openLog } from '../ops/log.ts'
import { seldom } from '../ops/seldom.ts'
import type { Settings } from '../settings.ts'

/** How often the log tells of one damaged place, or of a disk that is full, while requests meet it. */
const SAME_FAULT_MS = 60_000

export function standardLog({ logLevel }: Settings, clock: Clock): Log {
  const secrets = [process.env[masterKeyVariable] ?? '', process.env[nextMasterKeyVariable] ?? '']
  return openLog({ clock, level: logLevel, secrets, write: (line) => process.stderr.write(line) })
}

/** Tells of requests that could not be served, each place once in a while: every request may meet it. */
export function unserved(log: Log, clock: Clock): (fault: ServiceFault, request: object) => void {
  const again = seldom(SAME_FAULT_MS, () => clock.now())
  return (fault, request) => {
    if (again(fault.message))
      log({ level: 'error', message: 'a request could not be served', ...request, reason: fault.message })
  }
}
