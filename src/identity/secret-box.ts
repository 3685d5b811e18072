// Keeps secrets at rest (ruling F4): each one is encrypted with a key of its own, which is encrypted with the master key.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import type { Sealer } from '../config/kind.ts'
import { OperationalError } from '../kernel/errors.ts'

const VERSION = 'sb1'
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
export const MASTER_KEY_BYTES = 32

interface MasterKey {
  readonly bytes: Uint8Array
  /** Tells a wrong master key from a damaged text. */
  readonly id: string
}

/** A sealed text reads `sb1.<id of the master key>.<wrapped key>.<ciphertext>`, all of it URL-safe. */
export class SecretBox implements Sealer {
  private readonly primary: MasterKey
  private readonly keys: ReadonlyMap<string, MasterKey>

  /** Seals with the first key, opens with any: while a key is replaced, both are known. */
  constructor(masterKey: Uint8Array, others: readonly Uint8Array[] = []) {
    this.primary = masterKeyOf(masterKey)
    this.keys = new Map([this.primary, ...others.map(masterKeyOf)].map((key) => [key.id, key]))
  }

  seal(plain: string, place: string): string {
    const key = randomBytes(32)
    return this.sealedText(key, encrypt(key, Buffer.from(plain, 'utf8'), place), place)
  }

  open(sealed: string, place: string): string {
    const { key, text } = this.unwrap(sealed, place)
    return decrypt(key, text, place).toString('utf8')
  }

  /** Under the first key, what another one sealed; null when it is so already. Throws as `open` does. */
  rewrap(sealed: string, place: string): string | null {
    const { key, text, by } = this.unwrap(sealed, place)
    decrypt(key, text, place)
    return by === this.primary ? null : this.sealedText(key, text, place)
  }

  private sealedText(key: Uint8Array, text: Buffer, place: string): string {
    const wrapped = encrypt(this.primary.bytes, key, `key of ${place}`)
    return [VERSION, this.primary.id, wrapped.toString('base64url'), text.toString('base64url')].join('.')
  }

  private unwrap(sealed: string, place: string): { key: Buffer; text: Buffer; by: MasterKey } {
    const [version, keyId, wrapped, text, ...rest] = sealed.split('.')
    if (version !== VERSION || wrapped === undefined || text === undefined || rest.length > 0) {
      throw new Error(`what is kept at ${place} is not a sealed secret`)
    }
    const by = this.keys.get(keyId ?? '')
    if (by === undefined) throw new OperationalError(`the secret at ${place} was sealed with another master key`)
    const key = decrypt(by.bytes, Buffer.from(wrapped, 'base64url'), `key of ${place}`)
    return { key, text: Buffer.from(text, 'base64url'), by }
  }
}

/** Whether a text was sealed, or somebody wrote one that looks so. */
export function isSealedText(text: string): boolean {
  return text.startsWith(`${VERSION}.`)
}

function masterKeyOf(bytes: Uint8Array): MasterKey {
  if (bytes.length !== MASTER_KEY_BYTES) throw new Error(`a master key has ${MASTER_KEY_BYTES} bytes`)
  const id = createHash('sha256').update('master key id').update(bytes).digest('base64url').slice(0, 11)
  return { bytes, id }
}

/** nonce · ciphertext · tag */
function encrypt(key: Uint8Array, plain: Uint8Array, place: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce)
  cipher.setAAD(Buffer.from(place, 'utf8'))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function decrypt(key: Uint8Array, box: Buffer, place: string): Buffer {
  if (box.length < NONCE_BYTES + TAG_BYTES) throw new Error(`the secret at ${place} is damaged`)
  const decipher = createDecipheriv(CIPHER, key, box.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(place, 'utf8'))
  decipher.setAuthTag(box.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(box.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  } catch {
    throw new Error(`the secret at ${place} is damaged or belongs elsewhere`)
  }
}
