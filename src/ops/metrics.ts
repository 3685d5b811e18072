// Counters, histograms and sampled values in the Prometheus text format. Labels are bound once, so counting during a
// decision is one addition.

/** A counter with its labels. */
export interface Counter {
  /** Adds a non-negative amount. */
  add(amount: number): void
}

/** A histogram with its labels. */
export interface Histogram {
  /** Records one value. */
  observe(value: number): void
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
  lines(): string[]
}

/** The content type of the Prometheus text format. */
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Increments by counter. The key is the JSON text of name and labels. */
export type CounterDeltas = Readonly<Record<string, number>>

/** A registry of metrics. */
export class Metrics {
  private readonly families: MetricFamily[] = []
  private readonly counters = new Map<string, (labels: MetricLabels) => CounterChild>()
  private readonly counterChildren = new Map<string, CounterChild>()
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
      lines: () => [
        ...familyHeader(name, help, 'counter'),
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
    return counts
  }

  /** Adds increments of another process. Unknown counters are ignored. */
  addDeltas(counts: CounterDeltas): void {
    for (const [key, added] of Object.entries(counts)) {
      const [name, labels] = JSON.parse(key) as [string, MetricLabels]
      this.counters.get(name)?.(labels).add(added)
    }
  }

  /** Registers a histogram with the upper bounds of its buckets. The returned function binds labels. */
  histogram(name: string, help: string, bounds: readonly number[]): (labels: MetricLabels) => Histogram {
    const children = new Map<string, { readonly labels: MetricLabels; readonly child: HistogramChild }>()
    this.families.push({
      name,
      lines: () => [
        ...familyHeader(name, help, 'histogram'),
        ...[...children.values()].flatMap(({ labels, child }) => child.lines(name, labels)),
      ],
    })
    return (own) => {
      const labels = { ...this.common, ...own }
      const key = labelText(labels)
      const child = children.get(key) ?? { labels, child: new HistogramChild(bounds) }
      children.set(key, child)
      return child.child
    }
  }

  /** Registers a metric whose samples are read at each scrape. `kind`: `counter` if it never decreases. */
  sampled(name: string, help: string, kind: 'gauge' | 'counter', read: () => readonly MetricSample[]): void {
    this.families.push({
      name,
      lines: () => [
        ...familyHeader(name, help, kind),
        ...read().map(({ labels = {}, value }) => `${name}${labelText({ ...this.common, ...labels })} ${value}`),
      ],
    })
  }

  /** All metrics in the text format. */
  text(): string {
    return `${this.families.flatMap((family) => family.lines()).join('\n')}\n`
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

class HistogramChild implements Histogram {
  private readonly bounds: readonly number[]
  /** Counts per bucket; the last one is above all bounds. */
  private readonly counts: Float64Array
  private sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const { bounds } = this
    let bucket = 0
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++
    this.counts[bucket] = (this.counts[bucket] as number) + 1
    this.sum += value
  }

  lines(name: string, labels: MetricLabels): string[] {
    let below = 0
    const buckets = [...this.bounds.map(String), '+Inf'].map((le, i) => {
      below += this.counts[i] as number
      return `${name}_bucket${labelText({ ...labels, le })} ${below}`
    })
    return [...buckets, `${name}_sum${labelText(labels)} ${this.sum}`, `${name}_count${labelText(labels)} ${below}`]
  }
}

function familyHeader(name: string, help: string, type: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}

function labelText(labels: MetricLabels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escaped)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`
}
