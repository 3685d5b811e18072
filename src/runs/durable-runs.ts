// Durable runs: work that a schedule or a request makes due, that outlives its process, and that is repeated until it succeeds. One process at
// a time executes the runs of a set of kinds, one after the other.
//
//   due → begin → step* → end
//           ↑        ↘ failed → due again after a delay that doubles with each failure in a row
//           └── interrupted: the process has ended, and the next one continues the run
import type { CommitSignal, CommitSubscription } from '../kernel/folder/commit-signal.ts'
import { type Backoff, backoffMs } from '../kernel/time/backoff.ts'
import type { Clock } from '../kernel/time/clock.ts'

/** A run that has failed is repeated after this time. It doubles with each failure in a row. */
const retryDelay = { minMs: 10_000, maxMs: 3_600_000 } as const satisfies Backoff
/** The pause after it could not be found out what is due, for example because the disk is full. */
const LOOK_RETRY_MS = 60_000
/** Pause between two comparisons of schedules with the clock while processes commit. Without a commit there is one in a second. */
const PAUSE_MS = 250

/** The failures of a run in a row. */
export interface RunFailures {
  readonly failures: number
  /** When the run is repeated, milliseconds since the epoch. */
  readonly atMs: number
}

/** The failures in a row of which the last one was at `failedMs`. */
export function failuresOf(failures: number, failedMs: number): RunFailures {
  return { failures, atMs: failedMs + backoffMs(retryDelay, failures) }
}

/** Whether a run waits to be repeated. A clock that was set back does not make it wait longer than the longest delay. */
export function isWaiting(failures: RunFailures | null, nowMs: number): boolean {
  return failures !== null && nowMs < failures.atMs && failures.atMs - nowMs <= retryDelay.maxMs
}

/** How an attempt ended that has not failed. `again`: the run is still due, at once; `paused`: it is still due, at the next look. */
export type AttemptEnd = 'ended' | 'again' | 'paused'

/** The process that executes a run, as the run sees it. */
interface RunContext {
  /** True: end the step, and leave the run to the next process. */
  isStopping(): boolean
}

/** A kind of runs, and where their states are stored. `Subject`: what has runs, for example a document. */
export interface RunKind<Subject = unknown> {
  /** For messages, such as `pass`. */
  readonly name: string
  /** The subjects that may have a run, in the order of execution. */
  subjects(): readonly Subject[]
  idOf(subject: Subject): string
  /** Since when a run waits that is due now, milliseconds since the epoch; null: none is due. 0: it was requested, or has begun. */
  dueSinceMs(subject: Subject, nowMs: number): number | null
  /** The stored failures; null: the last attempt has not failed. */
  failuresOf(subject: Subject): RunFailures | null
  /** Begins or continues the run, and stores its end. Rejects if it fails. */
  attempt(subject: Subject, context: RunContext): Promise<AttemptEnd>
  /** Stores a failure. */
  fail(subject: Subject, error: string, failures: RunFailures): Promise<void>
}

/** A failed attempt, for the log. */
interface FailedRun {
  readonly name: string
  readonly id: string
  readonly error: string
  readonly delayMs: number
}

/** Collaborators of runs. */
interface DurableRunsDeps {
  /** In the order of execution of runs that wait equally long. */
  readonly kinds: readonly RunKind[]
  readonly clock: Clock
  /** Brings what other processes have changed. */
  catchUp(): void
  onFailure(run: FailedRun): void
  /** Called when it could not be found out what is due. */
  onLookFailure(failure: unknown): void
  /** False: another instance executes the runs. Absent: there is no other. */
  readonly isLeading?: () => boolean
}

interface DueRun {
  readonly kind: RunKind
  readonly subject: unknown
  readonly id: string
  readonly sinceMs: number
}

/** The message of a failed attempt. */
export function failureMessage({ name, id, error, delayMs }: FailedRun): string {
  return `the ${name} of ${id} failed and is repeated after ${delayMs / 1000} s: ${error}`
}

/** Executes runs. */
export class DurableRuns {
  private readonly deps: DurableRunsDeps
  private subscription: CommitSubscription | null = null
  private looking: Promise<void> | null = null
  private working: Promise<void> = Promise.resolve()
  private lookNotBeforeMs = 0
  private isStopping = false
  /** Failures that could not be stored, by kind and id. */
  private readonly unstored = new Map<string, RunFailures>()

  constructor(deps: DurableRunsDeps) {
    this.deps = deps
  }

  /** Executes runs from now on. Looks for due ones after commits. */
  start(signal: CommitSignal): void {
    this.subscription = signal.subscribe(() => this.look(), PAUSE_MS)
    this.look()
  }

  /** Executes no more runs. The next process continues the run in progress. */
  async close(): Promise<void> {
    this.isStopping = true
    this.subscription?.close()
    await this.working
  }

  /** Whether a failure could not be stored. Its run is still due. */
  get hasUnstored(): boolean {
    return this.unstored.size > 0
  }

  /** Looks for due runs, unless some are executed. */
  look(): void {
    if (this.isStopping || performance.now() < this.lookNotBeforeMs || this.deps.isLeading?.() === false) return
    this.looking ??= this.runDue()
      .catch((failure: unknown) => {
        this.lookNotBeforeMs = performance.now() + LOOK_RETRY_MS
        this.deps.onLookFailure(failure)
      })
      .finally(() => {
        this.looking = null
      })
  }

  /** Executes all runs that are due. `id`: only those of this subject, also if another instance leads. */
  runDue(id: string | null = null): Promise<void> {
    const work = this.working.then(() => this.work(id))
    this.working = work.catch(() => undefined)
    return work
  }

  /** The runs that are due, the longest waiting first. */
  due(): readonly DueRun[] {
    const nowMs = this.deps.clock.now()
    const due = this.deps.kinds.flatMap((kind) =>
      kind.subjects().flatMap((subject): DueRun[] => {
        const id = kind.idOf(subject)
        const failures = this.unstored.get(`${kind.name} ${id}`) ?? kind.failuresOf(subject)
        const sinceMs = isWaiting(failures, nowMs) ? null : kind.dueSinceMs(subject, nowMs)
        return sinceMs === null ? [] : [{ kind, subject, id, sinceMs }]
      }),
    )
    return due.sort((a, b) => a.sinceMs - b.sinceMs)
  }

  private async work(id: string | null): Promise<void> {
    const { catchUp, isLeading } = this.deps
    for (;;) {
      // Other processes change subjects and request runs. The lease may have been lost since the last run.
      catchUp()
      if (this.isStopping || (id === null && isLeading?.() === false)) return
      const next = this.due().find((one) => id === null || one.id === id)
      if (next === undefined || (await this.attempt(next)) === 'paused') return
    }
  }

  private async attempt({ kind, subject, id }: DueRun): Promise<AttemptEnd> {
    const key = `${kind.name} ${id}`
    const before = this.unstored.get(key) ?? kind.failuresOf(subject)
    try {
      const ended = await kind.attempt(subject, { isStopping: () => this.isStopping })
      this.unstored.delete(key)
      return ended
    } catch (failure) {
      const error = failure instanceof Error ? failure.message : String(failure)
      const nowMs = this.deps.clock.now()
      const failures = failuresOf((before?.failures ?? 0) + 1, nowMs)
      this.deps.onFailure({ name: kind.name, id, error, delayMs: failures.atMs - nowMs })
      try {
        await kind.fail(subject, error, failures)
        this.unstored.delete(key)
      } catch {
        // The disk refuses writes.
        this.unstored.set(key, failures)
      }
      return 'ended'
    }
  }
}
