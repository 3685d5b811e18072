// Loads several servers in alternating rounds with reversed order: requests/s and latencies as measured by the
// generator, and the processor time per request of each server, which other load on the machine hardly changes.
import { type BenchRecord, median, mustEqual, round } from '../harness.ts'
import type { LoadJob, LoadResult } from './load.ts'
import { cpuUs, output } from './processes.ts'

export interface LoadTarget {
  readonly name: string
  readonly url: string
  readonly pid: number
  readonly exchanges: LoadJob['exchanges']
}

export interface RoundsPlan {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly note: (text: string) => void
}

export interface Round extends LoadResult {
  /** Processor time of the server per request, in µs. Null if unknown on this machine. */
  readonly cpuUs: number | null
}

/** The results of each target, by round. */
export class LoadRounds {
  private readonly found: ReadonlyMap<string, readonly Round[]>
  private readonly connections: number

  constructor(found: ReadonlyMap<string, readonly Round[]>, connections: number) {
    this.found = found
    this.connections = connections
  }

  of(name: string): readonly Round[] {
    return this.found.get(name) ?? []
  }

  line(name: string): BenchRecord {
    const rounds = this.of(name)
    const over = (pick: (one: Round) => number): number => median(rounds.map(pick))
    const cpu = rounds.map(({ cpuUs }) => cpuUs).filter((us) => us !== null)
    return {
      record: name,
      connections: this.connections,
      requests: rounds.reduce((sum, { requests }) => sum + requests, 0),
      requests_per_s: Math.round(over(({ requestsPerS }) => requestsPerS)),
      p50_us: round(
        over(({ p50Us }) => p50Us),
        1,
      ),
      p99_us: round(
        over(({ p99Us }) => p99Us),
        1,
      ),
      cpu_us: cpu.length === 0 ? null : round(median(cpu), 2),
    }
  }

  /** Ratio of requests/s of two targets, per round: each pair ran in neighbouring rounds. */
  throughput(name: string, beside: string): number[] {
    return this.of(name).map(({ requestsPerS }, at) => requestsPerS / (this.of(beside)[at] as Round).requestsPerS)
  }

  /** Processor time per request of `beside` over that of `name`: 1 if both take the same, less if ours takes more. */
  cpu(name: string, beside: string): number | null {
    const ratios = this.of(name).flatMap(({ cpuUs }, at) => {
      const other = this.of(beside)[at]?.cpuUs
      return cpuUs === null || other == null ? [] : [other / cpuUs]
    })
    return ratios.length === 0 ? null : median(ratios)
  }
}

const WARM_UP_S = 2

export async function loadRounds(sides: readonly LoadTarget[], plan: RoundsPlan): Promise<LoadRounds> {
  const found = new Map<string, Round[]>(sides.map(({ name }) => [name, []]))
  // Until the runtime has compiled the hot code, a request costs several times its later cost.
  for (const side of sides) await load(side, { ...plan, seconds: WARM_UP_S })
  for (let at = 0; at < plan.rounds; at++) {
    for (const side of at % 2 === 0 ? sides : sides.toReversed()) {
      const one = await load(side, plan)
      plan.note(`round ${at + 1} ${side.name}: ${Math.round(one.requestsPerS)} requests/s, ${one.cpuUs?.toFixed(2)} µs`)
      found.get(side.name)?.push(one)
    }
  }
  return new LoadRounds(found, plan.connections)
}

async function load(side: LoadTarget, plan: RoundsPlan): Promise<Round> {
  const { connections, seconds } = plan
  const job: LoadJob = {
    port: Number(new URL(side.url).port),
    connections,
    seconds,
    warmUpSeconds: 0.1,
    exchanges: side.exchanges.map(({ request, answer }) => ({ request, answer })),
  }
  const before = cpuUs(side.pid)
  const outcome = JSON.parse(await output(['bench/http/load.ts'], JSON.stringify(job))) as LoadResult
  const after = cpuUs(side.pid)
  mustEqual(`wrong answers of ${side.name} (${outcome.firstWrong})`, outcome.wrong, 0)
  return { ...outcome, cpuUs: before === null || after === null ? null : (after - before) / outcome.served }
}
