// What only one process on a data folder may do: each such task goes to whoever holds its lock, and when that process
// ends, however it does, to another one that stands for it.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type ExclusiveLock, lockExclusively } from './folder-lock.ts'

const FOLDER = 'locks'
/** How long a task may lie without a holder. A try costs some microseconds. */
const RETRY_INTERVAL_MS = 200

export class LeaderElection {
  private readonly folder: string
  private readonly held: ExclusiveLock[] = []
  private readonly waiting = new Set<ReturnType<typeof setInterval>>()

  constructor(dataDir: string) {
    this.folder = join(dataDir, FOLDER)
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
  }

  /** Calls `lead` once, when this process is elected: within the call where the task is free. */
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
    const lock = lockExclusively(join(this.folder, `${task}.lock`), 0)
    if (lock !== null) this.held.push(lock)
    return lock !== null
  }

  /** A lock that cannot be tried, for want of descriptors perhaps, is no reason to end: there will be a next time. */
  private tryAcquireQuietly(task: string): boolean {
    try {
      return this.tryAcquire(task)
    } catch {
      return false
    }
  }

  /** Leaves every task to the others: to be called when this process does nothing more of any. */
  close(): void {
    for (const timer of this.waiting) clearInterval(timer)
    this.waiting.clear()
    for (const lock of this.held.splice(0)) lock.close()
  }
}
