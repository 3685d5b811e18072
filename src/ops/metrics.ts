// Counters, histograms and sampled values, in the text format of Prometheus and in OpenMetrics 1.0. Labels are bound once, so
// counting during a decision is one addition.
import type { MetricsFormat } from '../kernel/text/metrics-format.ts'

/** A counter with its labels. */
export interface Counter {
  /** The sum of all amounts. */
  readonly value: number
  /** Adds a non-negative amount. */
  add(amount: number): void
}

/** A histogram with its labels. */
export interface Histogram {
  /** The number of values in each bucket; the last bucket is above all bounds. */
  readonly counts: ArrayLike<number>
  /** Records one value. `traceId`: of a sampled trace, which becomes the exemplar of the bucket; null: none. */
  observe(value: number, traceId?: string | null): void
}

/** Label values by name. */
export type MetricLabels = Readonly<Record<string, string>>

/** One sample of a sampled metric. */
export interface MetricSample {
  readonly labels?: MetricLabels
  readonly value: number
}

interface MetricFamily {
  readonly name: string
  lines(format: MetricsFormat): string[]
}

/**
 * Increments by counter, or by bucket of a histogram. The key is the JSON text of name, labels, and for a histogram the index of the
 * bucket, or `sum`.
 */
export type CounterDeltas = Readonly<Record<string, number>>

/** A registry of metrics. */
export class Metrics {
  private readonly families: MetricFamily[] = []
  private readonly counters = new Map<string, (labels: MetricLabels) => CounterChild>()
  private readonly counterChildren = new Map<string, CounterChild>()
  /** Histograms that lanes observe for their serving process. */
  private readonly sharedHistograms = new Map<string, (labels: MetricLabels) => HistogramChild>()
  private readonly sharedChildren: {
    readonly name: string
    readonly own: MetricLabels
    readonly child: HistogramChild
  }[] = []
  private readonly common: MetricLabels

  /** `common`: labels of every sample. */
  constructor(common: MetricLabels = {}) {
    this.common = common
  }

  /** Registers a counter. The returned function binds labels; the same labels return the same counter. */
  counter(name: string, help: string): (labels: MetricLabels) => Counter {
    const children = new Map<string, CounterChild>()
    this.families.push({
      name,
      lines: (format) => [
        ...familyHeader(name, help, 'counter', format),
        ...[...children].map(([labels, { value }]) => `${name}${labels} ${value}`),
      ],
    })
    const childOf = (own: MetricLabels): CounterChild => {
      const key = labelText({ ...this.common, ...own })
      const child = children.get(key) ?? new CounterChild()
      children.set(key, child)
      this.counterChildren.set(JSON.stringify([name, own]), child)
      return child
    }
    this.counters.set(name, childOf)
    return childOf
  }

  /** Returns the increments since the last call, without zeros. */
  takeDeltas(): CounterDeltas {
    const counts: Record<string, number> = {}
    for (const [key, child] of this.counterChildren) {
      const added = child.take()
      if (added !== 0) counts[key] = added
    }
    for (const { name, own, child } of this.sharedChildren)
      for (const [part, added] of child.take()) counts[JSON.stringify([name, own, part])] = added
    return counts
  }

  /** Adds increments of another process. Unknown metrics are ignored. */
  addDeltas(counts: CounterDeltas): void {
    for (const [key, added] of Object.entries(counts)) {
      const [name, labels, part] = JSON.parse(key) as [string, MetricLabels, HistogramPart | undefined]
      if (part === undefined) this.counters.get(name)?.(labels).add(added)
      else this.sharedHistograms.get(name)?.(labels).add(part, added)
    }
  }

  /**
   * Registers a histogram with the upper bounds of its buckets. The returned function binds labels. `isShared`: the observations of lanes
   * are part of it.
   */
  histogram(
    name: string,
    help: string,
    bounds: readonly number[],
    { isShared = false }: { readonly isShared?: boolean } = {},
  ): (labels: MetricLabels) => Histogram {
    const children = new Map<string, { readonly labels: MetricLabels; readonly child: HistogramChild }>()
    this.families.push({
      name,
      lines: (format) => [
        ...familyHeader(name, help, 'histogram', format),
        ...[...children.values()].flatMap(({ labels, child }) => child.lines(name, labels, format)),
      ],
    })
    const childOf = (own: MetricLabels): HistogramChild => {
      const labels = { ...this.common, ...own }
      const key = labelText(labels)
      const known = children.get(key)
      if (known !== undefined) return known.child
      const child = new HistogramChild(bounds)
      children.set(key, { labels, child })
      if (isShared) this.sharedChildren.push({ name, own, child })
      return child
    }
    if (isShared) this.sharedHistograms.set(name, childOf)
    return childOf
  }

  /** Registers a metric whose samples are read at each scrape. `kind`: `counter` if it never decreases. */
  sampled(name: string, help: string, kind: 'gauge' | 'counter', read: () => readonly MetricSample[]): void {
    this.families.push({
      name,
      lines: (format) => [
        ...familyHeader(name, help, kind, format),
        ...read().map(({ labels = {}, value }) => `${name}${labelText({ ...this.common, ...labels })} ${value}`),
      ],
    })
  }

  /** All metrics. */
  text(format: MetricsFormat = 'prometheus'): string {
    const lines = this.families.flatMap((family) => family.lines(format))
    if (format === 'openmetrics') lines.push('# EOF')
    return `${lines.join('\n')}\n`
  }
}

class CounterChild implements Counter {
  value = 0
  private taken = 0

  add(amount: number): void {
    this.value += amount
  }

  take(): number {
    const added = this.value - this.taken
    this.taken = this.value
    return added
  }
}

/** The index of a bucket, or the sum of the values. */
type HistogramPart = number | 'sum'

/** The trace of one observation, the last of its bucket. */
interface Exemplar {
  readonly traceId: string
  readonly value: number
  /** Milliseconds since the epoch. */
  readonly timeMs: number
}

class HistogramChild implements Histogram {
  private readonly bounds: readonly number[]
  readonly counts: Float64Array
  private sum = 0
  /** By bucket; null: no trace was observed. */
  private exemplars: (Exemplar | undefined)[] | null = null
  /** The counts and the sum that `take` has returned; null: it was not called. */
  private taken: { readonly counts: Float64Array; sum: number } | null = null

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number, traceId: string | null = null): void {
    const { bounds } = this
    let bucket = 0
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++
    this.counts[bucket] = (this.counts[bucket] as number) + 1
    this.sum += value
    if (traceId === null) return
    this.exemplars ??= []
    this.exemplars[bucket] = { traceId, value, timeMs: Date.now() }
  }

  /** Adds what another process has observed. */
  add(part: HistogramPart, added: number): void {
    if (part === 'sum') this.sum += added
    else if (part in this.counts) this.counts[part] = (this.counts[part] as number) + added
  }

  /** The increments since the last call, without zeros. */
  take(): (readonly [HistogramPart, number])[] {
    this.taken ??= { counts: new Float64Array(this.counts.length), sum: 0 }
    const { counts } = this.taken
    const added: (readonly [HistogramPart, number])[] = []
    this.counts.forEach((count, i) => {
      if (count !== counts[i]) added.push([i, count - (counts[i] as number)])
      counts[i] = count
    })
    if (added.length > 0) added.push(['sum', this.sum - this.taken.sum])
    this.taken.sum = this.sum
    return added
  }

  lines(name: string, labels: MetricLabels, format: MetricsFormat): string[] {
    const isOpen = format === 'openmetrics'
    let below = 0
    const buckets = [...this.bounds.map((bound) => boundText(bound, format)), '+Inf'].map((le, i) => {
      below += this.counts[i] as number
      const exemplar = isOpen ? this.exemplars?.[i] : undefined
      return `${name}_bucket${labelText({ ...labels, le })} ${below}${exemplar === undefined ? '' : exemplarText(exemplar)}`
    })
    return [...buckets, `${name}_sum${labelText(labels)} ${this.sum}`, `${name}_count${labelText(labels)} ${below}`]
  }
}

/** OpenMetrics 1.0, section 4.2: the bound of a bucket is a canonical number, which has a decimal point. */
function boundText(bound: number, format: MetricsFormat): string {
  return format === 'openmetrics' && Number.isInteger(bound) ? `${bound}.0` : String(bound)
}

function exemplarText({ traceId, value, timeMs }: Exemplar): string {
  return ` # {trace_id="${traceId}"} ${value} ${timeMs / 1000}`
}

function familyHeader(name: string, help: string, type: string, format: MetricsFormat): string[] {
  // In OpenMetrics, the name of the family of a counter is without the suffix of its samples.
  const family = format === 'openmetrics' && type === 'counter' ? name.replace(/_total$/, '') : name
  return [`# HELP ${family} ${help}`, `# TYPE ${family} ${type}`]
}

function labelText(labels: MetricLabels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escaped)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`
}
