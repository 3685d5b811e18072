// The cookie of a console session. Its value is a random secret; the service stores only the hash.
import { createHash, randomBytes } from 'node:crypto'

const SECRET_BYTES = 32
/** Longer values are not looked up. */
const SECRET_PATTERN = /^[A-Za-z0-9_-]{43}$/

/** Returns a new secret of a session. */
export function newSessionSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** The id under which a session is stored. */
export function sessionId(secret: string): string {
  return createHash('sha256').update(`console session ${secret}`).digest('base64url')
}

/** The token that a page sends with each change: only a page that can read answers of this service knows it. */
export function csrfTokenOf(secret: string): string {
  return createHash('sha256').update(`console csrf ${secret}`).digest('base64url')
}

/** The cookie of one service. */
export class SessionCookie {
  /**
   * Browsers send cookies to every port of a host: the organization in the name keeps two services on one host apart. The prefix
   * `__Host-` makes browsers refuse such a cookie from another host or without TLS.
   */
  private readonly name: string
  private readonly attributes: string

  /** `isSecure`: browsers reach the service by https only. */
  constructor(organizationId: string, isSecure: boolean) {
    const suffix = createHash('sha256').update(organizationId).digest('hex').slice(0, 12)
    this.name = `${isSecure ? '__Host-' : ''}verdigraph-console-${suffix}`
    this.attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  }

  /** The secret in the header `Cookie`; null: none. */
  read(header: string | null): string | null {
    if (header === null) return null
    for (const pair of header.split(';')) {
      const [name = '', value = ''] = pair.trim().split('=')
      if (name === this.name) return SECRET_PATTERN.test(value) ? value : ''
    }
    return null
  }

  /** The header `Set-Cookie` of a new session. */
  set(secret: string, lifetimeS: number): string {
    return `${this.name}=${secret}; Max-Age=${lifetimeS}; ${this.attributes}`
  }

  /** The header `Set-Cookie` that deletes the cookie. */
  clear(): string {
    return `${this.name}=; Max-Age=0; ${this.attributes}`
  }
}
