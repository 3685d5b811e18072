// One-time links to sign in to the console. A link names an account and is signed with a key derived from the master key, so that a
// command can make one without writing to the folder of a running service. The service stores the ids of used links.
import { randomBytes } from 'node:crypto'
import { DerivedSigner } from '../identity/derived-signer.ts'

/** A link is valid for this time, seconds. */
export const LINK_LIFETIME_S = 120

/** The account that signs in, and limits of its session. */
export interface LinkGrant {
  /** Id of the service account. */
  readonly accountId: string
  /** The credential whose deletion ends the session; null: none. */
  readonly keyId: string | null
  /** The session ends at this time at the latest, in milliseconds since the epoch; null: no such limit. */
  readonly sessionEndMs: number | null
}

/** A verified link. */
export interface SignInLink extends LinkGrant {
  /** Different for each link. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number
}

type LinkParts = readonly [id: string, expiresAtMs: number, accountId: string, keyId: string, sessionEndMs: number]

const ID_BYTES = 18

/** Creates and verifies the secrets of links. */
export class SignInLinks {
  private readonly signer: DerivedSigner

  constructor(masterKey: Uint8Array) {
    this.signer = new DerivedSigner(masterKey, 'console links')
  }

  /** Returns the secret of a new link. */
  create({ accountId, keyId, sessionEndMs }: LinkGrant, nowMs: number): string {
    const id = randomBytes(ID_BYTES).toString('base64url')
    const parts: LinkParts = [id, nowMs + LINK_LIFETIME_S * 1000, accountId, keyId ?? '', sessionEndMs ?? 0]
    const text = Buffer.from(JSON.stringify(parts)).toString('base64url')
    return `${text}.${this.signer.sign(text)}`
  }

  /** Returns the link of a secret; null: it is expired, or this service has not made it. */
  verify(secret: string, nowMs: number): SignInLink | null {
    const [text = '', signature = '', ...rest] = secret.split('.')
    if (rest.length > 0 || !this.signer.verify(text, signature)) return null
    const [id, expiresAtMs, accountId, keyId, sessionEndMs] = JSON.parse(
      Buffer.from(text, 'base64url').toString(),
    ) as LinkParts
    if (expiresAtMs <= nowMs) return null
    return {
      id,
      expiresAtMs,
      accountId,
      keyId: keyId === '' ? null : keyId,
      sessionEndMs: sessionEndMs === 0 ? null : sessionEndMs,
    }
  }
}

/** The address to open. The secret is in the fragment, which browsers do not send: no log and no proxy sees it. */
export function linkAddress(baseUrl: string, secret: string): string {
  return `${baseUrl}/console#link=${secret}`
}
