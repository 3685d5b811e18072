// The figures of a soak run: memory, descriptors and threads of the processes, sizes of the files, and latencies.
import { appendFileSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { childrenOf } from '../../support/child-processes.ts'

/** Sums over processes of one role. */
export interface SoakFigures {
  processes: number
  rss: number
  /** Memory that no file backs. */
  anonymous: number
  descriptors: number
  threads: number
  cpuS: number
}

export interface LatencyFigures {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** One line of the file of a run. */
export interface SoakSample {
  /** Seconds since the start of the traffic. */
  readonly t: number
  /** The fault that is being injected; empty: none. */
  readonly fault: string
  readonly all: SoakFigures
  readonly roles: Readonly<Record<string, SoakFigures>>
  readonly latency: Readonly<Record<string, LatencyFigures>>
  /** Bytes below the data folder by kind; taken less often. */
  readonly files: Readonly<Record<string, number>> | null
  readonly requests: number
  /** The longest delay of a timer of the run itself since the sample before, which its latencies contain. */
  readonly ownLagMs: number
  /** Share of all processor time of the machine that was used since the sample before. */
  readonly machineBusy: number
  readonly counts: Readonly<Record<string, number>>
}

const ROLES = ['worker', 'lane', 'background', 'matcher'] as const

/** The figures of a process and of all its descendants. */
export function figuresOf(pid: number): { all: SoakFigures; roles: Record<string, SoakFigures> } {
  const roles: Record<string, SoakFigures> = {}
  const all = noFigures()
  const add = (one: number, role: string): void => {
    const figures = processFigures(one)
    if (figures === null) return
    roles[role] ??= noFigures()
    for (const sum of [all, roles[role]])
      for (const key in figures) sum[key as keyof SoakFigures] += figures[key as keyof SoakFigures]
  }
  const visit = (parent: number): void => {
    for (const { pid: child, words } of childrenOf(parent)) {
      add(child, ROLES.find((role) => words.includes(role)) ?? 'other')
      visit(child)
    }
  }
  add(pid, 'supervisor')
  visit(pid)
  return { all, roles }
}

function noFigures(): SoakFigures {
  return { processes: 0, rss: 0, anonymous: 0, descriptors: 0, threads: 0, cpuS: 0 }
}

function processFigures(pid: number): SoakFigures | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const bytes = (name: string): number => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return {
      processes: 1,
      rss: bytes('VmRSS'),
      anonymous: bytes('RssAnon'),
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      threads: Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 0),
      // In hundredths of a second.
      cpuS: (Number(fields[11]) + Number(fields[12])) / 100,
    }
  } catch {
    return null
  }
}

/** Allocated bytes of the files below a data folder by kind. */
export function fileSizes(data: string): Record<string, number> {
  const sizes: Record<string, number> = {}
  const visit = (folder: string, kind: string | null): void => {
    let entries: ReturnType<typeof readEntries>
    try {
      entries = readEntries(folder)
    } catch {
      return
    }
    for (const entry of entries) {
      const path = join(folder, entry.name)
      const own = kind ?? entry.name
      if (entry.isDirectory()) visit(path, own)
      else {
        try {
          sizes[own] = (sizes[own] ?? 0) + statSync(path).blocks * 512
        } catch {
          // It was removed.
        }
      }
    }
  }
  visit(data, null)
  return sizes
}

const readEntries = (folder: string) => readdirSync(folder, { withFileTypes: true })

/** Processor time of the machine in hundredths of a second. */
function machineTimes(): { busy: number; all: number } {
  const fields = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').split(/\s+/).slice(1, 9).map(Number)
  const all = fields.reduce((sum, value) => sum + value, 0)
  return { busy: all - (fields[3] ?? 0) - (fields[4] ?? 0), all }
}

/** Latencies since the sample before, by kind of request. */
export class LatencyRecorder {
  readonly #values = new Map<string, number[]>()

  add(kind: string, ms: number): void {
    const values = this.#values.get(kind)
    if (values === undefined) this.#values.set(kind, [ms])
    else values.push(ms)
  }

  take(): Record<string, LatencyFigures> {
    const taken: Record<string, LatencyFigures> = {}
    for (const [kind, values] of this.#values) {
      values.sort((a, b) => a - b)
      const at = (share: number): number =>
        round(values[Math.min(values.length - 1, Math.ceil(share * values.length) - 1)] ?? 0)
      taken[kind] = { count: values.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
    }
    this.#values.clear()
    return taken
  }
}

const round = (ms: number): number => Math.round(ms * 100) / 100

export interface SamplerOptions {
  readonly out: string
  readonly pid: () => number
  readonly data: string
  readonly everyS: number
  readonly latencies: LatencyRecorder
  readonly fault: () => string
  readonly requests: () => number
  readonly counts: () => Readonly<Record<string, number>>
}

/** Appends a sample to a file of NDJSON every few seconds. */
export class Sampler {
  readonly #options: SamplerOptions
  readonly #startMs = performance.now()
  #timer: ReturnType<typeof setInterval> | null = null
  #lagTimer: ReturnType<typeof setInterval> | null = null
  #lagMs = 0
  #machine = machineTimes()
  #count = 0

  constructor(options: SamplerOptions) {
    this.#options = options
  }

  start(): void {
    let lastMs = performance.now()
    this.#lagTimer = setInterval(() => {
      const now = performance.now()
      this.#lagMs = Math.max(this.#lagMs, now - lastMs - 20)
      lastMs = now
    }, 20)
    this.#timer = setInterval(() => this.#sample(), this.#options.everyS * 1000)
  }

  stop(): void {
    for (const timer of [this.#timer, this.#lagTimer]) if (timer !== null) clearInterval(timer)
  }

  #sample(): void {
    const { out, pid, data, latencies, fault, requests, counts } = this.#options
    const machine = machineTimes()
    const busy = (machine.busy - this.#machine.busy) / Math.max(1, machine.all - this.#machine.all)
    this.#machine = machine
    const sample: SoakSample = {
      t: Math.round((performance.now() - this.#startMs) / 100) / 10,
      fault: fault(),
      ...figuresOf(pid()),
      latency: latencies.take(),
      files: this.#count++ % 6 === 0 ? fileSizes(data) : null,
      requests: requests(),
      ownLagMs: round(this.#lagMs),
      machineBusy: round(busy),
      counts: counts(),
    }
    this.#lagMs = 0
    appendFileSync(out, `${JSON.stringify(sample)}\n`)
  }
}
