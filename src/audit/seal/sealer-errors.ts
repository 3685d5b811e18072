// Errors of sealing. They are logged, each at most once a minute, because sealing is tried again until it succeeds.
import type { AuditSealerDeps } from './sealer-deps.ts'

/** The same error is logged this often. */
const ERROR_INTERVAL_MS = 60_000

/** Logs errors. */
export class SealerErrors {
  private readonly log: AuditSealerDeps['log']
  /** When each error was logged. */
  private readonly logged = new Map<string, number>()

  constructor(log: AuditSealerDeps['log']) {
    this.log = log
  }

  /** Resolves with false if `work` fails, which is logged. */
  async attempt(owner: string, work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (failure) {
      this.fail('the audit log cannot be completed', owner, failure)
      return false
    }
  }

  /** Logs an error. `owner`: of the log; empty: it concerns all. */
  fail(message: string, owner: string, failure: unknown): void {
    const error = failure instanceof Error ? failure.message : String(failure)
    const name = `${message} ${owner}`
    const nowMs = performance.now()
    if (nowMs - (this.logged.get(name) ?? Number.NEGATIVE_INFINITY) < ERROR_INTERVAL_MS) return
    this.logged.set(name, nowMs)
    this.log({ level: 'error', message, ...(owner !== '' && { log: owner }), error })
  }
}
