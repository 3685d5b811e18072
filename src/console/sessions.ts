// Sessions of the console: a browser acts as the service account that signed in. They are stored with the configuration, so that
// every process of the service knows them; rights and existence of the account are looked up at each request.
import { type ConfigWriter, organizationsKind, type StoredDocument } from '../config/kind.ts'
import type { Authentication } from '../http/authenticate.ts'
import type { HttpRequest } from '../http/route.ts'
import { FixedTokens } from '../identity/fixed-tokens.ts'
import { serviceAccountCredentialsKind, serviceAccountsKind } from '../identity/service-account.ts'
import type { ServiceAccountCaller, ServiceAccountRole } from '../kernel/request/caller.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import { isOwnOrigin } from './origin.ts'
import { csrfTokenOf, newSessionSecret, type SessionCookie, sessionId } from './session-cookie.ts'
import type { LinkGrant, SignInLink } from './sign-in-link.ts'

/** Kind name of sessions. */
const consoleSessionsKind = 'console-sessions'
/** Kind name of the links that were used. */
const usedLinksKind = 'console-used-links'

/** A session ends after this time, hours. */
const SESSION_HOURS = 8
/** The oldest session of an account ends when it has more. */
const SESSIONS_PER_ACCOUNT = 50

/** Collaborators of the sessions. */
interface SessionDeps {
  readonly documents: ConfigWriter
  readonly clock: Clock
  readonly cookie: SessionCookie
  /** The setting `public_url`; may be empty. */
  readonly publicUrl: string
}

/** A session of a browser. */
export interface ConsoleSession {
  readonly id: string
  readonly caller: ServiceAccountCaller
  readonly expiresAtMs: number
  /** For the header `X-CSRF-Token`. */
  readonly csrfToken: string
}

/** A new session, with its secret for the cookie. */
export interface OpenedSession {
  readonly secret: string
  readonly session: ConsoleSession
}

const expired: Authentication = {
  ok: false,
  error: { kind: 'unauthenticated', message: 'the console session has ended: sign in again' },
  refused: { kind: 'console-session', reason: 'the session is unknown or expired' },
}

/** Opens, finds and ends sessions. */
export class ConsoleSessions {
  private readonly deps: SessionDeps

  constructor(deps: SessionDeps) {
    this.deps = deps
  }

  /**
   * Authenticates a request by its cookie as if it had the token of the account. Null: it has no cookie of a session. A change also
   * needs the token against forged requests, and must come from a page of this service.
   */
  authenticate(request: HttpRequest): Authentication | null {
    const secret = this.deps.cookie.read(request.header('cookie'))
    if (secret === null) return null
    const session = this.find(secret)
    if (session === null) return expired
    const { caller } = session
    const message = this.forgeryOf(request, session)
    return message === null ? { ok: true, value: caller } : { ok: false, error: { kind: 'forbidden', message }, caller }
  }

  /** The session of a secret; null: it has ended. */
  find(secret: string): ConsoleSession | null {
    const { documents, clock } = this.deps
    const document = documents.get(consoleSessionsKind, sessionId(secret))
    if (document === null) return null
    const expiresAtMs = expiryOf(document)
    const caller = this.callerOf(document.parent_id, document.fields.key_id as string | null)
    if (caller === null || expiresAtMs <= clock.now()) return null
    return { id: document.id, caller, expiresAtMs, csrfToken: csrfTokenOf(secret) }
  }

  /** The session of the cookie of a request; null: none. */
  findByCookie(header: string | null): ConsoleSession | null {
    const secret = this.deps.cookie.read(header)
    return secret === null ? null : this.find(secret)
  }

  /** Opens a session for an account, and ends `replaced`. Null: the account or its credential does not exist. */
  async open(grant: LinkGrant, replaced: ConsoleSession | null): Promise<OpenedSession | null> {
    return this.store(grant, null, replaced)
  }

  /** Opens a session for the account of a link, and ends `replaced`. Null: the link was used, or the account does not exist. */
  async redeem(link: SignInLink, replaced: ConsoleSession | null): Promise<OpenedSession | null> {
    return this.store(link, link, replaced)
  }

  /** Ends a session. */
  async end({ id }: ConsoleSession): Promise<void> {
    await this.deps.documents.write((draft) => draft.remove(consoleSessionsKind, id))
  }

  private async store(
    grant: LinkGrant,
    link: SignInLink | null,
    replaced: ConsoleSession | null,
  ): Promise<OpenedSession | null> {
    const { documents, clock } = this.deps
    const caller = this.callerOf(grant.accountId, grant.keyId)
    if (caller === null) return null
    const now = clock.now()
    const expiresAtMs = Math.min(now + SESSION_HOURS * 3_600_000, grant.sessionEndMs ?? Number.POSITIVE_INFINITY)
    const secret = newSessionSecret()
    const id = sessionId(secret)
    const common = {
      revision: 1,
      organization_id: caller.organizationId,
      project_id: '',
      parent_id: caller.serviceAccountId,
      name: '',
      create_time: timestamp(now),
      created_by: caller.serviceAccountId,
      update_time: timestamp(now),
      updated_by: caller.serviceAccountId,
    }
    const isStored = await documents.write((draft) => {
      if (link !== null && draft.get(usedLinksKind, link.id) !== null) return false
      for (const kind of [usedLinksKind, consoleSessionsKind])
        for (const document of draft.all(kind)) if (expiryOf(document) <= now) draft.remove(kind, document.id)
      if (replaced !== null && draft.get(consoleSessionsKind, replaced.id) !== null)
        draft.remove(consoleSessionsKind, replaced.id)
      const others = draft.children(consoleSessionsKind, caller.serviceAccountId)
      const surplus = others.length + 1 - SESSIONS_PER_ACCOUNT
      const oldest = [...others].sort((a, b) => (a.create_time < b.create_time ? -1 : 1)).slice(0, Math.max(0, surplus))
      for (const document of oldest) draft.remove(consoleSessionsKind, document.id)
      const expiring = (kind: string, key: string, timeMs: number, more: object): StoredDocument => ({
        ...common,
        kind,
        id: key,
        fields: { expire_time: timestamp(timeMs), ...more },
      })
      if (link !== null) draft.put(expiring(usedLinksKind, link.id, link.expiresAtMs, {}))
      draft.put(expiring(consoleSessionsKind, id, expiresAtMs, { key_id: grant.keyId }))
      return true
    })
    if (!isStored) return null
    return { secret, session: { id, caller, expiresAtMs, csrfToken: csrfTokenOf(secret) } }
  }

  private callerOf(accountId: string, keyId: string | null): ServiceAccountCaller | null {
    const { documents, clock } = this.deps
    const account = documents.get(serviceAccountsKind, accountId)
    if (account === null || documents.get(organizationsKind, account.organization_id) === null) return null
    if (keyId !== null) {
      const credential = documents.get(serviceAccountCredentialsKind, keyId)
      if (credential === null || expiryOf(credential) <= clock.now()) return null
    }
    return {
      kind: 'service-account',
      serviceAccountId: account.id,
      organizationId: account.organization_id,
      ...(keyId !== null && { keyId }),
      role: account.fields.role as ServiceAccountRole,
    }
  }

  /** Why a request may not come from a page of this service; null: it does, or it only reads. */
  private forgeryOf(request: HttpRequest, { csrfToken }: ConsoleSession): string | null {
    const site = request.header('sec-fetch-site')
    if (site !== null && site !== 'same-origin' && site !== 'none')
      return 'a request with a console session must come from the console'
    // Browsers do not send the header above to plain http on other machines.
    if (request.header('origin') !== null && !isOwnOrigin(request, this.deps.publicUrl))
      return 'Origin: a request with a console session must come from the console'
    if (request.method === 'GET' || request.method === 'HEAD') return null
    if (!isOwnOrigin(request, this.deps.publicUrl))
      return 'Origin: a change with a console session must come from the console'
    if (!new FixedTokens(csrfToken).accepts(request.header('x-csrf-token') ?? ''))
      return 'X-CSRF-Token: a change with a console session requires the token of the session'
    return null
  }
}

/** Infinity for a document without expiry. */
function expiryOf({ fields }: StoredDocument): number {
  return typeof fields.expire_time === 'string' ? Date.parse(fields.expire_time) : Number.POSITIVE_INFINITY
}
