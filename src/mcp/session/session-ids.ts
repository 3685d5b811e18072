// Signed session ids: any process can verify them, and none stores them. The signature covers project, issuer, subject and
// time. Only sessions that were ended before they expired are stored.
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../kernel/time/clock.ts'

/** Signs with a key that all processes on the data folder share. */
export interface SessionSigner {
  sign(text: string): string
  /** Compares in constant time. */
  verify(text: string, signature: string): boolean
}

/** The ended sessions, shared by all processes on the data folder. */
export interface EndedSessions {
  /** Changes whenever a session may have ended. */
  changeNumber(): number
  has(projectId: string, session: OpenSession): boolean
  add(projectId: string, session: OpenSession): Promise<void>
  sweep(isThere: (projectId: string) => boolean): Promise<void>
}

/** The content of a valid session id. */
export interface OpenSession {
  readonly key: string
  readonly openedMs: number
  readonly expiresMs: number
  readonly protocolVersion: string
}

const SESSION_ID = /^([0-9a-z]{1,12})\.([0-9-]{10})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/

/** Maximum number of cached ids; at the limit the cache is cleared. */
const CACHED_MAX = 10_000

/** Issues, verifies and ends session ids. */
export class SessionIds {
  /** Verified sessions by id and holder. */
  private readonly cache = new Map<string, OpenSession>()
  private cacheChangeNumber = -1
  private readonly signer: SessionSigner
  private readonly clock: Clock
  private readonly lifetimeMs: number
  private readonly ended: EndedSessions

  constructor(signer: SessionSigner, clock: Clock, lifetimeMs: number, ended: EndedSessions) {
    this.signer = signer
    this.clock = clock
    this.lifetimeMs = lifetimeMs
    this.ended = ended
  }

  /** Returns a new session id. `holder`: project, issuer and subject, which the signature covers. */
  open(holder: string, protocolVersion: string): string {
    const key = randomBytes(16).toString('base64url')
    const content = `${this.clock.now().toString(36)}.${protocolVersion}.${key}`
    return `${content}.${this.signer.sign(`${content} ${holder}`)}`
  }

  /** The session of an id; null if it is invalid, expired, ended, or belongs to another holder. */
  read(id: string, projectId: string, holder: string): OpenSession | null {
    const moment = this.ended.changeNumber()
    if (moment !== this.cacheChangeNumber || this.cache.size >= CACHED_MAX) this.cache.clear()
    this.cacheChangeNumber = moment
    const key = `${id} ${holder}`
    const known = this.cache.get(key)
    if (known !== undefined) return this.clock.now() < known.expiresMs ? known : null
    const session = this.verify(id, projectId, holder)
    if (session !== null) this.cache.set(key, session)
    return session
  }

  private verify(id: string, projectId: string, holder: string): OpenSession | null {
    const [, opened, protocolVersion, key, signature] = SESSION_ID.exec(id) ?? []
    if (opened === undefined || protocolVersion === undefined || key === undefined || signature === undefined)
      return null
    if (!this.signer.verify(`${opened}.${protocolVersion}.${key} ${holder}`, signature)) return null
    const openedMs = Number.parseInt(opened, 36)
    const session = { key, openedMs, expiresMs: openedMs + this.lifetimeMs, protocolVersion }
    if (!(this.clock.now() < session.expiresMs)) return null
    return this.ended.has(projectId, session) ? null : session
  }

  sweep(isThere: (projectId: string) => boolean): Promise<void> {
    return this.ended.sweep(isThere)
  }

  end(projectId: string, session: OpenSession): Promise<void> {
    return this.ended.add(projectId, session)
  }
}
