// The batches of a log in the form of the audit interface: each signs the hash of its entries, and continues the chain of the batch
// before it.
import { createHash, type Hash } from 'node:crypto'
import { decodeBase64 } from './checkpoint.ts'
import { type NoteVerifier, signatureTypes } from './signed-note.ts'

/** A batch without its entries, as a line of an export has it. Hashes are hexadecimal. */
export interface BatchLine {
  readonly batch_id: string
  readonly project_id: string
  readonly sequence: number
  /** Index of its first entry in the log. */
  readonly from: number
  /** Index after its last entry. */
  readonly to: number
  /** SHA-256 of the entries, joined by line feeds. */
  readonly hash: string
  /** `chain_hash` of the batch before; empty for the first one. */
  readonly prev_hash: string
  /** SHA-256 of project, sequence, `prev_hash`, `hash` and id of the batch, joined by `|`. */
  readonly chain_hash: string
  /** Of the text of `hash`: P-256 with SHA-256, DER in base64. */
  readonly signature: string
}

/** `chain_hash` of a batch. */
export function chainHashOf({
  project_id,
  sequence,
  prev_hash,
  hash,
  batch_id,
}: Pick<BatchLine, 'project_id' | 'sequence' | 'prev_hash' | 'hash' | 'batch_id'>): string {
  const text = [project_id, sequence, prev_hash, hash, batch_id].join('|')
  return createHash('sha256').update(text).digest('hex')
}

/** Checks batches that follow each other, each after its entries. */
export class BatchChain {
  private readonly keys: readonly NoteVerifier[]
  private digest: Hash | null = null
  /** Of the entries since the last batch. */
  private from = 0
  private to = 0
  private last: BatchLine | null = null

  /** `keys`: the P-256 keys among them may have signed. */
  constructor(keys: readonly NoteVerifier[]) {
    this.keys = keys.filter(({ type }) => type === signatureTypes.ecdsa)
  }

  /** The next entry of the log. */
  addEntry(index: number, entry: Uint8Array): void {
    if (this.digest === null || index !== this.to) {
      this.digest = createHash('sha256')
      this.from = index
    } else this.digest.update('\n')
    this.digest.update(entry)
    this.to = index + 1
  }

  /** Checks the batch of the entries since the last one. Returns how it is wrong; null: it is right. */
  check(batch: BatchLine): string | null {
    const { digest, last } = this
    this.digest = null
    this.last = batch
    const name = `batch ${batch.sequence}`
    if (digest === null || batch.from !== this.from || batch.to !== this.to)
      return `${name} has the entries ${batch.from} to ${batch.to - 1}, which are not before its line`
    if (digest.digest('hex') !== batch.hash) return `${name} does not have the hash of its entries`
    if (chainHashOf(batch) !== batch.chain_hash) return `${name} does not have the hash of its members`
    if (last !== null && (batch.prev_hash !== last.chain_hash || batch.sequence !== last.sequence + 1))
      return `${name} does not continue batch ${last.sequence}`
    const signature = decodeBase64(batch.signature)
    const isSigned = signature !== null && this.keys.some((key) => key.isValid(Buffer.from(batch.hash), signature))
    return isSigned ? null : `${name} is not signed by a given key`
  }
}

/** Reads the members of a batch line; null if one is missing or has the wrong type. */
export function readBatchLine(value: unknown): BatchLine | null {
  const batch = (typeof value === 'object' && value !== null ? value : {}) as Partial<Record<keyof BatchLine, unknown>>
  const { batch_id, project_id, sequence, from, to, hash, prev_hash, chain_hash, signature } = batch
  const texts = [batch_id, project_id, hash, prev_hash, chain_hash, signature]
  const isValid = texts.every((text) => typeof text === 'string') && [sequence, from, to].every(Number.isSafeInteger)
  return isValid ? (batch as BatchLine) : null
}
