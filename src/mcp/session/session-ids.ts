// Session ids that any process can read and none has to remember: project, issuer and subject are part of what is signed, and
// so is the time. However many are open, they cost nothing; what is kept are those that were ended before their time.
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'

/** Signs with a key that all processes of the data folder share. */
export interface SessionSigner {
  sign(text: string): string
  /** In a time that tells nothing of the right signature. */
  verify(text: string, signature: string): boolean
}

/** Sessions that were ended; every process sees what any of them has written. */
export interface EndedSessions {
  /** Another number: some session of some project may have ended since. */
  changeNumber(): number
  has(projectId: string, session: OpenSession): boolean
  add(projectId: string, session: OpenSession): Promise<void>
  sweep(isThere: (projectId: string) => boolean): Promise<void>
}

export interface OpenSession {
  readonly key: string
  readonly openedMs: number
  readonly expiresMs: number
  readonly revision: string
}

const SESSION_ID = /^([0-9a-z]{1,12})\.([0-9-]{10})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/

/** Ids that were looked at: beyond this all are looked at again. */
const CACHED_MAX = 10_000

export class SessionIds {
  /** By id and holder: what was found to be open at the moment. */
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

  /** `holder`: project, issuer and subject. */
  open(holder: string, revision: string): string {
    const key = randomBytes(16).toString('base64url')
    const content = `${this.clock.now().toString(36)}.${revision}.${key}`
    return `${content}.${this.signer.sign(`${content} ${holder}`)}`
  }

  /** Null: unknown, expired, ended, or somebody else's. */
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
    const [, opened, revision, key, signature] = SESSION_ID.exec(id) ?? []
    if (opened === undefined || revision === undefined || key === undefined || signature === undefined) return null
    if (!this.signer.verify(`${opened}.${revision}.${key} ${holder}`, signature)) return null
    const openedMs = Number.parseInt(opened, 36)
    const session = { key, openedMs, expiresMs: openedMs + this.lifetimeMs, revision }
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
