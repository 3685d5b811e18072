// Encrypts secrets at rest by envelope encryption: each secret has a key of its own, which is encrypted with the master
// key (docs/decisions/0013-secrets.md).
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import type { Sealer } from '../config/kind.ts'
import { OperationalError } from '../kernel/errors.ts'

const VERSION = 'sb1'
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Length of a master key, bytes. */
export const MASTER_KEY_BYTES = 32

interface MasterKey {
  readonly bytes: Uint8Array
  /** Distinguishes a wrong master key from a damaged text. */
  readonly id: string
}

/**
 * Envelope encryption with AES-256-GCM. An encrypted text reads `sb1.<id of the master key>.<wrapped key>.<ciphertext>`
 * and is URL-safe. The path of the secret is authenticated as additional data.
 */
export class SecretBox implements Sealer {
  private readonly primary: MasterKey
  private readonly keys: ReadonlyMap<string, MasterKey>

  /** Encrypts with `masterKey` and decrypts with any key: during a rotation both are known. */
  constructor(masterKey: Uint8Array, others: readonly Uint8Array[] = []) {
    this.primary = masterKeyOf(masterKey)
    this.keys = new Map([this.primary, ...others.map(masterKeyOf)].map((key) => [key.id, key]))
  }

  seal(plain: string, path: string): string {
    const key = randomBytes(32)
    return this.sealedText(key, encrypt(key, Buffer.from(plain, 'utf8'), path), path)
  }

  open(sealed: string, path: string): string {
    const { key, text } = this.unwrap(sealed, path)
    return decrypt(key, text, path).toString('utf8')
  }

  /** Encrypts the secret's key again under the first master key; null if it is already. Throws as `open` does. */
  rewrap(sealed: string, path: string): string | null {
    const { key, text, by } = this.unwrap(sealed, path)
    decrypt(key, text, path)
    return by === this.primary ? null : this.sealedText(key, text, path)
  }

  private sealedText(key: Uint8Array, text: Buffer, path: string): string {
    const wrapped = encrypt(this.primary.bytes, key, `key of ${path}`)
    return [VERSION, this.primary.id, wrapped.toString('base64url'), text.toString('base64url')].join('.')
  }

  private unwrap(sealed: string, path: string): { key: Buffer; text: Buffer; by: MasterKey } {
    const [version, keyId, wrapped, text, ...rest] = sealed.split('.')
    if (version !== VERSION || wrapped === undefined || text === undefined || rest.length > 0) {
      throw new Error(`the value at ${path} is not an encrypted secret`)
    }
    const by = this.keys.get(keyId ?? '')
    if (by === undefined) throw new OperationalError(`the secret at ${path} was encrypted with another master key`)
    const key = decrypt(by.bytes, Buffer.from(wrapped, 'base64url'), `key of ${path}`)
    return { key, text: Buffer.from(text, 'base64url'), by }
  }
}

/** Whether a text has the form of an encrypted secret. A caller may have written such a text. */
export function isSealedText(text: string): boolean {
  return text.startsWith(`${VERSION}.`)
}

function masterKeyOf(bytes: Uint8Array): MasterKey {
  if (bytes.length !== MASTER_KEY_BYTES) throw new Error(`a master key has ${MASTER_KEY_BYTES} bytes`)
  const id = createHash('sha256').update('master key id').update(bytes).digest('base64url').slice(0, 11)
  return { bytes, id }
}

/** Returns nonce, ciphertext and tag. */
function encrypt(key: Uint8Array, plain: Uint8Array, path: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce)
  cipher.setAAD(Buffer.from(path, 'utf8'))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function decrypt(key: Uint8Array, box: Buffer, path: string): Buffer {
  if (box.length < NONCE_BYTES + TAG_BYTES) throw new Error(`the secret at ${path} is damaged`)
  const decipher = createDecipheriv(CIPHER, key, box.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(path, 'utf8'))
  decipher.setAuthTag(box.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(box.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  } catch {
    throw new Error(`the secret at ${path} is damaged or was moved from another path`)
  }
}
