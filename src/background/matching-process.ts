// The process that executes entity matching pipelines, as the background process sees it. It is started when work is due, and exits when
// none is left: a comparison needs memory in proportion to the nodes, which only the end of a process gives back.
import type { ConfigWriter } from '../config/kind.ts'
import type { Backoff } from '../kernel/time/backoff.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { matchingDue } from '../matching/entity-matching.ts'
import { Supervised, type SupervisedOptions } from '../processes/supervised.ts'
import type { BackgroundTask } from './background-process.ts'

/** How often pipelines are compared with the clock. A look takes microseconds. */
const POLL_MS = 250
/** Longer than that of other processes: a start after a failure is another attempt of a run, and each run has only some. */
const restart: Backoff = { minMs: 1000, maxMs: 60_000 }

/** Collaborators of the process. */
interface MatchingProcessDeps
  extends Omit<SupervisedOptions<BackgroundTask>, 'kind' | 'isWanted' | 'endsWhenDone' | 'restart'> {
  readonly documents: ConfigWriter
  readonly clock: Clock
  /** False: another instance executes the pipelines. Absent: there is no other. */
  readonly isLeading?: () => boolean
}

/** Starts the process when work is due, and stops it. */
export class MatchingProcess {
  private readonly process: Supervised<BackgroundTask>
  private timer: ReturnType<typeof setInterval> | null = null

  constructor({ documents, clock, isLeading, ...options }: MatchingProcessDeps) {
    const isDue = matchingDue(documents, clock)
    const isWanted = (): boolean => {
      if (isLeading?.() === false) return false
      documents.catchUp()
      return isDue()
    }
    this.process = new Supervised({ ...options, kind: 'matcher', endsWhenDone: true, restart, isWanted })
  }

  /** Starts the process whenever work is due. */
  start(): void {
    this.timer = setInterval(() => this.process.adjust(), POLL_MS)
    this.process.adjust()
  }

  /** Makes the process clear stale LMDB reader slots. */
  checkReaders(): void {
    this.process.checkReaders()
  }

  /** Stops the process. The work in progress begins again in the next one. */
  async close(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer)
    await this.process.close()
  }
}
