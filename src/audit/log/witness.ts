// A witness cosigns checkpoints of a log that it can prove consistent (C2SP tlog-witness), so that the operator of the log cannot
// show different logs to different readers.
import { err, ok, type Result } from '../../kernel/result.ts'
import { decodeBase64, type LogCheckpoint } from './checkpoint.ts'
import { equalBytes, HASH_BYTES, isConsistent } from './merkle.ts'

const PROOF_MAX_HASHES = 63

/** A request to cosign a checkpoint. */
export interface WitnessRequest {
  /** The size of the last checkpoint that the witness cosigned. */
  readonly oldSize: number
  readonly proof: readonly Uint8Array[]
  /** The signed checkpoint. */
  readonly note: string
}

/** Reads the body of an `add-checkpoint` request. The error names the line. */
export function parseWitnessRequest(text: string): Result<WitnessRequest, string> {
  const end = text.indexOf('\n\n')
  const [old = '', ...lines] = text.slice(0, Math.max(0, end)).split('\n')
  const oldSize = /^old (0|[1-9]\d{0,15})$/.exec(old)?.[1]
  if (end < 0 || oldSize === undefined) return err('line 1 of the request: expected `old` and a number of entries')
  if (lines.length > PROOF_MAX_HASHES) return err(`the proof has more than ${PROOF_MAX_HASHES} hashes`)
  const proof: Uint8Array[] = []
  for (const [index, line] of lines.entries()) {
    const hash = decodeBase64(line)
    if (hash?.length !== HASH_BYTES) return err(`line ${index + 2} of the request: expected a hash in base64`)
    proof.push(hash)
  }
  return ok({ oldSize: Number(oldSize), proof, note: text.slice(end + 2) })
}

/**
 * Whether a witness may cosign the checkpoint after the one that it cosigned last (null: it has cosigned none of this log). The
 * error says why not.
 */
export function provesContinuation(
  last: Pick<LogCheckpoint, 'size' | 'root'> | null,
  { size, root }: LogCheckpoint,
  proof: readonly Uint8Array[],
): Result<null, string> {
  if (last === null || last.size === 0)
    return proof.length === 0 ? ok(null) : err('a proof from 0 entries must be empty')
  if (size < last.size)
    return err(`the checkpoint has ${size} entries, and this witness has cosigned one with ${last.size}`)
  if (size === last.size && !equalBytes(root, last.root))
    return err(`this witness has cosigned another log of ${size} entries with the same origin: the log is forked`)
  return isConsistent(last.size, size, last.root, root, proof)
    ? ok(null)
    : err(`the log does not continue the ${last.size} entries that this witness has cosigned: it is forked`)
}
