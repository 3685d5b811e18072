// Signed checkpoints (C2SP signed-note and tlog-checkpoint), verified with the cryptography of the browser.
import { type Bytes, bytesOfBase64, bytesOfText, hexOf, joined, rawSignature, sha256 } from './audit-bytes.ts'

const ED25519 = 1
const ECDSA_P256 = 2
const KEY_ID_BYTES = 4

/** A state of a log. */
export interface TreeHead {
  readonly origin: string
  readonly size: number
  readonly root: Bytes
}

/** A key of a log, from its verifier key. */
export interface NoteKey {
  readonly name: string
  /** Hexadecimal. */
  readonly id: string
  readonly type: number
  readonly bytes: Bytes
}

/** A read checkpoint. `signedBy`: keys with a valid signature. `unsupported`: names of keys that this browser cannot verify. */
interface ReadCheckpoint {
  readonly head: TreeHead
  readonly signedBy: readonly NoteKey[]
  readonly unsupported: readonly string[]
}

/** Reads a verifier key, `name+id+key`; null if it is malformed, or its id is not that of the key. */
export async function logKeyOf(verifierKey: string): Promise<NoteKey | null> {
  const [name = '', id = '', ...rest] = verifierKey.split('+')
  // Base64 has plus signs, too.
  const material = bytesOfBase64(rest.join('+'))
  const type = material?.[0]
  if (name === '' || material === null || type === undefined) return null
  const bytes = material.slice(1)
  const prefix = type === ECDSA_P256 ? new Uint8Array() : joined(bytesOfText(`${name}\n`), new Uint8Array([type]))
  const hash = await sha256(joined(prefix, bytes))
  return hexOf(hash.subarray(0, KEY_ID_BYTES)) === id ? { name, id, type, bytes } : null
}

/** True or false; null: this browser cannot verify signatures of this type. */
async function isValid(key: NoteKey, text: Bytes, signature: Bytes): Promise<boolean | null> {
  const { subtle } = crypto
  switch (key.type) {
    case ECDSA_P256: {
      const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
      const imported = await subtle.importKey('spki', key.bytes, algorithm, false, ['verify']).catch(() => null)
      if (imported === null) return null
      const raw = rawSignature(signature)
      return raw !== null && subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, imported, raw, text)
    }
    case ED25519: {
      // Older browsers do not have Ed25519.
      const imported = await subtle.importKey('raw', key.bytes, 'Ed25519', false, ['verify']).catch(() => null)
      return imported === null ? null : subtle.verify('Ed25519', imported, signature, text)
    }
    default:
      return null
  }
}

/** Verifies a checkpoint. A text: what is wrong. Signatures of keys that are not given are ignored. */
export async function openCheckpoint(note: string, keys: readonly NoteKey[]): Promise<ReadCheckpoint | string> {
  const end = note.lastIndexOf('\n\n')
  if (end < 0) return 'The checkpoint has no signatures.'
  const text = note.slice(0, end + 1)
  const head = headOf(text)
  if (head === null) return 'The checkpoint is malformed.'
  const signedBy: NoteKey[] = []
  const unsupported: string[] = []
  for (const line of note.slice(end + 2).split('\n')) {
    const [, name = '', encoded = ''] = /^— (\S+) (\S+)$/.exec(line) ?? []
    const bytes = bytesOfBase64(encoded)
    if (bytes === null || bytes.length <= KEY_ID_BYTES) continue
    const id = hexOf(bytes.subarray(0, KEY_ID_BYTES))
    const key = keys.find((one) => one.name === name && one.id === id)
    if (key === undefined) continue
    const valid = await isValid(key, bytesOfText(text), bytes.slice(KEY_ID_BYTES))
    if (valid === false) return `The signature of ${name} is invalid.`
    if (valid === null) unsupported.push(name)
    else signedBy.push(key)
  }
  if (signedBy.length === 0 && unsupported.length === 0) return 'No key of the log has signed the checkpoint.'
  return { head, signedBy, unsupported }
}

function headOf(text: string): TreeHead | null {
  const [origin = '', size = '', encoded = ''] = text.split('\n')
  const root = bytesOfBase64(encoded)
  return origin === '' || !/^(0|[1-9]\d{0,15})$/.test(size) || root?.length !== 32
    ? null
    : { origin, size: Number(size), root }
}
