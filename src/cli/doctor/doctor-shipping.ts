// The check of `doctor` for shipped changes: how old the newest moment is that the process that ships reports, and whether the objects in
// the place can be restored up to it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openPlace, s3AccessOf } from '../../backup/places/open-place.ts'
import { listShipped, restorablePeriods, type ShippingGap, shippingGaps } from '../../backup/shipping/moments.ts'
import { openShippingFigures, shippingLateS } from '../../backup/shipping/shipping-figures.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { SHIPPING_FIGURES_FILE } from '../../kernel/folder/data-folder.ts'
import type { Settings } from '../../settings.ts'
import { type Finding, failed, passed, warned } from './doctor-checks.ts'

/** A bucket that does not answer within this time is unreachable, milliseconds. */
const ANSWER_MS = 10_000

const CHECK = 'shipping'

/** Checks the shipping of a served folder to the place of the setting `ship_to`. Empty without it. */
export async function checkShipping(settings: Settings, nowMs: number): Promise<Finding[]> {
  const { dataDir, shipTo, shipIntervalMs } = settings
  if (shipTo === '') return []
  const mend = `see the log of the service, and whether ${shipTo} can be reached`
  if (!existsSync(join(dataDir, SHIPPING_FIGURES_FILE)))
    return [failed(CHECK, 'nothing was shipped: the service runs without `ship_to`', 'restart it with this setting')]
  const { momentS } = openShippingFigures(dataDir)
  if (momentS === 0) return [warned(CHECK, 'the first base was not shipped yet', mend)]
  const lateS = shippingLateS(shipIntervalMs)
  const lagS = Math.round(nowMs / 1000 - momentS)
  if (lagS > lateS)
    return [failed(CHECK, `the newest shipped moment is of ${time(momentS * 1000)}, ${lagS} s ago`, mend)]
  try {
    return await checkObjects(settings, momentS, lateS)
  } catch (failure) {
    if (!(failure instanceof OperationalError)) throw failure
    return [warned(CHECK, `the shipped objects cannot be listed: ${failure.message}`, mend)]
  }
}

/** Compares the shipped objects with the newest moment of the service. Rejects with OperationalError. */
async function checkObjects({ shipTo }: Settings, momentS: number, lateS: number): Promise<Finding[]> {
  const access = s3AccessOf(process.env)
  const shipped = await listShipped(openPlace(shipTo, access && { ...access, attempts: 1, attemptMs: ANSWER_MS }))
  const newestMs = Math.max(0, ...restorablePeriods(shipped).map(({ toMs }) => toMs))
  const faults = shippingGaps(shipped).filter(({ isFault }) => isFault)
  const open = faults.find(({ toMs }) => toMs > newestMs)
  const mend = 'restart the service, which begins a new generation; then find what has removed it from the place'
  if (open !== undefined)
    return [failed(CHECK, `nothing after ${time(open.fromMs)} can be restored: ${open.reason}`, mend)]
  if (newestMs === 0) return [failed(CHECK, `${shipTo} has no shipped changes, although they were shipped`, mend)]
  if (momentS - newestMs / 1000 > lateS)
    return [failed(CHECK, `nothing after ${time(newestMs)} can be restored from ${shipTo}`, mend)]
  const found = `the newest shipped moment is of ${time(momentS * 1000)}`
  return faults.length === 0 ? [passed(CHECK, found)] : faults.map((gap) => warned(CHECK, describe(gap), PAST))
}

const PAST = 'find what has removed it from the place: a rule of the bucket, or another program'

function describe({ fromMs, toMs, reason }: ShippingGap): string {
  return `nothing between ${time(fromMs)} and ${time(toMs)} can be restored: ${reason}`
}

function time(ms: number): string {
  return new Date(ms).toISOString()
}
