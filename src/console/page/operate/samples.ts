// Reads the figures of the service again and again while the screen is shown, and keeps the last minutes.
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { gapAt, type IntervalRates, type ReadStatus, ratesBetween } from './service-status.ts'

/** The chart shows at least this time, seconds. */
export const SHOWN_MIN_S = 60
/** Samples are kept for this time, seconds. */
const KEPT_S = 300

const INTERVAL_MS = 2000

/** The samples of the last minutes. `status`: the last reading; null: none yet. */
interface StatusSamples {
  readonly status: ReadStatus | null
  readonly rates: readonly IntervalRates[]
  readonly error: Error | null
}

/** Kept while the user looks at another screen. */
let kept: StatusSamples = { status: null, rates: [], error: null }

/** Samples the figures. */
export function useSamples(): StatusSamples {
  const [samples, setSamples] = useState(kept)
  useEffect(() => {
    const control = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const sample = async (): Promise<void> => {
      try {
        const status = await call<ReadStatus>('GET', '/operations/v1/status', { signal: control.signal })
        const before = kept.status
        const added = before === null ? gapAt(Date.parse(status.time) / 1000) : ratesBetween(before, status)
        kept = { status, rates: withRates(kept.rates, added), error: null }
      } catch (failure) {
        if (control.signal.aborted) return
        // The line has a gap while the service does not answer.
        kept = { ...kept, rates: withRates(kept.rates, gapAt(Date.now() / 1000)), error: failure as Error }
      }
      if (control.signal.aborted) return
      setSamples(kept)
      timer = setTimeout(() => void sample(), INTERVAL_MS)
    }
    void sample()
    return () => {
      control.abort()
      clearTimeout(timer)
    }
  }, [])
  return samples
}

function withRates(rates: readonly IntervalRates[], added: IntervalRates): readonly IntervalRates[] {
  // The clocks of browser and service may differ: the axis needs ascending times.
  const time = Math.max(added.time, (rates.at(-1)?.time ?? 0) + 0.001)
  return [...rates.filter((one) => one.time > time - KEPT_S), { ...added, time }]
}
