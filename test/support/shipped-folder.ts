// A data folder whose changes a test ships to a folder, step by step.
import { join } from 'node:path'
import { FolderPlace } from '../../src/backup/places/folder-place.ts'
import type { BackupPlace } from '../../src/backup/places/place.ts'
import { Shipper, type ShipperOptions } from '../../src/backup/shipping/shipper.ts'
import type { ShippingNote } from '../../src/backup/shipping/shipping-failures.ts'
import { openShippingFigures } from '../../src/backup/shipping/shipping-figures.ts'
import type { Clock } from '../../src/kernel/time/clock.ts'
import { createLogThrottle } from '../../src/ops/log-throttle.ts'

const HOUR_MS = 3_600_000

/** A shipper that works when the test calls `round`. `entries`: receives what it logs. */
export function shipperOf(
  dataDir: string,
  clock: Clock,
  options: Partial<Omit<ShipperOptions, 'place'>> & { place?: BackupPlace; entries?: ShippingNote[] } = {},
): Shipper {
  const { entries, ...others } = options
  return new Shipper({
    dataDir,
    organizationId: 'organization-1',
    place: new FolderPlace(join(dataDir, '..', 'place')),
    intervalMs: 1000,
    generationMs: 24 * HOUR_MS,
    keepMs: 24 * HOUR_MS,
    encrypt: null,
    madeBy: 'test',
    clock,
    log: (entry) => void entries?.push(entry),
    timesOf: createLogThrottle(60_000, () => clock.now()),
    figures: openShippingFigures(dataDir),
    ...others,
  })
}
