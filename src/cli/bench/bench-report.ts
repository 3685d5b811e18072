// The report of a bench: its members are the JSON form, and the texts and pages show them.
import { cpus, release, totalmem } from 'node:os'
import packageJson from '../../../package.json' with { type: 'json' }
import type { LatencySummary } from './latency-histogram.ts'
import type { LoadFigures } from './load.ts'

/** The machine of a run. */
interface BenchMachine {
  readonly processors: number
  readonly processor: string
  readonly memory_gib: number
  readonly system: string
  readonly runtime: string
}

/** One system that was asked. */
export interface BenchSide {
  readonly name: string
  readonly version: string
  /** The questions, and how they were asked. */
  readonly description: string
  readonly note: string | null
  readonly result: LoadFigures
  /** Processor time of the answering process for one answer in microseconds; null: not known, or the asking process itself. */
  readonly cpuUsPerAnswer: number | null
}

/** A peer that was not asked. */
export interface RefusedPeer {
  readonly name: string
  readonly reason: string
}

/** A whole run. */
export interface BenchRun {
  readonly seed: number | null
  readonly version: string
  readonly started_at: string
  readonly command: string
  readonly machine: BenchMachine
  readonly load: {
    readonly mode: 'closed loop' | 'fixed rate'
    readonly rate: number | null
    readonly callers: number
    readonly duration_s: number
    readonly warm_up_s: number
  }
  readonly questions: {
    readonly count: number
    readonly granted: number
    readonly denied: number
    readonly unknown: number
  }
  readonly sides: readonly BenchSide[]
  readonly refused: readonly RefusedPeer[]
}

/** Describes this machine. */
export function thisMachine(): BenchMachine {
  const processors = cpus()
  return {
    processors: processors.length,
    processor: processors[0]?.model.trim() ?? 'unknown',
    memory_gib: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()} ${process.arch}`,
    runtime: `bun ${Bun.version}`,
  }
}

export const ownVersion: string = packageJson.version

/** More of one processor than this: the asking process may have been the limit. */
const OWN_CPU_MAX = 0.9

/** What the reader of the figures must know: wrong answers, errors, and a limit of the asking process. */
export function warningsOf({ load, sides }: BenchRun): readonly string[] {
  return sides.flatMap(({ name, result, cpuUsPerAnswer }) => {
    const { wrong, firstWrong, errors, firstError, ownCpu, perSecond } = result
    const isBehind = !reachesRate(load, result)
    return [
      ...(wrong > 0 ? [`${name}: ${wrong} wrong answers, the first: ${firstWrong}`] : []),
      ...(errors > 0 ? [`${name}: ${errors} errors, the first: ${firstError}`] : []),
      ...(isBehind
        ? [
            `${name}: the rate was not reached: ${numberText(perSecond)} of ${numberText(load.rate ?? 0)} questions/s were answered, so the latencies grow with the duration; ask with a lower --rate`,
          ]
        : []),
      ...(cpuUsPerAnswer !== null && ownCpu > OWN_CPU_MAX
        ? [`${name}: the asking process used ${Math.round(ownCpu * 100)} % of a processor: it may have been the limit`]
        : []),
    ]
  })
}

/** The last question is answered a little after it was due. */
const RATE_SHARE_MIN = 0.98

/** Whether the questions were answered at the rate of the load; true in a closed loop. */
function reachesRate({ rate }: BenchRun['load'], { perSecond }: LoadFigures): boolean {
  return rate === null || perSecond >= rate * RATE_SHARE_MIN
}

/** Whether this service answered at the rate that was asked for. Peers may be slower: that is a result. */
export function isRateReached({ load, sides }: BenchRun): boolean {
  const [own] = sides
  return own === undefined || reachesRate(load, own.result)
}

/** Whether all answers were right. */
export function isRight({ sides }: BenchRun): boolean {
  return sides.every(({ result }) => result.wrong === 0 && result.errors === 0)
}

/** A number with separators: `12,345`, `1.23`. */
export function numberText(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: value < 1000 ? 3 : 6, maximumFractionDigits: 2 })
}

/** A latency: `1.94 µs`, `12.3 ms`, `1.02 s`; `–` for null. */
export function latencyText(us: number | null): string {
  if (us === null) return '–'
  const [value, unit] = us < 1000 ? [us, 'µs'] : us < 1e6 ? [us / 1000, 'ms'] : [us / 1e6, 's']
  return `${value.toPrecision(3)} ${unit}`
}

/** The rows of a table: name and latency. */
export function latencyRows(latency: LatencySummary): readonly (readonly [string, string])[] {
  return [
    ...latency.percentiles.map(({ percentile, us }): [string, string] => [`p${percentile}`, latencyText(us)]),
    ['max', latencyText(latency.count === 0 ? null : latency.maxUs)],
    ['mean', latencyText(latency.count === 0 ? null : latency.meanUs)],
  ]
}

/** The report for a person. */
export function reportLines(report: BenchRun): readonly string[] {
  const { seed, machine, load, questions, sides, refused } = report
  const rate = load.rate === null ? '' : ` of ${numberText(load.rate)}/s`
  const rows = sides.map(({ result }) => latencyRows(result.latency))
  const width = Math.max(12, ...sides.map(({ name }) => name.length + 2))
  const cell = (text: string): string => text.padStart(width)
  const line = (name: string, of: (side: BenchSide) => string): string =>
    `${name.padEnd(12)}${sides.map((side) => cell(of(side))).join('')}`
  return [
    ...(seed === null ? [] : [`seed         ${seed}`]),
    `machine      ${machine.processors} × ${machine.processor}, ${machine.memory_gib} GiB, ${machine.system}, ${machine.runtime}`,
    `load         ${load.mode}${rate}, ${load.callers === 1 ? '1 caller' : `${load.callers} callers`}, ${load.duration_s} s after ${load.warm_up_s} s of warm-up`,
    `questions    ${numberText(questions.count)}: ${numberText(questions.granted)} granted, ${numberText(questions.denied)} denied, ${numberText(questions.unknown)} without an expected answer`,
    ...sides.map(
      ({ name, version, description, note }) =>
        `${name.padEnd(12)} ${version}: ${description}${note === null ? '' : `; ${note}`}`,
    ),
    ...refused.map(({ name, reason }) => `${name.padEnd(12)} not asked: ${reason}`),
    '',
    line('', ({ name }) => name),
    ...(rows[0] ?? []).map(([name], at) => line(name, (side) => rows[sides.indexOf(side)]?.[at]?.[1] ?? '')),
    line('answers/s', ({ result }) => numberText(result.perSecond)),
    line('answers', ({ result }) => numberText(result.latency.count)),
    line('wrong', ({ result }) => numberText(result.wrong)),
    line('errors', ({ result }) => numberText(result.errors)),
    line('CPU/answer', ({ cpuUsPerAnswer }) => latencyText(cpuUsPerAnswer)),
  ]
}

/** The report for a program: one line. */
export function reportJson(report: BenchRun): string {
  return JSON.stringify({ ...report, warnings: warningsOf(report) }, (_, value) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value,
  )
}
