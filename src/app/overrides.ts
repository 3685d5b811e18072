// Options that the command line and tests pass to an app in addition to the settings.
import type { Clock } from '../kernel/time/clock.ts'
import type { WorkerFigures } from '../operator/service-status.ts'
import type { LogEntry } from '../ops/log.ts'
import type { DecisionEvent, PolicyError } from '../pdp/decision-deps.ts'
import type { ProcessIdentity } from '../processes/protocol.ts'
import type { SupervisionOverrides } from '../processes/supervised.ts'
import type { SettingField } from '../settings.ts'

/** Replacements and additions for `createApp`. */
export interface AppOverrides {
  readonly clock?: Clock
  readonly log?: (entry: LogEntry) => void
  /** False: commits are not flushed to disk. */
  readonly sync?: boolean
  /** Called with every runtime error of a policy, in addition to the log. */
  readonly onDecisionFault?: (fault: PolicyError) => void
  /** Called with every decision and search. */
  readonly onDecided?: (event: DecisionEvent) => void
  /** `held`: the caller has locked the folder and releases it. */
  readonly folder?: 'held'
  /** Set: this process is one of several workers on the folder and the port. */
  readonly worker?: ProcessIdentity
  /** Set: this process is a lane of a serving process, or works in the background. It does not listen on a port. */
  readonly lane?: ProcessIdentity
  /** Failed authentications in a window that are recorded one by one. For tests. Absent: `SINGLE_EVENTS_MAX`. */
  readonly singleFailuresMax?: number
  /** The command line that starts a lane. Absent: every request runs in this process. */
  readonly laneCommand?: readonly string[]
  /** The time that a lane gets to start, milliseconds. For tests. Absent: `START_MAX_MS`. */
  readonly laneStartMaxMs?: number
  /** The command line that starts the background process. Absent: events are not delivered, and audit records are sealed on demand. */
  readonly backgroundCommand?: readonly string[]
  /** The command line of the process that makes a backup. Absent: backups are off. */
  readonly backupCommand?: readonly string[]
  /** The command line of the process that ships changes. Absent: changes are not shipped. */
  readonly shippingCommand?: readonly string[]
  /** For tests. */
  readonly supervision?: SupervisionOverrides
  /** Where settings have their values from, by field, such as `--port` or `VERDIGRAPH_PORT`. Absent: not known. */
  readonly settingSources?: Partial<Readonly<Record<SettingField, string>>>
  /** Reads the figures of all workers. Set only for a worker. */
  readonly readWorkers?: () => Promise<readonly WorkerFigures[]>
  /** Set: this process delivers events itself, without a process of its own. For tests. `random`: the jitter of retries. */
  readonly eventDelivery?: { readonly random: () => number }
}
