// The process that ships changes of a served data folder to a place of backups. Started by a serving process. It only reads the
// databases.
import packageJson from '../../../package.json' with { type: 'json' }
import { openProcessLog, REPEAT_INTERVAL_MS } from '../../app/process-log.ts'
import { recipientsOf } from '../../backup/backup-settings.ts'
import { encryptStream } from '../../backup/encryption.ts'
import { openPlace, s3AccessOf } from '../../backup/places/open-place.ts'
import { hoursMs, Shipper } from '../../backup/shipping/shipper.ts'
import { openShippingFigures } from '../../backup/shipping/shipping-figures.ts'
import type { ShippingTask } from '../../backup/shipping/shipping-process.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import { createLogThrottle } from '../../ops/log-throttle.ts'
import { type OpenChild, runChild } from '../../processes/run-child.ts'
import type { Settings } from '../../settings.ts'
import { CommitWaiter } from '../../store/process/commit-waiter.ts'
import { LeaderElection } from '../../store/process/leader-election.ts'
import { logFailureOf } from './log-failure.ts'

/** Ships changes until it is stopped. `parent`: the process id of the serving process. Never resolves. */
export function runShipper(parent: number): Promise<never> {
  return runChild<ShippingTask>({ kind: 'shipper', parent, open: openShipper, failed: logFailureOf('shipper') })
}

async function openShipper({ settings: given, organizationId }: ShippingTask): Promise<OpenChild> {
  const settings = given as Settings
  const { dataDir, shipTo, shipIntervalMs, shipGenerationHours, shipKeepHours } = settings
  const recipients = recipientsOf(settings)
  const log = openProcessLog(settings, systemClock)
  const shipper = new Shipper({
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
  // The process of a service that was killed may still be shipping.
  new LeaderElection(dataDir, new CommitWaiter(dataDir)).campaign('shipper', () => shipper.start())
  return { checkReaders: () => shipper.clearStaleReaders(), stop: () => shipper.finish() }
}
