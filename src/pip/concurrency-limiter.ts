// Limits the concurrent calls of each project. Further calls wait in order, up to a timeout.
import pLimit, { type LimitFunction } from 'p-limit'

interface ProjectLimit {
  readonly limit: LimitFunction
  /** Running and waiting calls. */
  calls: number
}

/** One limit for each key. */
export class ConcurrencyLimiter {
  private readonly maxConcurrent: number
  private readonly limits = new Map<string, ProjectLimit>()

  constructor(maxConcurrent: number) {
    this.maxConcurrent = maxConcurrent
  }

  /**
   * Runs `task` as soon as fewer than `maxConcurrent` tasks of `key` run. Returns null if that takes longer than
   * `timeoutMs`; then `task` never runs. Rejects as `task` does.
   */
  async run<T>(key: string, timeoutMs: number, task: () => Promise<T>): Promise<T | null> {
    const project = this.limits.get(key) ?? { limit: pLimit(this.maxConcurrent), calls: 0 }
    this.limits.set(key, project)
    project.calls += 1
    return new Promise((resolve, reject) => {
      let isLate = false
      const timer = setTimeout(() => {
        isLate = true
        resolve(null)
      }, timeoutMs)
      project
        .limit(() => {
          clearTimeout(timer)
          return isLate ? null : task()
        })
        .then(resolve, reject)
        .finally(() => {
          project.calls -= 1
          if (project.calls === 0) this.limits.delete(key)
        })
    })
  }
}
