// The delay before a process that has exited is started again, for all kinds of processes: it doubles while they exit soon.
import { type Backoff, backoffMs } from '../kernel/time/backoff.ts'

const restarts: Backoff = { minMs: 100, maxMs: 10_000 }
/** A process that has run for this time has not failed at its start. */
const STABLE_MS = 60_000

/** The delays of one process and its replacements. */
export class RestartDelay {
  private readonly backoff: Backoff
  private failures = 0
  private startedMs = Number.POSITIVE_INFINITY

  constructor(backoff: Backoff = restarts) {
    this.backoff = backoff
  }

  /** A process has started. Without this call only `reset` ends a row of failures. */
  started(): void {
    this.startedMs = performance.now()
  }

  /** A process works: the next delay is the shortest one. */
  reset(): void {
    this.failures = 0
  }

  /** A process has failed. Returns the delay before the next start, milliseconds. */
  nextMs(): number {
    if (performance.now() - this.startedMs > STABLE_MS) this.failures = 0
    this.failures += 1
    return backoffMs(this.backoff, this.failures)
  }
}
