// The process that ships changes of a served data folder to a place of backups. Started by a serving process, controlled over IPC, and
// terminated with it. It only reads the databases.
import packageJson from '../../package.json' with { type: 'json' }
import { systemClock } from '../kernel/clock.ts'
import { exitWithParent } from '../lanes/parent-death.ts'
import { createLogThrottle } from '../ops/log-throttle.ts'
import { recipientsOf } from '../runtime/backup-settings.ts'
import { openProcessLog, REPEAT_INTERVAL_MS } from '../runtime/process-log.ts'
import type { ShippingCommand } from '../runtime/shipping-process.ts'
import type { Settings } from '../settings.ts'
import { LeaderElection } from '../store/process/leader-election.ts'
import { encryptStream } from '../transfer/encryption.ts'
import { openPlace, s3AccessOf } from '../transfer/places/open-place.ts'
import { hoursMs, Shipper } from '../transfer/shipping/shipper.ts'
import { openShippingFigures } from '../transfer/shipping/shipping-figures.ts'
import { UsageError } from './cli-error.ts'
import { logFailure } from './log-failure.ts'

/**
 * Ships changes until it is stopped. `parent`: the process id of the serving process. Never resolves; rejects with UsageError if it
 * was not started by one.
 */
export async function runShipper(parent: number): Promise<void> {
  if (process.send === undefined) throw new UsageError(['shipper is started by `verdigraph serve` only'])
  exitWithParent(parent)
  let shipper: Shipper | null = null

  // Ignored: terminals and service managers signal whole process groups, and the serving process decides when this one stops.
  process.on('SIGTERM', () => {})
  process.on('SIGINT', () => {})
  process.on('SIGHUP', () => {})
  process.on('disconnect', () => process.exit(0))

  process.on('message', (message: ShippingCommand) => {
    switch (message.order) {
      case 'work':
        try {
          const opened = openShipper(message.settings as Settings, message.organizationId)
          shipper = opened
          // The process of a service that was killed may still be shipping.
          new LeaderElection((message.settings as Settings).dataDir).campaign('shipper', () => opened.start())
        } catch (failure) {
          logFailure(message.settings as Settings, 'changes cannot be shipped', failure)
          process.exit(1)
        }
        return
      case 'check readers':
        shipper?.clearStaleReaders()
        return
      case 'stop':
        void (shipper?.finish() ?? Promise.resolve()).finally(() => process.exit(0))
    }
  })
  await new Promise(() => {})
}

function openShipper(settings: Settings, organizationId: string): Shipper {
  const { dataDir, shipTo, shipIntervalMs, shipGenerationHours, shipKeepHours } = settings
  const recipients = recipientsOf(settings)
  const log = openProcessLog(settings, systemClock)
  return new Shipper({
    dataDir,
    organizationId,
    place: openPlace(shipTo, s3AccessOf(process.env)),
    intervalMs: shipIntervalMs,
    generationMs: hoursMs(shipGenerationHours),
    keepMs: hoursMs(shipKeepHours),
    encrypt: recipients.length === 0 ? null : (stream) => encryptStream(stream, recipients),
    madeBy: `verdigraph ${packageJson.version}`,
    clock: systemClock,
    log: (note) => log({ ...note }),
    timesOf: createLogThrottle(REPEAT_INTERVAL_MS, () => performance.now()),
    figures: openShippingFigures(dataDir),
  })
}
