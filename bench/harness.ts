// How a figure is made: seeded questions, answers checked before and while timing, rounds interleaved, percentiles of
// batches. A bench with a wrong answer throws; it never reports a time.
import { cpus, totalmem } from 'node:os'

export interface BenchOptions {
  /** Sizes that finish in seconds, for the daily check. */
  readonly small: boolean
  readonly seed: number
  readonly report: BenchReport
  /** `--relationships N,N`: the sizes to measure; null: those of the bench. */
  readonly relationships: readonly number[] | null
  /** `--steps NAME,NAME`: the steps to measure; null: all. */
  readonly steps: readonly string[] | null
  /** `--plot FILE`: where to write a plot; null: none. */
  readonly plot: string | null
}

export type BenchRecord = Readonly<Record<string, string | number | boolean | null>>

export interface BenchReport {
  /** One figure or one group of figures: a line for people, or a JSON line for machines. */
  line(record: BenchRecord): void
  /** Progress, for people only; never on standard output. */
  note(text: string): void
}

export interface Bench {
  readonly name: string
  /** The question that the bench answers. */
  readonly question: string
  run(options: BenchOptions): Promise<void>
}

/** The same seed gives the same numbers (mulberry32). */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/** FNV-1a over a sequence of answers: two runs with the same hash had the same answers in the same order. */
export class AnswerHash {
  private state = 0x811c9dc5
  private seen = 0
  add(answer: string): void {
    for (let at = 0; at < answer.length; at++) this.state = Math.imul(this.state ^ answer.charCodeAt(at), 0x01000193)
    this.state = Math.imul(this.state ^ 10, 0x01000193)
    this.seen += 1
  }
  get count(): number {
    return this.seen
  }
  get hex(): string {
    return (this.state >>> 0).toString(16).padStart(8, '0')
  }
}

export function mustEqual(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`wrong answer: ${what} is ${String(found)}, expected ${String(expected)}`)
}

export interface Timing {
  readonly calls: number
  readonly p50Us: number
  readonly p99Us: number
}

/** A subject of measurement: makes its `index`-th call. */
export type TimedCall = (index: number) => void

export interface InterleavedRounds {
  readonly rounds: number
  readonly batchesPerRound: number
  /** Calls per batch. The clock is read once per batch, because one call costs about as much as reading the clock. */
  readonly batch: number
}

/**
 * Times several subjects in the same run. Rounds alternate between them and reverse their order every time, so that a
 * slow phase of the machine affects all of them. Percentiles are over batch means. The first round only warms up.
 */
export function interleaved<Name extends string>(
  plan: InterleavedRounds,
  subjects: Readonly<Record<Name, TimedCall>>,
): Record<Name, Timing> {
  const names = Object.keys(subjects) as Name[]
  const samples = new Map(names.map((name) => [name, new Float64Array(plan.rounds * plan.batchesPerRound)]))
  const next = new Map(names.map((name) => [name, 0]))
  for (let round = -1; round < plan.rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const call = subjects[name]
      let index = next.get(name) as number
      for (let at = 0; at < plan.batchesPerRound; at++) {
        const start = Bun.nanoseconds()
        for (let done = 0; done < plan.batch; done++) call(index++)
        const spent = Bun.nanoseconds() - start
        if (round >= 0)
          (samples.get(name) as Float64Array)[round * plan.batchesPerRound + at] = spent / plan.batch / 1000
      }
      next.set(name, index)
    }
  }
  return Object.fromEntries(
    names.map((name) => {
      const sorted = (samples.get(name) as Float64Array).toSorted()
      const timing = { calls: sorted.length * plan.batch, p50Us: quantile(sorted, 0.5), p99Us: quantile(sorted, 0.99) }
      return [name, timing]
    }),
  ) as Record<Name, Timing>
}

export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

export const round = (value: number, digits = 3): number => Number(value.toFixed(digits))

export function machine(): string {
  const processors = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  return `${processors.length} x ${processors[0]?.model.trim() ?? 'unknown processor'}, ${memory} GiB, ${process.platform}-${process.arch}, bun ${Bun.version}`
}
