// Removes sealed records from the outboxes. The truth about what is sealed is in the index, so this may happen at any time later.
import { AUDIT_PROVIDER } from '../../kernel/folder/audit-stream.ts'
import type { LogWork, LogWorks, SealedRecords } from './log-work.ts'
import type { SealerErrors } from './sealer-errors.ts'
import type { StreamScanner } from './stream-scanner.ts'

/** The cursor of an outbox is stored this often, or after so many events. */
export const TRIM_INTERVAL_MS = 1000
const TRIM_EVENTS = 5000

/** Removes sealed records from the outboxes. */
export class OutboxTrimmer {
  private readonly works: LogWorks
  private readonly scanner: StreamScanner
  private readonly errors: SealerErrors

  constructor(works: LogWorks, scanner: StreamScanner, errors: SealerErrors) {
    this.works = works
    this.scanner = scanner
    this.errors = errors
  }

  /** Removes what is due. `isFinal`: everything that is sealed. */
  async trimAll(isFinal: boolean): Promise<void> {
    const nowMs = performance.now()
    const due = this.works.all().filter(({ trims, trimmedMs }) => {
      if (trims.size === 0) return false
      const events = [...trims.values()].reduce((sum, each) => sum + each.events, 0)
      return isFinal || events >= TRIM_EVENTS || nowMs - trimmedMs >= TRIM_INTERVAL_MS
    })
    // In one turn, so that streams of one environment share a transaction.
    await Promise.all(
      due.map((work) => {
        work.trimmedMs = nowMs
        return this.errors.attempt(work.owner.owner, () => this.trim(work))
      }),
    )
  }

  private async trim(work: LogWork): Promise<void> {
    const trims = new Map(work.trims)
    await this.scanner.withSources(work.owner, new Set(trims.keys()), async (sources) => {
      await Promise.all(
        sources.map(async ({ key, outbox, name }) => {
          const { cursor } = trims.get(key) as SealedRecords
          const { origin, next } = { ...cursor, origin: outbox.status(name)?.origin ?? cursor.origin }
          if (next <= (outbox.cursors(name).get(AUDIT_PROVIDER)?.next ?? 0)) return
          const providers = [AUDIT_PROVIDER]
          await outbox.commit(name, { provider: AUDIT_PROVIDER, origin, next, gap: null, providers })
        }),
      )
    })
    for (const [key, trim] of trims) if (work.trims.get(key) === trim) work.trims.delete(key)
  }
}
