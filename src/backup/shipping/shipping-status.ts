// The state of the shipping, for metrics and for an operator.
import type { ShippingAnswer } from '../../http/routes/operator.ts'
import type { ShippingTotals } from '../../ops/service-metrics.ts'
import type { Settings } from '../../settings.ts'
import { placeUrl } from '../places/place-address.ts'
import { openShippingFigures, shippingLateS } from './shipping-figures.ts'

/** Returns a function that reads the state of the shipping, which any process of the folder may do. */
export function shippingTotals(dataDir: string): () => ShippingTotals {
  const figures = openShippingFigures(dataDir)
  const startedS = Date.now() / 1000
  const ageOf = (seconds: number): number => Math.max(0, Date.now() / 1000 - (seconds || startedS))
  return () => ({
    // Before the first moment, since the start of this process.
    lagS: ageOf(figures.momentS),
    generationAgeS: ageOf(figures.baseS),
    objects: figures.objects,
    bytes: figures.kibibytes * 1024,
    failures: figures.failures,
  })
}

/** Returns a function that reads the state of the shipping for an operator at a time. Null: the setting `ship_to` is empty. */
export function shippingReader({
  shipTo,
  shipIntervalMs,
  dataDir,
}: Settings): (nowMs: number) => ShippingAnswer | null {
  if (shipTo === '') return () => null
  const figures = openShippingFigures(dataDir)
  const time = (seconds: number): string | null => (seconds === 0 ? null : new Date(seconds * 1000).toISOString())
  return (nowMs) => {
    const { momentS, baseS, objects, kibibytes, failures } = figures
    const lagS = momentS === 0 ? null : Math.max(0, Math.round(nowMs / 1000 - momentS))
    return {
      place: placeUrl(shipTo),
      interval_ms: shipIntervalMs,
      newest_moment: time(momentS),
      generation_time: time(baseS),
      lag_seconds: lagS,
      is_late: lagS !== null && lagS > shippingLateS(shipIntervalMs),
      objects,
      bytes: kibibytes * 1024,
      failures,
    }
  }
}
