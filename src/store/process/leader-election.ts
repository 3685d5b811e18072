// Elects one process on a data folder for each background task. A process that holds the lock of a task runs it; when it ends,
// in any way, another candidate takes over: at once if that is announced, and within a second otherwise. See
// docs/decisions/0019-locks-and-processes.md.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CommitSignal, CommitSubscription } from '../../kernel/folder/commit-signal.ts'
import { TASK_LOCKS_FOLDER } from '../../kernel/folder/data-folder.ts'
import { type FileLock, lockFile } from './file-lock.ts'

/** The elections with this process as a candidate: it leads some tasks and waits to lead the others. */
export class LeaderElection {
  private readonly folder: string
  private readonly held: FileLock[] = []
  private readonly signal: CommitSignal
  private readonly waiting = new Set<CommitSubscription>()

  /** Creates the folder of task locks in the data folder. Candidates try again on each signal. */
  constructor(dataDir: string, signal: CommitSignal) {
    this.signal = signal
    this.folder = join(dataDir, TASK_LOCKS_FOLDER)
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
  }

  /**
   * Makes this process a candidate for the task. Calls `lead` once, when the process becomes the leader: before `campaign`
   * returns if the task has no leader, otherwise later.
   */
  campaign(task: string, lead: () => void): void {
    if (this.tryAcquire(task)) {
      lead()
      return
    }
    const subscription = this.signal.subscribe(() => {
      if (!this.tryAcquireQuietly(task)) return
      subscription.close()
      this.waiting.delete(subscription)
      lead()
    })
    this.waiting.add(subscription)
  }

  private tryAcquire(task: string): boolean {
    const lock = lockFile(join(this.folder, `${task}.lock`), 'exclusive')
    if (lock !== null) this.held.push(lock)
    return lock !== null
  }

  /** An error, for example for lack of file descriptors, must not end the process. The next attempt may succeed. */
  private tryAcquireQuietly(task: string): boolean {
    try {
      return this.tryAcquire(task)
    } catch {
      return false
    }
  }

  /** Gives up all tasks and candidacies. Call it when this process no longer runs any task. */
  close(): void {
    for (const subscription of this.waiting) subscription.close()
    this.waiting.clear()
    if (this.held.length === 0) return
    for (const lock of this.held.splice(0)) lock.release()
    this.signal.announce()
  }
}
