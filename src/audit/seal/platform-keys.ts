// The platform keys: P-256 keys that sign all logs of a data folder. One is in use; a rotation replaces it. A replaced key signs the
// last checkpoint of each log together with its successor, and its private part is deleted afterwards.
import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'
import type { Sealer } from '../../config/kind.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditSigningKey } from '../../store/audit/audit-types.ts'
import { ecdsaSigner, type NoteSigner } from '../log/signed-note.ts'

/** A platform key that can sign. */
export interface PlatformKey {
  readonly kid: string
  /** A signature of a text: ECDSA on P-256 with SHA-256, DER in base64. */
  sign(text: string): string
  /** The signer of notes. `name`: the origin of the log. */
  noteSigner(name: string): NoteSigner
}

/** The result of a rotation. */
export interface RotatedPlatformKey {
  readonly kid: string
  /** The replaced key; null: there was no key. */
  readonly before: string | null
}

/** The path that authenticates the encrypted private key. */
export function platformKeyPath(kid: string): string {
  return `audit/keys/${kid}`
}

/** The platform keys of a data folder. */
export class PlatformKeys {
  private readonly index: AuditIndex
  private readonly sealer: Sealer
  private readonly clock: Clock
  private readonly opened = new Map<string, PlatformKey>()
  private generating: Promise<RotatedPlatformKey> | null = null

  constructor(index: AuditIndex, sealer: Sealer, clock: Clock) {
    this.index = index
    this.sealer = sealer
    this.clock = clock
  }

  /** The key in use. Generates the first one. */
  async current(): Promise<PlatformKey> {
    if (this.stored() === null) {
      // Several logs are sealed at the same time, and all need the same key.
      this.generating ??= this.rotate()
      await this.generating.finally(() => {
        this.generating = null
      })
    }
    return this.open(this.stored() as AuditSigningKey)
  }

  /** The stored form of the key in use; null: there was no key yet. */
  stored(): AuditSigningKey | null {
    return this.index.keys().findLast(({ retiredMs }) => retiredMs === null) ?? null
  }

  /** A replaced key, as long as its private part exists; otherwise null. */
  retired(kid: string): PlatformKey | null {
    const stored = this.index.keys().find((key) => key.kid === kid && key.sealedPrivate !== '')
    return stored === undefined ? null : this.open(stored)
  }

  /** Generates a key, which is in use from now on. */
  async rotate(): Promise<RotatedPlatformKey> {
    const createdMs = this.clock.now()
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const kid = thumbprint(publicKey)
    const key: AuditSigningKey = {
      kid,
      spki: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
      sealedPrivate: this.sealer.seal(JSON.stringify(privateKey.export({ format: 'jwk' })), platformKeyPath(kid)),
      createdMs,
      retiredMs: null,
    }
    let before: string | null = null
    await this.index.write((edits) => {
      // Read in the transaction: another process may rotate at the same time.
      const keys = edits.keys()
      const old = keys.filter(({ retiredMs }) => retiredMs === null)
      before = old.at(-1)?.kid ?? null
      // The order of creation is the order of use, also if the clock was set back.
      const afterMs = Math.max(createdMs, ...keys.map((each) => each.createdMs + 1))
      for (const each of old) edits.putKey({ ...each, retiredMs: afterMs })
      edits.putKey({ ...key, createdMs: afterMs })
    })
    return { kid, before }
  }

  /**
   * Deletes the private parts of the keys that were used before a key. Call it when each log has a checkpoint of that key: a key
   * that replaced it since still needs its private part.
   */
  async forgetBefore({ createdMs: untilMs }: Pick<AuditSigningKey, 'createdMs'>): Promise<void> {
    const isForgotten = ({ createdMs, sealedPrivate }: AuditSigningKey): boolean =>
      createdMs < untilMs && sealedPrivate !== ''
    if (!this.index.keys().some(isForgotten)) return
    await this.index.write((edits) => {
      for (const key of edits.keys().filter(isForgotten)) {
        edits.putKey({ ...key, sealedPrivate: '' })
        this.opened.delete(key.kid)
      }
    })
  }

  private open({ kid, sealedPrivate }: AuditSigningKey): PlatformKey {
    let key = this.opened.get(kid)
    if (key === undefined) {
      const jwk = JSON.parse(this.sealer.open(sealedPrivate, platformKeyPath(kid)))
      const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
      key = {
        kid,
        sign: (text) => sign('sha256', Buffer.from(text), privateKey).toString('base64'),
        noteSigner: (name) => ecdsaSigner(name, privateKey),
      }
      this.opened.set(kid, key)
    }
    return key
  }
}

/** The public key of a stored key. */
export function publicKeyOf({ spki }: Pick<AuditSigningKey, 'spki'>): KeyObject {
  return createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' })
}

/** RFC 7638. */
function thumbprint(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' })
  return hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url')
}
