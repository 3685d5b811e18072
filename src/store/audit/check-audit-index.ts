// Checks that the index of the audit logs is consistent: checksums, batches and checkpoints without holes and chained, generations
// that end with their last batch. Old batches and checkpoints that the log states as removed may be missing.
import { AUDIT_ENTRY, type AuditKey } from '../format/keys.ts'
import { CHECKSUM_MISMATCH, formatKey } from '../lmdb/database.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import { type AuditDatabases, auditKey, readAuditValue } from './audit-databases.ts'
import type { AuditBatch, AuditCheckpoint, AuditLog } from './audit-types.ts'

interface LogEnd {
  readonly log: AuditLog
  batch: AuditBatch | null
  checkpoint: AuditCheckpoint | null
}

/** Returns every inconsistency as a sentence; empty if the index is sound. */
export function* checkAuditIndex({ entries, postings }: AuditDatabases, readOptions: ReadOptions): Iterable<string> {
  const ends = new Map<string, LogEnd>()
  const range = { start: auditKey(AUDIT_ENTRY.log, ''), end: undefined, ...readOptions }
  for (const { key, valueView } of entries.scanUnchecked(range)) {
    const name = `${entries.name} ${formatKey(key)}`
    if (valueView === null) {
      yield `${name} ${CHECKSUM_MISMATCH}`
      continue
    }
    if (key.kind === AUDIT_ENTRY.log) {
      ends.set(key.name, { log: readAuditValue(valueView), batch: null, checkpoint: null })
    } else if (belongsToLog(key)) {
      const end = ends.get(key.name)
      if (end === undefined) yield `${name} belongs to no log`
      else if (key.kind === AUDIT_ENTRY.batch) {
        const batch = readAuditValue<AuditBatch>(valueView)
        const problem = batchProblem(end, batch)
        if (problem !== null) yield `${name} ${problem}`
        end.batch = batch
      } else if (key.kind === AUDIT_ENTRY.checkpoint) {
        const checkpoint = readAuditValue<AuditCheckpoint>(valueView)
        if (end.checkpoint !== null && !isNextCheckpoint(end.log, end.checkpoint.number, checkpoint.number))
          yield `${name}: checkpoints before it are missing`
        end.checkpoint = checkpoint
      }
    }
  }
  for (const [id, { log, batch, checkpoint }] of ends) {
    const size = log.generations.at(-1)?.size ?? 0
    if ((batch?.sequence ?? 0) !== log.sequence || (batch?.headHash ?? '') !== log.headHash)
      yield `${entries.name} log ${JSON.stringify(id)} does not end with its last batch`
    if ((checkpoint?.number ?? 0) !== log.checkpoint)
      yield `${entries.name} log ${JSON.stringify(id)} does not end with its last checkpoint`
    if (batch !== null && size > 0 && batch.to !== size)
      yield `${entries.name} log ${JSON.stringify(id)} has ${size} entries, and its last batch ends at ${batch.to}`
  }
  const first = { generation: 0, dimension: 0, high: 0, low: 0, bundle: 0 }
  for (const { key, valueView } of postings.scanUnchecked({ start: first, end: undefined, ...readOptions }))
    if (valueView === null) yield `${postings.name} ${formatKey(key)} ${CHECKSUM_MISMATCH}`
}

function belongsToLog({ kind }: AuditKey): boolean {
  return kind === AUDIT_ENTRY.cursor || kind === AUDIT_ENTRY.batch || kind === AUDIT_ENTRY.checkpoint
}

/** Whether no checkpoint is between the two that the log does not state as removed or missing. */
function isNextCheckpoint({ thinnedTo = 0, missing = [] }: AuditLog, before: number, number: number): boolean {
  if (before + 1 === number || number <= thinnedTo + 1) return true
  return missing.some(({ checkpoints: { after, to } }) => to + 1 === number && (before === after || after <= thinnedTo))
}

function batchProblem({ log, batch: before }: LogEnd, batch: AuditBatch): string | null {
  const { firstSequence = 1, missing = [] } = log
  const last = before?.sequence ?? firstSequence - 1
  const gap = missing.find(({ batches }) => batches.after === last)
  if (batch.sequence !== (gap?.batches.to ?? last) + 1) return 'batches before it are missing'
  if (before === null && firstSequence > 1) return null
  if (batch.prevHash !== (gap?.headHash ?? before?.headHash ?? '')) return 'does not continue the hash chain'
  const isContinued = before?.generation === batch.generation ? batch.from === before.to : batch.from === 0
  return isContinued ? null : 'does not begin where the batch before it ends'
}
