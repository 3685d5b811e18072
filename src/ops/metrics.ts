// Counters, histograms and gauges in the text form of Prometheus. A child is bound to its labels once, so that counting
// on the way of a decision is an addition and nothing else.

export interface Counter {
  add(amount: number): void
}

export interface Histogram {
  observe(value: number): void
}

export type MetricLabels = Readonly<Record<string, string>>

/** One line of a gauge, read when it is asked for. */
export interface MetricSample {
  readonly labels?: MetricLabels
  readonly value: number
}

interface MetricFamily {
  readonly name: string
  lines(): string[]
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Increments by counter: the key is the JSON text of the name and the labels. */
export type CounterDeltas = Readonly<Record<string, number>>

export class Metrics {
  private readonly families: MetricFamily[] = []
  private readonly counters = new Map<string, (labels: MetricLabels) => CounterChild>()
  private readonly counterChildren = new Map<string, CounterChild>()
  private readonly common: MetricLabels

  /** `common`: labels of every line. */
  constructor(common: MetricLabels = {}) {
    this.common = common
  }

  /** Binds labels to a counter of the family; the same labels are the same counter. */
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

  /** What was counted since the last call; zero is left out. */
  takeDeltas(): CounterDeltas {
    const counts: Record<string, number> = {}
    for (const [key, child] of this.counterChildren) {
      const added = child.take()
      if (added !== 0) counts[key] = added
    }
    return counts
  }

  /** Adds what another process has taken from its own counters. Counters that are not known here are ignored. */
  addDeltas(counts: CounterDeltas): void {
    for (const [key, added] of Object.entries(counts)) {
      const [name, labels] = JSON.parse(key) as [string, MetricLabels]
      this.counters.get(name)?.(labels).add(added)
    }
  }

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
      const there = children.get(key) ?? { labels, child: new HistogramChild(bounds) }
      children.set(key, there)
      return there.child
    }
  }

  /** A value that somebody else knows; `kind` says whether it only grows. */
  sampled(name: string, help: string, kind: 'gauge' | 'counter', read: () => readonly MetricSample[]): void {
    this.families.push({
      name,
      lines: () => [
        ...familyHeader(name, help, kind),
        ...read().map(({ labels = {}, value }) => `${name}${labelText({ ...this.common, ...labels })} ${value}`),
      ],
    })
  }

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
  /** One more than bounds: what is above all of them. */
  private readonly counts: Float64Array
  private sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const { bounds } = this
    let at = 0
    while (at < bounds.length && value > (bounds[at] as number)) at++
    this.counts[at] = (this.counts[at] as number) + 1
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
