// Checkpoints (C2SP tlog-checkpoint): the text of a signed note that commits to a log at a size.
import { err, ok, type Result } from '../../kernel/result.ts'
import { HASH_BYTES } from './merkle.ts'

/** The state of a log that its operator signs. */
export interface LogCheckpoint {
  /** Identifies the log. */
  readonly origin: string
  /** Number of entries. */
  readonly size: number
  readonly root: Uint8Array
}

/** The text of a checkpoint, which `signNote` signs. */
export function checkpointText({ origin, size, root }: LogCheckpoint): string {
  return `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`
}

/** Reads the text of a checkpoint. Extension lines are ignored. The error names the line. */
export function parseCheckpoint(text: string): Result<LogCheckpoint, string> {
  const [origin = '', size = '', root = '', ...rest] = text.split('\n')
  if (origin === '') return err('line 1 of the checkpoint: expected the origin of the log')
  if (!/^(0|[1-9]\d{0,15})$/.test(size) || !Number.isSafeInteger(Number(size)))
    return err('line 2 of the checkpoint: expected the number of entries')
  const hash = decodeBase64(root)
  if (hash?.length !== HASH_BYTES) return err('line 3 of the checkpoint: expected the root hash in base64')
  if (rest.pop() !== '' || rest.includes('')) return err('the checkpoint has an empty line')
  return ok({ origin, size: Number(size), root: hash })
}

/** Decodes base64 (RFC 4648, section 4); null unless the text is the one encoding of its bytes. */
export function decodeBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}
