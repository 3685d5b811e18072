// The sealers of the logs of a data folder. The least recently used ones are dropped: they read their state from the index again.
import type { AuditLog } from '../../store/audit/audit-types.ts'
import type { SignedLogs } from './customer-signatures.ts'
import { type LogOwner, LogSealer } from './log-sealer.ts'
import type { AuditSealerDeps } from './sealer-deps.ts'

/** Logs whose state is in memory. */
const LOGS_MAX = 256

/** The owner of a log. */
export function ownerOf({ id, owner, kind }: AuditLog): LogOwner {
  return { id, owner, kind }
}

/** The sealers of the logs. */
export class LogSealers {
  private readonly deps: AuditSealerDeps
  private readonly sealers = new Map<string, LogSealer>()
  private lastGeneration: number

  constructor(deps: AuditSealerDeps) {
    this.deps = deps
    const known = deps.index.logs().flatMap((log) => log.generations)
    const lost = deps.heads.all().map(({ generation }) => generation)
    this.lastGeneration = [...known, ...lost].reduce((last, { number }) => Math.max(last, number), 0)
  }

  /** The sealer of a log. */
  of(owner: LogOwner): LogSealer {
    let sealer = this.sealers.get(owner.id)
    if (sealer === undefined) {
      const { index, heads, keys, sealer: box, clock, folder, origin } = this.deps
      sealer = new LogSealer(owner, {
        index,
        heads,
        keys,
        sealer: box,
        clock,
        folder,
        origin,
        nextGeneration: () => {
          this.lastGeneration += 1
          return this.lastGeneration
        },
        onIndexLost: ({ kind, owner }, before, after, isPublished) =>
          this.deps.log({
            level: 'error',
            message: isPublished
              ? 'the index of the audit log was lost, or replaced by an older one: its entries are in its folder, and the log continues under another origin'
              : 'entries of the audit log were lost: its folder was removed, or replaced by an older one; the log continues under another origin',
            [kind]: owner,
            before: before.origin,
            size: before.size,
            origin: after,
          }),
      })
    } else this.sealers.delete(owner.id)
    // Moved to the end: the least recently used ones come first.
    this.sealers.set(owner.id, sealer)
    for (const id of this.sealers.keys()) {
      if (this.sealers.size <= LOGS_MAX) break
      this.sealers.delete(id)
    }
    return sealer
  }

  /** The logs, as signatures change them. */
  readonly signedLogs: SignedLogs = {
    addSignatures: (projectId, checkpoint, lines, change) =>
      this.projectSealer(projectId).addSignatures(checkpoint, lines, change),
    record: (projectId, type, members, change) => this.projectSealer(projectId).record(type, members, change),
  }

  private projectSealer(projectId: string): LogSealer {
    return this.of({ id: this.deps.logId(projectId), owner: projectId, kind: 'project' })
  }

  /** Drops the state of a log in memory. */
  forget(logId: string): void {
    this.sealers.delete(logId)
  }
}
