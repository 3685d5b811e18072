// Elects one process on a data folder for each background task. A process that holds the lock of a task runs it; when it ends,
// in any way, another candidate takes over. See docs/decisions/0019-locks-and-processes.md.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { TASK_LOCKS_FOLDER } from '../../kernel/folder/data-folder.ts'
import { type FileLock, lockFile } from './file-lock.ts'

/** Candidates retry at this interval, so a task is without a leader at most this long. An attempt costs some microseconds. */
const RETRY_INTERVAL_MS = 200

/** The elections with this process as a candidate: it leads some tasks and waits to lead the others. */
export class LeaderElection {
  private readonly folder: string
  private readonly held: FileLock[] = []
  private readonly waiting = new Set<ReturnType<typeof setInterval>>()

  /** Creates the folder of task locks in the data folder. */
  constructor(dataDir: string) {
    this.folder = join(dataDir, TASK_LOCKS_FOLDER)
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
  }

  /**
   * Makes this process a candidate for the task. Calls `lead` once, when the process becomes the leader: before `campaign`
   * returns if the task has no leader, otherwise from a timer.
   */
  campaign(task: string, lead: () => void): void {
    if (this.tryAcquire(task)) {
      lead()
      return
    }
    const timer = setInterval(() => {
      if (!this.tryAcquireQuietly(task)) return
      clearInterval(timer)
      this.waiting.delete(timer)
      lead()
    }, RETRY_INTERVAL_MS)
    timer.unref()
    this.waiting.add(timer)
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
    for (const timer of this.waiting) clearInterval(timer)
    this.waiting.clear()
    for (const lock of this.held.splice(0)) lock.release()
  }
}
