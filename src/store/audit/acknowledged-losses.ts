// The losses of audit logs that an operator has acknowledged. Each is also an entry of the audit log of the organization; this copy is
// read where the log itself may be missing or may be too old.
import { AUDIT_ACKNOWLEDGED_LOSSES } from '../../kernel/folder/data-folder.ts'
import type { DocumentReader, DocumentStore } from '../../kernel/folder/document-store.ts'
import type { LostLogEnd } from './audit-types.ts'

/** A loss that was investigated. It covers neither entries of the same origin beyond its size, nor those that were left then. */
export interface AcknowledgedLoss extends LostLogEnd {
  /** The number of entries that the folder of the log still had. */
  readonly left: number
  /** Name or number of the user of the operating system. */
  readonly by: string
  readonly timeMs: number
  readonly reason: string
}

/** The acknowledged losses by the id of their log. */
export function acknowledgedLosses(reader: DocumentReader): ReadonlyMap<string, readonly AcknowledgedLoss[]> {
  return new Map(reader.all(AUDIT_ACKNOWLEDGED_LOSSES) as readonly [string, readonly AcknowledgedLoss[]][])
}

/** Stores an acknowledged loss of the log `id`, instead of an earlier one of the same origin. Rejects with StorageWriteError. */
export async function putAcknowledgedLoss(store: DocumentStore, id: string, loss: AcknowledgedLoss): Promise<void> {
  await store.transact((transaction) => {
    const known = (transaction.get(AUDIT_ACKNOWLEDGED_LOSSES, id) ?? []) as readonly AcknowledgedLoss[]
    const others = known.filter(({ origin }) => origin !== loss.origin)
    transaction.put(AUDIT_ACKNOWLEDGED_LOSSES, id, [...others, loss])
  })
}
