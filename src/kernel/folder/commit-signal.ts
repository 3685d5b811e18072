// How a part of a process learns that something was committed on its data folder. One waiter of the process serves all parts
// (store/process/commit-waiter.ts), so an idle process does not wake for each of them.

/** A part of a process that looks for work after commits. */
export interface CommitSubscription {
  /** Looks in `ms` milliseconds at the latest, also without a commit. Applies to the next look only. */
  lookWithin(ms: number): void
  /** Looks no more. Idempotent. */
  close(): void
}

/** The commits of all processes on a data folder. */
export interface CommitSignal {
  /**
   * Calls `look` after commits of any process, and at least once in a second without one: a process that was killed may have committed
   * without a signal. While commits follow each other, the looks have a pause of `pauseMs`, at least 25 ms. `look` must not throw, and
   * not wait.
   */
  subscribe(look: () => void, pauseMs?: number): CommitSubscription
  /**
   * Resolves as soon as the condition holds, with true. It is checked now and after commits. Resolves with false after `timeoutMs`
   * milliseconds, and rejects as the condition does.
   */
  until(condition: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean>
  /** Makes all processes look now, because a lock was released, for example. */
  announce(): void
}
