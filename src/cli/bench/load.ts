// The load of a bench: questions in a closed loop, or at a fixed rate. At a fixed rate the latency of a question begins when the
// question was due, not when it was sent. Otherwise a service that stalls would delay the very questions that would show it
// ("coordinated omission", Gil Tene, https://www.youtube.com/watch?v=lJ8ydIuPFeU).

import type { CheckedQuestion } from '../ask/question-file.ts'
import { LatencyHistogram, type LatencySummary } from './latency-histogram.ts'

/** How questions are asked. */
export interface BenchPlan {
  /** Questions per second; null: each caller asks its next question when it has the answer to the last one. */
  readonly rate: number | null
  readonly durationS: number
  /** Before the part that is measured. */
  readonly warmUpS: number
}

/** The time as a bench sees it. */
export interface LoadClock {
  nowNs(): number
  /** Returns when it is that time, or before. */
  pauseUntil(ns: number): Promise<void>
}

/** An answer: a decision, or the reason why the question has no decision. */
export type MeasuredAnswer = boolean | { readonly error: string }

/** Something that is asked. `callers`: questions that it can be asked at a time. */
export interface AskedSystem {
  readonly callers: number
  /** Asks a question. `caller`: 0 to `callers` - 1, free at this moment. An immediate answer is returned as it is. */
  ask(caller: number, question: number): MeasuredAnswer | Promise<MeasuredAnswer>
}

/** A system with connections that must be closed. */
export interface OpenedSystem extends AskedSystem {
  close(): void | Promise<void>
}

/** The findings of a load. */
export interface LoadFigures {
  readonly latency: LatencySummary
  readonly seconds: number
  readonly perSecond: number
  readonly checked: number
  readonly wrong: number
  readonly firstWrong: string | null
  readonly errors: number
  readonly firstError: string | null
  /** Processor time of the asking process, as a share of one processor. */
  readonly ownCpu: number
  /** Latencies of each second: answers, p50 and p99 in microseconds. */
  readonly timeline: readonly { readonly answers: number; readonly p50Us: number; readonly p99Us: number }[]
}

/** Shorter waits are polled, because a timer is exact to about a millisecond. */
const POLL_NS = 1_500_000
/** An endless sequence of immediate answers lets other events of the process happen this often. */
const YIELD_NS = 100_000_000

/** The clock of this machine. */
const machineClock: LoadClock = {
  nowNs: () => Bun.nanoseconds(),
  async pauseUntil(ns) {
    const left = ns - Bun.nanoseconds()
    if (left > POLL_NS) await Bun.sleep(Math.floor((left - POLL_NS) / 1e6))
    else await new Promise((resolve) => setImmediate(resolve))
  },
}

/** Asks the questions in turn for the time of the plan. */
export async function runLoad(
  system: AskedSystem,
  questions: readonly CheckedQuestion[],
  plan: BenchPlan,
  clock: LoadClock = machineClock,
): Promise<LoadFigures> {
  const startNs = clock.nowNs()
  const run = new LoadRun(questions, startNs + plan.warmUpS * 1e9, plan.durationS)
  if (plan.rate === null) await closedLoop(system, run, clock)
  else await fixedRate(system, run, clock, startNs, plan.rate)
  return run.result(clock.nowNs())
}

/** Each caller asks at least one question that is measured, also if the process is held up for the whole time. */
async function closedLoop(system: AskedSystem, run: LoadRun, clock: LoadClock): Promise<void> {
  const caller = async (number: number): Promise<void> => {
    let yieldedNs = clock.nowNs()
    let isMeasured = false
    for (;;) {
      const sentNs = clock.nowNs()
      if (sentNs >= run.endNs && isMeasured) return
      if (sentNs - yieldedNs > YIELD_NS) {
        yieldedNs = sentNs
        await clock.pauseUntil(sentNs)
        continue
      }
      isMeasured ||= sentNs >= run.fromNs
      const question = run.next()
      const answer = system.ask(number, question)
      run.add(question, answer instanceof Promise ? await answer : answer, sentNs, clock.nowNs())
    }
  }
  await Promise.all(Array.from({ length: system.callers }, (_, number) => caller(number)))
}

/**
 * Question `n` is due at `startNs + n / rate`. If no caller is free then, it waits, and its latency includes the wait. The first one is
 * asked in any case.
 */
async function fixedRate(
  system: AskedSystem,
  run: LoadRun,
  clock: LoadClock,
  startNs: number,
  rate: number,
): Promise<void> {
  const intervalNs = 1e9 / rate
  // A rate that is not reached would otherwise take as long as all its questions.
  const giveUpNs = run.endNs + (run.endNs - startNs)
  let asked = 0
  const caller = async (number: number): Promise<void> => {
    let yieldedNs = clock.nowNs()
    for (;;) {
      const dueNs = startNs + asked * intervalNs
      if (dueNs >= run.endNs || (asked > 0 && clock.nowNs() >= giveUpNs)) return
      asked += 1
      for (let nowNs = clock.nowNs(); nowNs < dueNs; nowNs = clock.nowNs()) {
        yieldedNs = nowNs
        await clock.pauseUntil(dueNs)
      }
      if (clock.nowNs() - yieldedNs > YIELD_NS) {
        yieldedNs = clock.nowNs()
        await clock.pauseUntil(yieldedNs)
      }
      const question = run.next()
      const answer = system.ask(number, question)
      run.add(question, answer instanceof Promise ? await answer : answer, dueNs, clock.nowNs())
    }
  }
  await Promise.all(Array.from({ length: system.callers }, (_, number) => caller(number)))
}

/** The answers of a load. */
class LoadRun {
  readonly fromNs: number
  readonly endNs: number
  readonly #questions: readonly CheckedQuestion[]
  readonly #latency = new LatencyHistogram()
  readonly #seconds = new Map<number, LatencyHistogram>()
  readonly #cpuFrom = process.cpuUsage()
  readonly #cpuFromNs = Bun.nanoseconds()
  #next = 0
  #lastNs = 0
  /** Answers after the warm-up, also to questions that were due in it: with a rate that is too high these are most. */
  #answered = 0
  #checked = 0
  #wrong = 0
  #firstWrong: string | null = null
  #errors = 0
  #firstError: string | null = null

  constructor(questions: readonly CheckedQuestion[], fromNs: number, durationS: number) {
    this.#questions = questions
    this.fromNs = fromNs
    this.endNs = fromNs + durationS * 1e9
  }

  next(): number {
    const question = this.#next
    this.#next = question + 1 === this.#questions.length ? 0 : question + 1
    return question
  }

  /** `fromNs`: when the question was due or sent. Answers of the warm-up are checked, and not measured. */
  add(question: number, answer: MeasuredAnswer, fromNs: number, nowNs: number): void {
    if (typeof answer === 'boolean') {
      const { expected } = this.#questions[question]!
      if (expected !== null) {
        this.#checked += 1
        if (answer !== expected) this.#addWrong(question, answer)
      }
    } else {
      this.#errors += 1
      this.#firstError ??= answer.error
    }
    if (nowNs > this.fromNs) {
      this.#answered += 1
      this.#lastNs = nowNs
    }
    if (fromNs < this.fromNs) return
    this.#latency.record(nowNs - fromNs)
    const second = Math.floor((fromNs - this.fromNs) / 1e9)
    let histogram = this.#seconds.get(second)
    if (histogram === undefined) {
      histogram = new LatencyHistogram()
      this.#seconds.set(second, histogram)
    }
    histogram.record(nowNs - fromNs)
  }

  #addWrong(question: number, answer: boolean): void {
    this.#wrong += 1
    if (this.#firstWrong !== null) return
    const { subject, action, resource } = this.#questions[question]!.request
    const asked = `${subject.type}:${subject.id} ${action.name} ${resource.type}:${resource.id}`
    this.#firstWrong = `${asked} is ${answer ? 'granted' : 'denied'}, expected ${answer ? 'denied' : 'granted'}`
  }

  result(nowNs: number): LoadFigures {
    const seconds = Math.max(1e-9, ((this.#lastNs || nowNs) - this.fromNs) / 1e9)
    const { user, system } = process.cpuUsage(this.#cpuFrom)
    const latency = this.#latency.summary()
    const us = (ns: number): number => Number((ns / 1000).toPrecision(5))
    return {
      latency,
      seconds,
      perSecond: this.#answered / seconds,
      checked: this.#checked,
      wrong: this.#wrong,
      firstWrong: this.#firstWrong,
      errors: this.#errors,
      firstError: this.#firstError,
      ownCpu: ((user + system) * 1000) / (Bun.nanoseconds() - this.#cpuFromNs),
      timeline: [...this.#seconds]
        .sort(([a], [b]) => a - b)
        .map(([, histogram]) => ({
          answers: histogram.count,
          p50Us: us(histogram.percentileNs(50)),
          p99Us: us(histogram.percentileNs(99)),
        })),
    }
  }
}
