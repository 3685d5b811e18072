// The load of a bench with a clock that the test sets: latencies at a fixed rate begin when a question was due.
import { expect, test } from 'vitest'
import { LatencyHistogram } from '../../../../src/cli/bench/latency-histogram.ts'
import { type AskedSystem, type LoadClock, runLoad } from '../../../../src/cli/bench/load.ts'

const MS = 1e6

/** Time passes only while the system answers, and while the load waits. */
class SetClock implements LoadClock {
  ns = 0

  nowNs(): number {
    return this.ns
  }

  async pauseUntil(ns: number): Promise<void> {
    this.ns = Math.max(this.ns, ns)
  }
}

/** Answers in 1 ms each, and once in 1 s. */
function stallingSystem(clock: SetClock, stallAt: number): AskedSystem {
  let asked = 0
  return {
    callers: 1,
    ask() {
      clock.ns += asked++ === stallAt ? 1000 * MS : MS
      return true
    },
  }
}

/** The index of a percentile among sorted values. */
function rankOf(percentile: number, count: number): number {
  // 99.9 % of 1000 is a little more than 999 as a number.
  return Math.ceil((percentile / 100) * count - 1e-6) - 1
}

const questions = [
  {
    request: { subject: { type: 'A', id: 'a' }, action: { name: 'read' }, resource: { type: 'B', id: 'b' } },
    expected: true,
  },
]

test('at a fixed rate a stall of a second delays all questions that were due in it', async () => {
  const clock = new SetClock()
  const plan = { rate: 100, durationS: 10, warmUpS: 0 }
  const { latency } = await runLoad(stallingSystem(clock, 200), questions, plan, clock)
  // 1000 questions, 10 ms apart. The question of the stall takes 1000 ms. The n-th after it was due 10 n ms after it, and is answered
  // n ms after the stall: 1000 - 9 n ms, as long as that is more than 1 ms, which are 111 more questions.
  expect(latency.count).toBe(1000)
  const expected = [...Array.from({ length: 112 }, (_, n) => 1000 - 9 * n), ...new Array<number>(888).fill(1)]
  expected.sort((a, b) => a - b)
  for (const { percentile, us } of latency.percentiles) {
    if (percentile > 99.9) expect(us).toBeNull()
    else expect(us! / 1000 / expected[rankOf(percentile, 1000)]!, `p${percentile}`).toBeCloseTo(1, 2)
  }
  expect(latency.percentiles.find(({ percentile }) => percentile === 99)?.us).toBeGreaterThan(900_000)
})

test('in a closed loop the same stall is one slow answer', async () => {
  const clock = new SetClock()
  const plan = { rate: null, durationS: 10, warmUpS: 0 }
  const { latency } = await runLoad(stallingSystem(clock, 200), questions, plan, clock)
  // 9 s of answers of 1 ms, and one of 1 s.
  expect(latency.count).toBe(9001)
  expect(latency.percentiles.find(({ percentile }) => percentile === 99.9)?.us).toBeCloseTo(1000, -1)
  expect(latency.maxUs / 1e6).toBeCloseTo(1, 2)
})

test('answers of the warm-up are checked, and not measured', async () => {
  const clock = new SetClock()
  const system: AskedSystem = {
    callers: 1,
    ask() {
      clock.ns += MS
      return clock.ns > 1000 * MS
    },
  }
  const result = await runLoad(system, questions, { rate: null, durationS: 1, warmUpS: 1 }, clock)
  expect(result).toMatchObject({ checked: 2000, wrong: 1000, firstWrong: 'A:a read B:b is denied, expected granted' })
  expect(result.latency.count).toBe(1000)
  expect(result.perSecond).toBeCloseTo(1000, 0)
})

test('a rate that is too high shows the rate that was reached, although all answers are to questions of the warm-up', async () => {
  const clock = new SetClock()
  const plan = { rate: 100_000, durationS: 1, warmUpS: 1 }
  const result = await runLoad(stallingSystem(clock, -1), questions, plan, clock)
  expect(result.latency.count).toBe(0)
  expect(result.perSecond).toBeCloseTo(1000, 0)
})

test('a process that is held up for the whole time has asked nevertheless', async () => {
  /** The process begins to run at once, but is held up before it asks. */
  class HeldClock extends SetClock {
    reads = 0

    override nowNs(): number {
      if (this.reads++ === 1) this.ns += 60_000 * MS
      return super.nowNs()
    }
  }
  for (const rate of [null, 100]) {
    const clock = new HeldClock()
    const result = await runLoad(stallingSystem(clock, -1), questions, { rate, durationS: 1, warmUpS: 0 }, clock)
    expect([rate, result.checked, result.latency.count]).toEqual([rate, 1, 1])
  }
})

test('after a warm-up in which the process was held up, one answer is measured', async () => {
  const clock = new SetClock()
  const plan = { rate: null, durationS: 1, warmUpS: 1 }
  // The first answer ends after the time that is measured.
  const result = await runLoad(stallingSystem(clock, 999), questions, { ...plan, durationS: 0.5 }, clock)
  expect([result.checked, result.latency.count]).toEqual([1001, 1])
})

test('errors are counted, and are no wrong answers', async () => {
  const clock = new SetClock()
  const system: AskedSystem = {
    callers: 1,
    ask() {
      clock.ns += 10 * MS
      return { error: 'status 503' }
    },
  }
  const result = await runLoad(system, questions, { rate: null, durationS: 1, warmUpS: 0 }, clock)
  expect(result).toMatchObject({ checked: 0, wrong: 0, errors: 100, firstError: 'status 503' })
})

test('a histogram is exact to three digits over ten powers of ten, and its ranges contain every answer', () => {
  const histogram = new LatencyHistogram()
  const values = Array.from({ length: 10_000 }, (_, n) => 10 ** (1 + (n * 10) / 10_000))
  for (const value of values) histogram.record(value)
  for (const percentile of [1, 25, 50, 75, 90, 99, 99.9, 99.99]) {
    const exact = values[rankOf(percentile, values.length)]!
    expect(histogram.percentileNs(percentile) / exact, `p${percentile}`).toBeGreaterThan(0.998)
    expect(histogram.percentileNs(percentile) / exact, `p${percentile}`).toBeLessThan(1.002 + 1 / exact)
  }
  const { buckets, count, curve, percentiles } = histogram.summary()
  expect(buckets.reduce((sum, bucket) => sum + bucket.count, 0)).toBe(count)
  expect(buckets.every(({ fromUs, toUs }, at) => fromUs < toUs && (at === 0 || buckets[at - 1]!.toUs === fromUs))).toBe(
    true,
  )
  expect(curve.map(([, us]) => us)).toEqual(curve.map(([, us]) => us).toSorted((a, b) => a - b))
  expect(percentiles.at(-1)?.us).not.toBeNull()
})

test('a percentile with less than one answer above it is not shown', () => {
  const histogram = new LatencyHistogram()
  for (let n = 0; n < 999; n++) histogram.record(1000)
  expect(histogram.summary().percentiles.map(({ percentile, us }) => us === null && percentile)).toEqual([
    false,
    false,
    false,
    false,
    false,
    99.9,
    99.99,
  ])
})
