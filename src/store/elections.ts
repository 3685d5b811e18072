// What only one process on a data folder may do: each such task goes to whoever holds its lock, and when that process
// ends, however it does, to another one that stands for it.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type HeldLock, lockExclusively } from './folder-lock.ts'

const FOLDER = 'locks'
/** How long a task may lie without a holder. A try costs some microseconds. */
const TRY_AGAIN_MS = 200

export class Elections {
  private readonly folder: string
  private readonly held: HeldLock[] = []
  private readonly waiting = new Set<ReturnType<typeof setInterval>>()

  constructor(dataDir: string) {
    this.folder = join(dataDir, FOLDER)
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
  }

  /** Calls `lead` once, when this process is elected: within the call where the task is free. */
  stand(task: string, lead: () => void): void {
    if (this.wins(task)) {
      lead()
      return
    }
    const timer = setInterval(() => {
      if (!this.winsNow(task)) return
      clearInterval(timer)
      this.waiting.delete(timer)
      lead()
    }, TRY_AGAIN_MS)
    timer.unref()
    this.waiting.add(timer)
  }

  private wins(task: string): boolean {
    const lock = lockExclusively(join(this.folder, `${task}.lock`), 0)
    if (lock !== null) this.held.push(lock)
    return lock !== null
  }

  /** A lock that cannot be tried, for want of descriptors perhaps, is no reason to end: there will be a next time. */
  private winsNow(task: string): boolean {
    try {
      return this.wins(task)
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
