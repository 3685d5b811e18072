// The newest state of each audit log, kept in the configuration too: if the folder of the audit trail is removed, or replaced by an
// older one, these heads show what is missing.
import { AUDIT_ACKNOWLEDGED_LOSSES, AUDIT_HEADS } from '../../kernel/folder/data-folder.ts'
import type { DocumentReader, DocumentStore } from '../../kernel/folder/document-store.ts'
import type { AuditGeneration, AuditLog, LostLogEnd } from './audit-types.ts'

/** The end of a log at its newest checkpoint. */
export interface AuditHead
  extends Pick<AuditLog, 'id' | 'owner' | 'kind' | 'sequence' | 'headHash' | 'checkpoint' | 'lost'> {
  /** The present generation. */
  readonly generation: Pick<AuditGeneration, 'number' | 'name' | 'origin' | 'openedMs' | 'firstBatch' | 'size' | 'root'>
  readonly sealedMs: number
}

/** The head of a log; null: nothing is sealed. */
export function headOf({ id, owner, kind, sequence, headHash, checkpoint, ...log }: AuditLog): AuditHead | null {
  const last = log.generations.at(-1)
  if (last === undefined || last.size === 0) return null
  const { number, name, origin, openedMs, firstBatch, size, root } = last
  const generation = { number, name, origin, openedMs, firstBatch, size, root }
  const lost = log.lost === undefined ? {} : { lost: log.lost }
  return { id, owner, kind, sequence, headHash, checkpoint, generation, sealedMs: log.sealedMs, ...lost }
}

/** Lost ends, with further ones: each origin once, at the largest size. */
export function lostEndsWith(known: readonly LostLogEnd[], further: readonly LostLogEnd[]): readonly LostLogEnd[] {
  const ends = new Map<string, LostLogEnd>()
  for (const { name, origin, size } of [...known, ...further])
    if ((ends.get(origin)?.size ?? -1) < size) ends.set(origin, { name, origin, size })
  return [...ends.values()]
}

/**
 * Whether a log of the index has everything that its head states, or names that as lost already. False: it is another log, or an
 * older state of it. The head may be older than the log, because it is written after it.
 */
export function continuesHead(log: AuditLog | null, { checkpoint, generation }: AuditHead): boolean {
  // A process that was killed before it wrote the next head.
  if (log?.lost?.some(({ origin, size }) => origin === generation.origin && size >= generation.size)) return true
  const found = log?.generations.find(({ origin }) => origin === generation.origin)
  if (log === null || found === undefined || found.size < generation.size || log.checkpoint < checkpoint) return false
  return found.size > generation.size || found.root === generation.root
}

/** All heads in a configuration. */
export function auditHeads(reader: DocumentReader): readonly AuditHead[] {
  return reader.all(AUDIT_HEADS).map(([, head]) => head as AuditHead)
}

/** The heads of a data folder. Only the process that seals writes them. */
export class AuditHeads {
  private readonly store: DocumentStore
  private readonly heads: Map<string, AuditHead>
  private readonly changed = new Set<string>()

  /** `store`: the configuration in the data folder. */
  constructor(store: DocumentStore) {
    this.store = store
    this.heads = new Map(store.read(auditHeads).map((head) => [head.id, head]))
  }

  /** The head of a log; null: it has none. */
  get(id: string): AuditHead | null {
    return this.heads.get(id) ?? null
  }

  /** All heads. */
  all(): readonly AuditHead[] {
    return [...this.heads.values()]
  }

  /** Takes over the state of a log that was sealed. `store` makes it durable. */
  put(log: AuditLog): void {
    const head = headOf(log)
    const before = this.heads.get(log.id)
    if (head === null || (before?.checkpoint === head.checkpoint && before.headHash === head.headHash)) return
    this.heads.set(log.id, head)
    this.changed.add(log.id)
  }

  /** Removes the head of a log and its acknowledged losses, before the log is removed. */
  async remove(id: string): Promise<void> {
    await this.store.transact((transaction) => {
      for (const collection of [AUDIT_HEADS, AUDIT_ACKNOWLEDGED_LOSSES]) transaction.delete(collection, id)
    })
    this.heads.delete(id)
    this.changed.delete(id)
  }

  /** Writes the heads that have changed, in one transaction. Rejects with StorageWriteError; the next call then writes them. */
  async flush(): Promise<void> {
    if (this.changed.size === 0) return
    const written = this.all().filter(({ id }) => this.changed.has(id))
    await this.store.transact((transaction) => {
      for (const head of written) transaction.put(AUDIT_HEADS, head.id, head)
    })
    for (const { id } of written) this.changed.delete(id)
  }
}
