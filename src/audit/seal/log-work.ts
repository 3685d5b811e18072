// The logs in work: what waits to be sealed, by stream, and what is sealed and not yet removed from the outboxes.
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditCursor } from '../../store/audit/audit-types.ts'
import type { AuditSource } from './audit-sources.ts'
import type { LogOwner } from './log-sealer.ts'
import type { AuditSealerDeps } from './sealer-deps.ts'

/** Records of a stream that are sealed, and to be removed from its outbox. */
export interface SealedRecords {
  readonly source: Pick<AuditSource, 'key' | 'name'>
  readonly cursor: AuditCursor
  readonly events: number
}

/** A log in work. */
export interface LogWork {
  readonly owner: LogOwner
  /** How far each stream is sealed, or known to have nothing to seal. */
  readonly cursors: Map<string, AuditCursor>
  /** Number of records that wait, by stream. */
  readonly pending: Map<string, number>
  pendingSinceMs: number
  /** By stream. */
  readonly trims: Map<string, SealedRecords>
  trimmedMs: number
  failures: number
  retryMs: number
}

/** All logs in work. */
export class LogWorks {
  private readonly deps: Pick<AuditSealerDeps, 'isOrganization' | 'logId'>
  private readonly index: AuditIndex
  private readonly works = new Map<string, LogWork>()

  constructor(deps: Pick<AuditSealerDeps, 'index' | 'isOrganization' | 'logId'>) {
    this.deps = deps
    this.index = deps.index
  }

  /** All of them. */
  all(): readonly LogWork[] {
    return [...this.works.values()]
  }

  /** The log of a project or an organization; undefined: it is not in work. */
  find(owner: string): LogWork | undefined {
    return this.works.get(owner)
  }

  /** The log of a project or an organization, which is in work from now on. */
  of(owner: string): LogWork {
    let work = this.works.get(owner)
    if (work === undefined) {
      const kind = this.deps.isOrganization(owner) ? 'organization' : 'project'
      const id = this.deps.logId(owner)
      work = {
        owner: { id, owner, kind },
        cursors: new Map(this.index.cursors(id)),
        pending: new Map(),
        pendingSinceMs: 0,
        trims: new Map(),
        trimmedMs: 0,
        failures: 0,
        retryMs: 0,
      }
      this.works.set(owner, work)
    }
    return work
  }

  /** Ends the work on a log that was removed. */
  delete(owner: string): void {
    this.works.delete(owner)
  }
}

/** Notes how many records of a stream wait. `sinceMs`: when it was known that none did. */
export function noteStream(
  work: LogWork,
  key: string,
  { origin, next }: { readonly origin: string; readonly next: number },
  sinceMs: number,
): void {
  const cursor = work.cursors.get(key)
  // The number is not known if the stream has another origin.
  const waiting = cursor === undefined ? next - 1 : cursor.origin === origin ? next - cursor.next : 1
  if (waiting <= 0) work.pending.delete(key)
  else {
    // Recorded at any time since the last look.
    if (work.pending.size === 0) work.pendingSinceMs = sinceMs
    work.pending.set(key, waiting)
  }
}
