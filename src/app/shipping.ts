// Builds the shipping of changes of a serving process: the process that ships.

import { openPlace, s3AccessOf } from '../backup/places/open-place.ts'
import { ShippingProcess } from '../backup/shipping/shipping-process.ts'
import type { SupervisionOverrides } from '../processes/supervised.ts'
import type { Platform } from './open-store.ts'

/**
 * Creates the process that ships changes. `command`: its command line. Throws OperationalError if there are no credentials for the
 * place.
 */
export function createShippingProcess(
  platform: Platform,
  command: readonly string[],
  supervision?: SupervisionOverrides,
): ShippingProcess {
  const {
    process: { settings, signal },
    reports: { processes: figures, log },
    configuration: { organizationId },
    graphs: { clearStaleReaders },
  } = platform
  const { dataDir, shipTo } = settings
  // Fails at the start and not in the process.
  openPlace(shipTo, s3AccessOf(process.env))
  const task = { settings, organizationId }
  return new ShippingProcess({
    dataDir,
    signal,
    command,
    task,
    ...(supervision !== undefined && { pingMs: supervision.pingMs }),
    figures,
    log,
    onUnexpectedExit: clearStaleReaders,
  })
}
