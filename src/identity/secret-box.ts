// Keeps secrets at rest (ruling F4): each one is encrypted with a key of its own, which is encrypted with the master key.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import type { Sealer } from '../config/kind.ts'
import { OperatorFault } from '../kernel/errors.ts'

const VERSION = 'sb1'
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
export const MASTER_KEY_BYTES = 32

/** A sealed text reads `sb1.<id of the master key>.<wrapped key>.<ciphertext>`, all of it URL-safe. */
export class SecretBox implements Sealer {
  private readonly masterKey: Uint8Array
  /** Tells a wrong master key from a damaged text. */
  private readonly keyId: string

  constructor(masterKey: Uint8Array) {
    if (masterKey.length !== MASTER_KEY_BYTES) throw new Error(`a master key has ${MASTER_KEY_BYTES} bytes`)
    this.masterKey = masterKey
    this.keyId = createHash('sha256').update('master key id').update(masterKey).digest('base64url').slice(0, 11)
  }

  seal(plain: string, place: string): string {
    const key = randomBytes(32)
    const wrapped = encrypt(this.masterKey, key, `key of ${place}`)
    const text = encrypt(key, Buffer.from(plain, 'utf8'), place)
    return [VERSION, this.keyId, wrapped.toString('base64url'), text.toString('base64url')].join('.')
  }

  open(sealed: string, place: string): string {
    const [version, keyId, wrapped, text, ...rest] = sealed.split('.')
    if (version !== VERSION || wrapped === undefined || text === undefined || rest.length > 0) {
      throw new Error(`what is kept at ${place} is not a sealed secret`)
    }
    if (keyId !== this.keyId) throw new OperatorFault(`the secret at ${place} was sealed with another master key`)
    const key = decrypt(this.masterKey, Buffer.from(wrapped, 'base64url'), `key of ${place}`)
    return decrypt(key, Buffer.from(text, 'base64url'), place).toString('utf8')
  }
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
