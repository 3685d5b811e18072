// Mixed requests compared with oracles while the lanes of the served process are killed: decisions, batches, searches,
// knowledge queries that read and write, captures, deletions and configuration. A request whose lane is killed may be
// refused with 408, 503 or 504. No response may be wrong, no acknowledged write lost, and no write done in part.
// Run alone: bun test/stress/lane-kill.ts [--requests 20000] [--workers 1] [--seed N] [--no-kills]
import { Random } from '../generate/random.ts'
import { killProcess } from '../support/child-processes.ts'
import type { WorkerFixture } from '../support/worker-fixture.ts'
import { hasFlag, numberAfter } from './flags.ts'
import { ContextStream } from './isolation/context-stream.ts'
import { DecisionStream } from './isolation/decision-stream.ts'
import { lanesOf } from './isolation/fixture.ts'
import { Requests, StreamError } from './isolation/requests.ts'
import { type KillModel, type KillRun, killProgram } from './kill-harness.ts'

/** Concurrent streams of requests, each with a project of its own. */
const STREAMS = { decisions: 4, contexts: 4 } as const
/**
 * A random number of requests between two kills, and then a few milliseconds, so that a lane that starts slowly still
 * completes requests.
 */
const KILL_REQUESTS = { min: 5, max: 40 } as const
const KILL_MS_MAX = 50

/** Without enough of each the run would prove nothing. */
const wanted = ['permits', 'denials', 'searches that found', 'batches', 'rows', 'wrote', 'captured', 'policies', 'dear']

interface LaneFigures {
  readonly requests: number
  readonly lanesSeen: number
  readonly seconds: number
  readonly counts: Readonly<Record<string, number>>
}

/** Streams of requests whose right answers are known, in one round with many kills. */
class LaneKills implements KillModel<LaneFigures> {
  readonly settings = { VERDIGRAPH_LOG_LEVEL: 'error', VERDIGRAPH_DECISION_TIME_MS: '10000' }
  readonly serveArguments = ['--workers', String(numberAfter('--workers', 1))]
  private readonly requestsMax = numberAfter('--requests', 20_000)
  private readonly kills = !hasFlag('--no-kills')
  private requests: Requests | null = null
  private lanesSeen = 0
  private seconds = 0
  private isOver = false

  async prepare(run: KillRun): Promise<void> {
    const fixture: WorkerFixture = {
      server: run.server,
      organization: run.organizationId,
      admin: { authorization: `Bearer ${run.token}` },
      close: () => Promise.resolve(),
    }
    this.requests = new Requests(fixture, this.requestsMax)
  }

  async round(run: KillRun): Promise<string> {
    const sent = this.requests as Requests
    const startMs = performance.now()
    const killing = this.killLanes(run, sent, new Random(run.seed))
    const random = (offset: number): Random => new Random(run.seed + offset)
    const streams = [
      ...Array.from({ length: STREAMS.decisions }, (_, i) => new DecisionStream(sent, random(1 + i), i)),
      ...Array.from({ length: STREAMS.contexts }, (_, i) => new ContextStream(sent, random(101 + i), i, run.data)),
    ]
    await Promise.all(
      streams.map(async (stream) => {
        try {
          await stream.run()
        } catch (fault) {
          sent.end()
          if (!(fault instanceof StreamError)) throw fault
          run.faults.push(fault.message)
        }
      }),
    )
    this.isOver = true
    await killing
    this.seconds = Math.round((performance.now() - startMs) / 1000)
    return `${sent.done} requests in ${this.seconds} s`
  }

  async compare(run: KillRun): Promise<void> {
    const { counts } = this.figures()
    const few = wanted.filter((name) => Number(counts[name] ?? 0) < this.requestsMax / 1000)
    if (run.faults.length === 0 && few.length > 0) run.faults.push(`hardly any: ${few.join(', ')}`)
    if (this.lanesSeen > 0 && run.kills.lane === undefined && this.kills)
      run.faults.push('there are lanes, and none was killed')
  }

  figures(): LaneFigures {
    const counts = Object.fromEntries([...(this.requests?.counts ?? [])].sort())
    return { requests: this.requests?.done ?? 0, lanesSeen: this.lanesSeen, seconds: this.seconds, counts }
  }

  close(): void {
    this.isOver = true
  }

  private async killLanes(run: KillRun, sent: Requests, random: Random): Promise<void> {
    while (!this.isOver) {
      const next = sent.done + random.between(KILL_REQUESTS.min, KILL_REQUESTS.max)
      while (!this.isOver && sent.done < next) await Bun.sleep(5)
      await Bun.sleep(random.between(0, KILL_MS_MAX))
      const lanes = lanesOf(run.server.pid)
      this.lanesSeen = Math.max(this.lanesSeen, lanes.length)
      if (this.isOver || lanes.length === 0 || !this.kills) continue
      killProcess(random.pick(lanes).pid)
      run.count('lane')
    }
  }
}

if (import.meta.main) await killProgram(new LaneKills(), 1)
