// The process that executes entity matching pipelines, as the background process sees it. It is started when work is due, and exits when
// none is left: a comparison needs memory in proportion to the nodes, which only the end of a process gives back.
import type { ConfigWriter } from '../config/kind.ts'
import type { CommitSignal, CommitSubscription } from '../kernel/folder/commit-signal.ts'
import type { Backoff } from '../kernel/time/backoff.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { matchingDue } from '../matching/entity-matching.ts'
import { Supervised, type SupervisedOptions } from '../processes/supervised.ts'
import type { BackgroundTask } from './background-process.ts'

/** Pause between two comparisons of the pipelines with the clock while processes commit. */
const PAUSE_MS = 250
/** Longer than that of other processes: a start after a failure is another attempt of a run, and each run has only some. */
const restart: Backoff = { minMs: 1000, maxMs: 60_000 }

/** Collaborators of the process. */
interface MatchingProcessDeps
  extends Omit<SupervisedOptions<BackgroundTask>, 'kind' | 'isWanted' | 'endsWhenDone' | 'restart'> {
  readonly documents: ConfigWriter
  readonly signal: CommitSignal
  readonly clock: Clock
  /** False: another instance executes the pipelines. Absent: there is no other. */
  readonly isLeading?: () => boolean
}

/** Starts the process when work is due, and stops it. */
export class MatchingProcess {
  private readonly process: Supervised<BackgroundTask>
  private readonly signal: CommitSignal
  private subscription: CommitSubscription | null = null

  constructor({ documents, signal, clock, isLeading, ...options }: MatchingProcessDeps) {
    this.signal = signal
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
    this.subscription = this.signal.subscribe(() => this.process.adjust(), PAUSE_MS)
    this.process.adjust()
  }

  /** Makes the process clear stale LMDB reader slots. */
  checkReaders(): void {
    this.process.checkReaders()
  }

  /** Stops the process. The work in progress begins again in the next one. */
  async close(): Promise<void> {
    this.subscription?.close()
    await this.process.close()
  }
}
