// Latencies as an HDR histogram: the values are exact to three significant digits, from a nanosecond to an hour, whatever their number.
// One class of the library: its index would also load a WebAssembly module and a compressor.
import imported from 'hdr-histogram-js/dist/Float64Histogram.js'

/** The runtime reads the default of this CommonJS module, and the bundler of the binary the module. */
const Float64Histogram = (imported as unknown as { readonly default?: typeof imported }).default ?? imported

const HIGHEST_NS = 3600e9
const SIGNIFICANT_DIGITS = 3

/** The percentiles of a report. */
const PERCENTILES = [50, 75, 90, 95, 99, 99.9, 99.99] as const

/** A latency below which a share of all answers is. */
interface LatencyPercentile {
  readonly percentile: number
  /** Null: there are too few answers for this percentile. */
  readonly us: number | null
}

/** Answers with a latency in a range. */
interface LatencyBucket {
  readonly fromUs: number
  readonly toUs: number
  readonly count: number
}

/** The latencies of a run. */
export interface LatencySummary {
  readonly count: number
  readonly minUs: number
  readonly meanUs: number
  readonly maxUs: number
  readonly percentiles: readonly LatencyPercentile[]
  /** Ranges of equal width on a logarithmic axis. */
  readonly buckets: readonly LatencyBucket[]
  /** Points of the curve of percentiles: percentile, microseconds. */
  readonly curve: readonly (readonly [percentile: number, us: number])[]
}

/** Ranges of a power of ten. */
const BUCKETS_PER_DECADE = 10
const CURVE_POINTS_PER_HALVING = 5

export class LatencyHistogram {
  readonly #histogram = new Float64Histogram(1, HIGHEST_NS, SIGNIFICANT_DIGITS)

  /** Adds a latency in nanoseconds. */
  record(ns: number): void {
    this.#histogram.recordValue(ns < 1 ? 1 : ns > HIGHEST_NS ? HIGHEST_NS : Math.round(ns))
  }

  get count(): number {
    return this.#histogram.totalCount
  }

  /** The latency that this share of the answers does not exceed, in nanoseconds. */
  percentileNs(percentile: number): number {
    return this.#histogram.getValueAtPercentile(percentile)
  }

  summary(): LatencySummary {
    const histogram = this.#histogram
    const count = histogram.totalCount
    if (count === 0) {
      const percentiles = PERCENTILES.map((percentile) => ({ percentile, us: null }))
      return { count, minUs: 0, meanUs: 0, maxUs: 0, percentiles, buckets: [], curve: [] }
    }
    return {
      count,
      minUs: us(histogram.minNonZeroValue),
      meanUs: us(histogram.mean),
      maxUs: us(histogram.maxValue),
      percentiles: PERCENTILES.map((percentile) => ({
        percentile,
        // A percentile of fewer answers than that would be their maximum.
        us: count * (1 - percentile / 100) < 1 - 1e-9 ? null : us(histogram.getValueAtPercentile(percentile)),
      })),
      buckets: this.#buckets(),
      curve: this.#curve(),
    }
  }

  #buckets(): LatencyBucket[] {
    const counts = new Map<number, number>()
    const iterator = this.#histogram.recordedValuesIterator
    iterator.reset()
    while (iterator.hasNext()) {
      const { countAddedInThisIterationStep: added, valueIteratedTo } = iterator.next()
      if (added === 0) continue
      const bucket = Math.floor(Math.log10(Math.max(1, valueIteratedTo)) * BUCKETS_PER_DECADE)
      counts.set(bucket, (counts.get(bucket) ?? 0) + added)
    }
    const numbers = [...counts.keys()]
    const [first, last] = [Math.min(...numbers), Math.max(...numbers)]
    const edge = (bucket: number): number => us(10 ** (bucket / BUCKETS_PER_DECADE))
    return Array.from({ length: last - first + 1 }, (_, at) => ({
      fromUs: edge(first + at),
      toUs: edge(first + at + 1),
      count: counts.get(first + at) ?? 0,
    }))
  }

  #curve(): [number, number][] {
    const points: [number, number][] = []
    const { totalCount: count } = this.#histogram
    for (let step = 0; ; step++) {
      const share = 0.5 ** (step / CURVE_POINTS_PER_HALVING)
      if (count * share < 1) break
      points.push([100 * (1 - share), us(this.#histogram.getValueAtPercentile(100 * (1 - share)))])
    }
    return points
  }
}

const us = (ns: number): number => Number((ns / 1000).toPrecision(5))
