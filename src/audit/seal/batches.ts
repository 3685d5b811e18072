// Divides sealed entries into signed batches, each with its manifest, which continue the hash chain of the log.
import { hash, randomUUID } from 'node:crypto'
import type { AuditBatch, AuditGeneration, AuditLog } from '../../store/audit/audit-types.ts'
import { BytePool } from '../log/byte-pool.ts'
import type { PlatformKey } from './platform-keys.ts'

/** Entries of a batch, at most. */
export const BATCH_ENTRIES = 256
const LINE_FEED = 0x0a
/** More than most batches need. */
const JOINED_BYTES = 256 * 1024

/** Signs the batches of entries that follow the state of a log in a generation. */
export function signBatches(
  log: Pick<AuditLog, 'owner' | 'sequence' | 'headHash'>,
  { number, size }: Pick<AuditGeneration, 'number' | 'size'>,
  entries: readonly Uint8Array[],
  key: PlatformKey,
  createdMs: number,
): readonly AuditBatch[] {
  const batches: AuditBatch[] = []
  let prevHash = log.headHash
  for (let at = 0; at < entries.length; at += BATCH_ENTRIES) {
    const own = entries.slice(at, at + BATCH_ENTRIES)
    const digest = hashOfEntries(own)
    const sequence = log.sequence + batches.length + 1
    const batchId = randomUUID()
    const headHash = headHashOf(log.owner, sequence, prevHash, digest, batchId)
    batches.push({
      sequence,
      batchId,
      generation: number,
      from: size + at,
      to: size + at + own.length,
      hash: digest,
      prevHash,
      headHash,
      signature: key.sign(digest),
      manifestId: randomUUID(),
      manifestSignature: key.sign(headHash),
      kid: key.kid,
      createdMs,
    })
    prevHash = headHash
  }
  return batches
}

const pool = new BytePool(1, 1024 * 1024)

/** The hash of the entries joined by line feeds. */
function hashOfEntries(entries: readonly Uint8Array[]): string {
  const length = entries.reduce((sum, entry) => sum + entry.length + 1, 0)
  const joined = pool.take(Math.max(length, JOINED_BYTES))
  let at = 0
  for (const entry of entries) {
    joined.set(entry, at)
    at += entry.length + 1
    joined[at - 1] = LINE_FEED
  }
  const digest = hash('sha256', joined.subarray(0, Math.max(0, length - 1)))
  pool.give(joined)
  return digest
}

/** `head_hash` of a manifest, which is `chain_hash` of its batch. `owner`: the project or the organization. */
function headHashOf(owner: string, sequence: number, prevHash: string, dataHash: string, batchId: string): string {
  return hash('sha256', [owner, sequence, prevHash, dataHash, batchId].join('|'))
}
