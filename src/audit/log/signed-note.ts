// Signed notes (C2SP signed-note): a text and signature lines. Signs with P-256 (type 0x02); verifies P-256, Ed25519 (0x01) and
// the cosignatures of witnesses (0x04, C2SP tlog-cosignature).
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { err, ok, type Result } from '../../kernel/result.ts'
import { decodeBase64 } from './checkpoint.ts'
import { equalBytes } from './merkle.ts'

const KEY_ID_BYTES = 4
const TIMESTAMP_BYTES = 8
const ED25519_KEY_BYTES = 32
const ED25519_SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
/** In seconds since the epoch (C2SP tlog-cosignature). */
const COSIGNATURE_TIME_MAX = 2n ** 63n - 1n
/** Larger notes are refused. */
const NOTE_MAX_BYTES = 1_000_000
const SIGNATURE_MAX_COUNT = 100

/** The signature types of C2SP signed-note that are supported. */
export const signatureTypes = { ed25519: 0x01, ecdsa: 0x02, cosignature: 0x04 } as const

/** Signs notes with one key. */
export interface NoteSigner {
  readonly name: string
  /** 4 bytes. */
  readonly keyId: Uint8Array
  /** Resolves with the signature of the text, in the form of the key's type. */
  sign(text: Uint8Array): Promise<Uint8Array>
}

/** Verifies the signatures of one key. */
export interface NoteVerifier {
  readonly name: string
  /** 4 bytes. */
  readonly keyId: Uint8Array
  /** One of `signatureTypes`. */
  readonly type: number
  isValid(text: Uint8Array, signature: Uint8Array): boolean
}

/** One signature line of a note. */
interface NoteSignature {
  readonly name: string
  /** 4 bytes. */
  readonly keyId: Uint8Array
  readonly signature: Uint8Array
}

/** A note with its parts; its signatures are not verified. */
interface ParsedNote {
  /** Ends with a line feed. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** A note with at least one valid signature, and without an invalid one of a known key. */
interface OpenedNote extends ParsedNote {
  /** The keys that signed it. */
  readonly verified: readonly NoteVerifier[]
}

/** Whether the text can be the name of a key: not empty, and without spaces, plus signs and control characters. */
export function isKeyName(name: string): boolean {
  return name !== '' && !/[\s+\p{Cc}]/u.test(name) && name.isWellFormed()
}

/** Signs the text, which must end with a line feed: one line per signer, in this order. */
export async function signNote(text: string, signers: readonly NoteSigner[]): Promise<string> {
  const bytes = Buffer.from(text)
  const lines = await Promise.all(
    signers.map(async (signer) => signatureLine(signer.name, signer.keyId, await signer.sign(bytes))),
  )
  return `${text}\n${lines.join('')}`
}

/** A signature line, which can be appended to a note. */
export function signatureLine(name: string, keyId: Uint8Array, signature: Uint8Array): string {
  return `— ${name} ${Buffer.concat([keyId, signature]).toString('base64')}\n`
}

/** Separates text and signatures. The error names the place where the note is malformed. */
export function parseNote(note: string): Result<ParsedNote, string> {
  if (Buffer.byteLength(note) > NOTE_MAX_BYTES) return err(`the note exceeds ${NOTE_MAX_BYTES} bytes`)
  // Control characters other than the line feed.
  if (/[\x00-\x09\x0b-\x1f]/.test(note) || !note.isWellFormed()) return err('the note has control characters')
  const end = note.lastIndexOf('\n\n')
  if (end < 0) return err('the note has no empty line before its signatures')
  const lines = note.slice(end + 2).split('\n')
  if (lines.pop() !== '') return err('the last line of the note is incomplete')
  if (lines.length === 0) return err('the note has no signature')
  if (lines.length > SIGNATURE_MAX_COUNT) return err(`the note has more than ${SIGNATURE_MAX_COUNT} signatures`)
  const signatures: NoteSignature[] = []
  for (const [index, line] of lines.entries()) {
    const [dash, name = '', encoded = '', ...rest] = line.split(' ')
    const bytes = decodeBase64(encoded)
    const isLine = dash === '—' && isKeyName(name) && rest.length === 0
    if (!isLine || bytes === null || bytes.length <= KEY_ID_BYTES)
      return err(`signature line ${index + 1} of the note is malformed`)
    signatures.push({ name, keyId: bytes.subarray(0, KEY_ID_BYTES), signature: bytes.subarray(KEY_ID_BYTES) })
  }
  return ok({ text: note.slice(0, end + 1), signatures })
}

/**
 * Verifies the signatures of known keys; others are ignored. Fails if a signature of a known key is invalid, or no known key
 * signed.
 */
export function openNote(note: string, verifiers: readonly NoteVerifier[]): Result<OpenedNote, string> {
  const parsed = parseNote(note)
  if (!parsed.ok) return parsed
  const { text, signatures } = parsed.value
  const bytes = Buffer.from(text)
  const verified: NoteVerifier[] = []
  for (const { name, keyId, signature } of signatures) {
    const verifier = verifiers.find((one) => one.name === name && equalBytes(one.keyId, keyId))
    if (verifier === undefined) continue
    if (!verifier.isValid(bytes, signature)) return err(`the signature of ${name} is invalid`)
    if (!verified.includes(verifier)) verified.push(verifier)
  }
  if (verified.length > 0) return ok({ text, signatures, verified })
  const names = [...new Set(signatures.map(describeSignature))].join(', ')
  return err(`no signature is of a given key; the note is signed by ${names}`)
}

function describeSignature({ name, keyId }: NoteSignature): string {
  return `${name}+${Buffer.from(keyId).toString('hex')}`
}

/** The key id of a P-256 key: the first four bytes of the SHA-256 hash of its public key (SPKI, DER). */
export function ecdsaKeyId(spkiDer: Uint8Array): Uint8Array {
  return createHash('sha256').update(spkiDer).digest().subarray(0, KEY_ID_BYTES)
}

/** The verifier key of a P-256 key, `name+id+key`, as `--key` and other verifiers read it. */
export function verifierKey(name: string, spkiDer: Uint8Array): string {
  return vkeyOf(name, ecdsaKeyId(spkiDer), signatureTypes.ecdsa, spkiDer)
}

/** The verifier key of a witness with this Ed25519 key. */
export function witnessVerifierKey(name: string, publicKey: KeyObject): string {
  const raw = rawEd25519(publicKey)
  return vkeyOf(name, prefixedKeyId(name, signatureTypes.cosignature, raw), signatureTypes.cosignature, raw)
}

function vkeyOf(name: string, keyId: Uint8Array, type: number, key: Uint8Array): string {
  const material = Buffer.concat([new Uint8Array([type]), key]).toString('base64')
  return `${name}+${Buffer.from(keyId).toString('hex')}+${material}`
}

function prefixedKeyId(name: string, type: number, key: Uint8Array): Uint8Array {
  const hash = createHash('sha256')
    .update(name)
    .update(new Uint8Array([0x0a, type]))
    .update(key)
  return hash.digest().subarray(0, KEY_ID_BYTES)
}

function rawEd25519(key: KeyObject): Uint8Array {
  return key.export({ type: 'spki', format: 'der' }).subarray(ED25519_SPKI_PREFIX.length)
}

/** A signer with a P-256 private key in memory. */
export function ecdsaSigner(name: string, privateKey: KeyObject): NoteSigner {
  const keyId = ecdsaKeyId(createPublicKey(privateKey).export({ type: 'spki', format: 'der' }))
  return { name, keyId, sign: async (text) => sign('sha256', text, privateKey) }
}

/** A signer of cosignatures with an Ed25519 private key in memory. `timeS`: seconds since the epoch, signed with the text. */
export function witnessSigner(name: string, privateKey: KeyObject, timeS: number): NoteSigner {
  const keyId = prefixedKeyId(name, signatureTypes.cosignature, rawEd25519(createPublicKey(privateKey)))
  return {
    name,
    keyId,
    sign: async (text) => {
      const timestamp = Buffer.alloc(TIMESTAMP_BYTES)
      timestamp.writeBigUInt64BE(BigInt(timeS))
      return Buffer.concat([timestamp, sign(null, cosignedMessage(String(timeS), text), privateKey)])
    },
  }
}

function cosignedMessage(time: string, text: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`cosignature/v1\ntime ${time}\n`), text])
}

/** Reads a verifier key (`name+id+key`). The error names what is wrong. */
export function parseVerifierKey(vkey: string): Result<NoteVerifier, string> {
  const [name = '', id = '', ...rest] = vkey.trim().split('+')
  // Base64 may contain plus signs.
  const material = decodeBase64(rest.join('+'))
  if (!isKeyName(name) || !/^[0-9a-f]{8}$/.test(id) || material === null || material.length < 2)
    return err('expected a verifier key: a name, 8 hexadecimal digits and a key in base64, separated by plus signs')
  const keyId = Buffer.from(id, 'hex')
  const [type = 0] = material
  const read = readKey(name, type, material.subarray(1))
  if (!read.ok) return read
  const { key, expectedId } = read.value
  if (!equalBytes(keyId, expectedId))
    return err(`the id ${id} is not that of the key, which is ${Buffer.from(expectedId).toString('hex')}`)
  const isValid =
    type === signatureTypes.cosignature
      ? (text: Uint8Array, signature: Uint8Array) => isValidCosignature(text, signature, key)
      : (text: Uint8Array, signature: Uint8Array) => isValidSignature(text, signature, key)
  return ok({ name, keyId, type, isValid })
}

function readKey(
  name: string,
  type: number,
  bytes: Uint8Array,
): Result<{ readonly key: KeyObject; readonly expectedId: Uint8Array }, string> {
  switch (type) {
    case signatureTypes.ecdsa: {
      const key = publicKeyFrom(bytes)
      return key?.asymmetricKeyDetails?.namedCurve === 'prime256v1'
        ? ok({ key, expectedId: ecdsaKeyId(bytes) })
        : err('the key is not a P-256 public key (SPKI, DER)')
    }
    case signatureTypes.ed25519:
    case signatureTypes.cosignature: {
      const key = bytes.length === ED25519_KEY_BYTES ? publicKeyFrom(Buffer.concat([ED25519_SPKI_PREFIX, bytes])) : null
      return key === null
        ? err('the key is not an Ed25519 public key of 32 bytes')
        : ok({ key, expectedId: prefixedKeyId(name, type, bytes) })
    }
    default:
      return err(`the signature type ${type} is not supported; expected 1 (Ed25519), 2 (P-256) or 4 (cosignature)`)
  }
}

function publicKeyFrom(spkiDer: Uint8Array): KeyObject | null {
  try {
    return createPublicKey({ key: Buffer.from(spkiDer), format: 'der', type: 'spki' })
  } catch {
    return null
  }
}

function isValidSignature(text: Uint8Array, signature: Uint8Array, key: KeyObject): boolean {
  try {
    return verify(key.asymmetricKeyType === 'ec' ? 'sha256' : null, text, key, signature)
  } catch {
    // Malformed DER.
    return false
  }
}

function isValidCosignature(text: Uint8Array, signature: Uint8Array, key: KeyObject): boolean {
  if (signature.length <= TIMESTAMP_BYTES) return false
  const time = Buffer.from(signature).readBigUInt64BE()
  if (time > COSIGNATURE_TIME_MAX) return false
  return isValidSignature(cosignedMessage(String(time), text), signature.subarray(TIMESTAMP_BYTES), key)
}
