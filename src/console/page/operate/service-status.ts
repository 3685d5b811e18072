// The figures of the service as the page reads them, and the rates between two readings.

/** Counts of one worker since its start. */
export interface ReadFigures {
  readonly start_time: string
  readonly cpu_seconds: number
  readonly resident_bytes: number
  readonly granted: number
  readonly denied: number
  readonly searches: number
  readonly requests: number
  readonly server_errors: number
  readonly evaluation_times: readonly number[]
  readonly lanes: {
    readonly ready: number
    readonly running: number
    readonly waiting: number
    readonly killed: number
    readonly answered: number
  } | null
  readonly graphs_open: number
  readonly cache_bytes: number
}

/** A worker; without figures if it did not answer. */
export interface ReadWorker {
  readonly worker: number
  readonly figures: ReadFigures | null
}

/** The outcomes of calls to a resolver, or of verifications of tokens. */
export interface ReadConnection {
  readonly kind: 'resolver' | 'token-introspect'
  readonly id: string
  readonly succeeded: number
  readonly failed: number
  readonly last_success_time: string | null
  readonly last_failure_time: string | null
  readonly last_failure: string | null
}

/** The answer of `GET /operations/v1/status`. */
export interface ReadStatus {
  readonly time: string
  readonly version: string
  readonly duration_bounds_s: readonly number[]
  readonly cache_bytes_max: number
  readonly workers: readonly ReadWorker[]
  readonly connections: readonly ReadConnection[]
  readonly storage: {
    readonly bytes: number
    readonly environments: readonly {
      readonly kind: 'graph' | 'configuration' | 'events' | 'audit'
      readonly project_id: string
      readonly path: string
      readonly bytes: number
    }[]
    readonly environments_total: number
  }
}

/** The rates of an interval, per second and as quantiles in seconds. Null: not known. */
export interface IntervalRates {
  /** Seconds since the epoch. */
  readonly time: number
  readonly granted: number | null
  readonly denied: number | null
  readonly requests: number | null
  readonly serverErrors: number | null
  readonly p50: number | null
  readonly p99: number | null
}

/** The figures of one process before and after; `earlier` null: it started in between. */
interface FiguresPair {
  readonly earlier: ReadFigures | null
  readonly figures: ReadFigures
}

/** A point without values, such as while the service does not answer. */
export function gapAt(time: number): IntervalRates {
  return { time, granted: null, denied: null, requests: null, serverErrors: null, p50: null, p99: null }
}

/** The rates of all workers between two readings. A worker that was started again counts from zero. */
export function ratesBetween(before: ReadStatus, after: ReadStatus): IntervalRates {
  const time = Date.parse(after.time) / 1000
  const seconds = time - Date.parse(before.time) / 1000
  if (!(seconds > 0)) return gapAt(time)
  const pairs = after.workers.flatMap(({ worker, figures }): readonly FiguresPair[] => {
    const earlier = before.workers.find((one) => one.worker === worker)?.figures ?? null
    if (figures === null) return []
    if (earlier !== null && isSameProcess(earlier, figures)) return [{ earlier, figures }]
    // Started within the interval; a worker that did not answer before is not counted, because its counts are older.
    return Date.parse(figures.start_time) >= Date.parse(before.time) ? [{ earlier: null, figures }] : []
  })
  if (pairs.length === 0) return gapAt(time)
  const rate = (member: 'granted' | 'denied' | 'requests' | 'server_errors'): number =>
    pairs.reduce((sum, { earlier, figures }) => sum + figures[member] - (earlier?.[member] ?? 0), 0) / seconds
  const counts = after.duration_bounds_s
    .concat(0)
    .map((_, bucket) =>
      pairs.reduce(
        (sum, { earlier, figures }) =>
          sum + (figures.evaluation_times[bucket] ?? 0) - (earlier?.evaluation_times[bucket] ?? 0),
        0,
      ),
    )
  return {
    time,
    granted: rate('granted'),
    denied: rate('denied'),
    requests: rate('requests'),
    serverErrors: rate('server_errors'),
    p50: quantileOf(counts, after.duration_bounds_s, 0.5),
    p99: quantileOf(counts, after.duration_bounds_s, 0.99),
  }
}

/** The start is computed from the uptime, so it differs by some milliseconds. */
function isSameProcess(a: ReadFigures, b: ReadFigures): boolean {
  return Math.abs(Date.parse(a.start_time) - Date.parse(b.start_time)) < 1000 && b.requests >= a.requests
}

/** A quantile, interpolated within its bucket as Prometheus does. Null: there are no values. */
export function quantileOf(counts: readonly number[], bounds: readonly number[], quantile: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total <= 0) return null
  const rank = quantile * total
  let below = 0
  for (const [bucket, count] of counts.entries()) {
    if (below + count < rank || count === 0) {
      below += count
      continue
    }
    const low = bucket === 0 ? 0 : (bounds[bucket - 1] ?? 0)
    const high = bounds[bucket]
    return high === undefined ? low : low + ((rank - below) / count) * (high - low)
  }
  return bounds.at(-1) ?? null
}
