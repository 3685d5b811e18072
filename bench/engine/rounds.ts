// Times engines on one question in alternating rounds, each call individually. The cost of reading the clock is
// measured in the same rounds and subtracted, so that a call of a microsecond does not look longer.
import { type BenchOptions, mustEqual, quantile } from '../harness.ts'
import type { BenchQuestion } from './authorization-graph.ts'
import { type BenchAnswer, textOf } from './benchmarked-engine.ts'

export interface Runner {
  readonly name: string
  readonly ask: (asked: BenchQuestion) => BenchAnswer | Promise<BenchAnswer>
}

export interface Percentiles {
  readonly calls: number
  readonly p50Us: number
  readonly p95Us: number
  readonly p99Us: number
}

/** A round of one engine takes about this long: slow engines get fewer questions. */
const ROUND_MS = 40
const CALLS_MIN = 5
/** Answers of slow engines are compared for this long, those of fast ones completely. */
const COMPARE_MS = 3_000

/** Compares the answers, in the order of the questions. Returns the number compared and the median time of a call. */
async function compare(
  question: string,
  runner: Runner,
  asked: readonly BenchQuestion[],
): Promise<{ readonly compared: number; readonly usPerCall: number }> {
  const start = Bun.nanoseconds()
  const spent: number[] = []
  for (const one of asked) {
    const before = Bun.nanoseconds()
    if (spent.length >= CALLS_MIN && before - start > COMPARE_MS * 1e6) break
    const answer = runner.ask(one)
    const found = answer instanceof Promise ? await answer : answer
    spent.push(Bun.nanoseconds() - before)
    mustEqual(`${runner.name}, ${question} ${one.first} ${one.second}`, textOf(found), one.answer)
  }
  return {
    compared: spent.length,
    usPerCall:
      quantile(
        spent.toSorted((a, b) => a - b),
        0.5,
      ) / 1000,
  }
}

export interface Contest {
  /** By engine. */
  readonly compared: ReadonlyMap<string, number>
  readonly percentiles: ReadonlyMap<string, Percentiles>
}

export async function contest(
  question: string,
  runners: readonly Runner[],
  asked: readonly BenchQuestion[],
  rounds: number,
  note: BenchOptions['report']['note'],
): Promise<Contest> {
  const compared = new Map<string, number>()
  const callsPerRound = new Map<string, number>()
  const samples = new Map<string, number[]>()
  for (const runner of runners) {
    const found = await compare(question, runner, asked)
    compared.set(runner.name, found.compared)
    const calls = Math.ceil((ROUND_MS * 1000) / Math.max(found.usPerCall, 1))
    callsPerRound.set(runner.name, Math.min(asked.length, Math.max(CALLS_MIN, calls)))
    samples.set(runner.name, [])
    note(`  ${question}: ${runner.name} gave ${found.compared} right answers`)
  }
  const clock: number[] = []
  for (let round = 0; round < rounds; round++) {
    for (const runner of round % 2 === 0 ? runners : runners.toReversed()) {
      const calls = callsPerRound.get(runner.name)!
      const taken = samples.get(runner.name)!
      for (let at = 0; at < calls; at++) {
        const one = asked[(round * calls + at) % asked.length]!
        const start = Bun.nanoseconds()
        const answer = runner.ask(one)
        const found = answer instanceof Promise ? await answer : answer
        taken.push(Bun.nanoseconds() - start)
        // Comparing the answer of a check costs nothing; the others were all compared before.
        if (typeof found !== 'object') mustEqual(`${runner.name}, ${question}`, String(found), one.answer)
      }
    }
    for (let at = 0; at < 200; at++) {
      const start = Bun.nanoseconds()
      clock.push(Bun.nanoseconds() - start)
    }
  }
  const clockNs = quantile(
    clock.toSorted((a, b) => a - b),
    0.5,
  )
  const percentiles = new Map<string, Percentiles>()
  for (const [name, taken] of samples) {
    const sorted = Float64Array.from(taken).sort()
    const at = (share: number): number => Math.max(0, quantile(sorted, share) - clockNs) / 1000
    percentiles.set(name, { calls: sorted.length, p50Us: at(0.5), p95Us: at(0.95), p99Us: at(0.99) })
  }
  return { compared, percentiles }
}
