// Counters, histograms and gauges in the text form of Prometheus. A child is bound to its labels once, so that counting
// on the way of a decision is an addition and nothing else.

export interface Counter {
  add(amount: number): void
}

export interface Histogram {
  observe(value: number): void
}

export type Labels = Readonly<Record<string, string>>

/** One line of a gauge, read when it is asked for. */
export interface Reading {
  readonly labels?: Labels
  readonly value: number
}

interface Family {
  readonly name: string
  lines(): string[]
}

export const exposition = 'text/plain; version=0.0.4; charset=utf-8'

/** Increments by counter: the key is the JSON text of the name and the labels. */
export type Counts = Readonly<Record<string, number>>

export class Metrics {
  private readonly families: Family[] = []
  private readonly counters = new Map<string, (labels: Labels) => CounterChild>()
  private readonly counterChildren = new Map<string, CounterChild>()
  private readonly common: Labels

  /** `common`: labels of every line. */
  constructor(common: Labels = {}) {
    this.common = common
  }

  /** Binds labels to a counter of the family; the same labels are the same counter. */
  counter(name: string, help: string): (labels: Labels) => Counter {
    const children = new Map<string, CounterChild>()
    this.families.push({
      name,
      lines: () => [
        ...head(name, help, 'counter'),
        ...[...children].map(([labels, { value }]) => `${name}${labels} ${value}`),
      ],
    })
    const childOf = (own: Labels): CounterChild => {
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
  takeCounts(): Counts {
    const counts: Record<string, number> = {}
    for (const [key, child] of this.counterChildren) {
      const added = child.take()
      if (added !== 0) counts[key] = added
    }
    return counts
  }

  /** Adds what another process has taken from its own counters. Counters that are not known here are ignored. */
  addCounts(counts: Counts): void {
    for (const [key, added] of Object.entries(counts)) {
      const [name, labels] = JSON.parse(key) as [string, Labels]
      this.counters.get(name)?.(labels).add(added)
    }
  }

  histogram(name: string, help: string, bounds: readonly number[]): (labels: Labels) => Histogram {
    const children = new Map<string, { readonly labels: Labels; readonly child: HistogramChild }>()
    this.families.push({
      name,
      lines: () => [
        ...head(name, help, 'histogram'),
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
  reading(name: string, help: string, kind: 'gauge' | 'counter', read: () => readonly Reading[]): void {
    this.families.push({
      name,
      lines: () => [
        ...head(name, help, kind),
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

  lines(name: string, labels: Labels): string[] {
    let below = 0
    const buckets = [...this.bounds.map(String), '+Inf'].map((le, i) => {
      below += this.counts[i] as number
      return `${name}_bucket${labelText({ ...labels, le })} ${below}`
    })
    return [...buckets, `${name}_sum${labelText(labels)} ${this.sum}`, `${name}_count${labelText(labels)} ${below}`]
  }
}

function head(name: string, help: string, type: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escaped)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`
}
