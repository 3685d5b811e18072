// What issuers publish about themselves: their keys and where they tell about a user. Fetched when a token needs it, kept
// while it is fresh, renewed when a token names a key that is not among them, and relied on for a while when the issuer
// cannot be reached.
import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { type Clock, isWithin } from '../kernel/clock.ts'
import { parseJson } from '../kernel/json.ts'
import { isJsonObject } from '../kernel/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Upstream } from '../upstream/client.ts'

/** A key that the issuer takes back is taken for so long yet. */
const METADATA_FRESH_MS = 10 * 60 * 1000
/** How long an issuer that cannot be reached is believed by what it said last. */
const METADATA_STALE_MS = 24 * 60 * 60 * 1000
/** After a call that failed, an issuer is not called again for so long: its outage must not become ours. */
export const ISSUER_RETRY_MS = 10_000
/**
 * How often the keys of one issuer are read again because a token names a key that is not among them: so many times in
 * a row, and once more for each RENEWAL_MS that passes. Tokens with made-up keys must not become the issuer's load.
 */
const KEY_REFRESHES_MAX = 5
const KEY_REFRESH_MS = 5000
/** A key that was not there is not looked for again for so long, so that one stale token does not use up the renewals. */
const MISSING_KEY_MS = 10_000
const MISSING_KEYS_MAX = 100
const KEYS_MAX = 100
const ISSUERS_MAX = 1000

export type KeySet = ReturnType<typeof createLocalJWKSet>

/** The issuer cannot be asked now; the cause is in the log. */
export type IssuerUnavailable = 'unavailable'

export interface IssuerClientDeps {
  readonly upstream: Upstream
  readonly clock: Clock
  /** One answer of an issuer. */
  readonly timeMs: number
  readonly bytesMax: number
  readonly report: (line: string) => void
}

interface IssuerMetadata {
  readonly keys: KeySet
  readonly userinfoEndpoint: string | null
}

interface IssuerState {
  metadata: IssuerMetadata | null
  fetchedAtMs: number
  triedAtMs: number
  failed: boolean
  running: Promise<void> | null
  /** Renewals that are left, as of `countedAtMs`. */
  renewals: number
  countedAtMs: number
  /** When each of these keys was not there, by its id. */
  readonly missing: Map<string, number>
}

/** `isNew`: read for this call, so that reading it again at once would tell nothing. */
export interface IssuerKeys {
  readonly set: KeySet
  readonly isNew: boolean
}

export class Issuers {
  private readonly deps: IssuerClientDeps
  private readonly issuers = new Map<string, IssuerState>()

  constructor(parts: IssuerClientDeps) {
    this.deps = parts
  }

  async keys(issuer: string): Promise<Result<IssuerKeys, IssuerUnavailable>> {
    const before = this.stateOf(issuer).metadata
    const published = await this.metadata(issuer)
    return published === null ? err('unavailable') : ok({ set: published.keys, isNew: published !== before })
  }

  /**
   * Reads the keys again at once and returns them; returns `seen` if nothing changed or no renewal is left.
   * `kid`: the key that is missing there; null where the token names none.
   */
  async refreshedKeys(issuer: string, seen: KeySet, kid: string | null): Promise<Result<KeySet, IssuerUnavailable>> {
    const known = this.stateOf(issuer)
    if (known.metadata?.keys === seen) await this.renewFor(issuer, known, kid)
    if (known.metadata === null || (known.metadata.keys === seen && known.failed)) return err('unavailable')
    return ok(known.metadata.keys)
  }

  /** Null within: the issuer has none. */
  async userinfoEndpoint(issuer: string): Promise<Result<string | null, IssuerUnavailable>> {
    const published = await this.metadata(issuer)
    return published === null ? err('unavailable') : ok(published.userinfoEndpoint)
  }

  private async metadata(issuer: string): Promise<IssuerMetadata | null> {
    const known = this.stateOf(issuer)
    const isYoung = (spanMs: number): boolean => isWithin(this.deps.clock.now(), known.fetchedAtMs, spanMs)
    if (known.metadata === null || !isYoung(METADATA_FRESH_MS)) await this.renew(issuer, known)
    return isYoung(METADATA_STALE_MS) ? known.metadata : null
  }

  private stateOf(issuer: string): IssuerState {
    let known = this.issuers.get(issuer)
    if (known === undefined) {
      known = {
        metadata: null,
        fetchedAtMs: 0,
        triedAtMs: Number.NEGATIVE_INFINITY,
        failed: false,
        running: null,
        renewals: KEY_REFRESHES_MAX,
        countedAtMs: this.deps.clock.now(),
        missing: new Map(),
      }
      const [oldest] = this.issuers.keys()
      if (this.issuers.size >= ISSUERS_MAX && oldest !== undefined) this.issuers.delete(oldest)
      this.issuers.set(issuer, known)
    }
    return known
  }

  /** For a key that is not among those that are known. */
  private renewFor(issuer: string, known: IssuerState, kid: string | null): Promise<void> {
    if (known.running !== null) return known.running
    const now = this.deps.clock.now()
    if (known.failed && isWithin(now, known.triedAtMs, ISSUER_RETRY_MS)) return Promise.resolve()
    if (kid !== null && isWithin(now, known.missing.get(kid) ?? Number.NEGATIVE_INFINITY, MISSING_KEY_MS))
      return Promise.resolve()
    const gained = Math.floor((now - known.countedAtMs) / KEY_REFRESH_MS)
    // A clock that was set back gains nothing, and counts from there.
    if (gained < 0) known.countedAtMs = now
    else {
      known.renewals = Math.min(KEY_REFRESHES_MAX, known.renewals + gained)
      known.countedAtMs += gained * KEY_REFRESH_MS
    }
    if (known.renewals === 0) return Promise.resolve()
    known.renewals -= 1
    if (kid !== null) {
      if (known.missing.size >= MISSING_KEYS_MAX) known.missing.clear()
      known.missing.set(kid, now)
    }
    return this.call(issuer, known)
  }

  /** One call at a time, and none soon after another. */
  private renew(issuer: string, known: IssuerState): Promise<void> {
    if (known.running !== null) return known.running
    if (isWithin(this.deps.clock.now(), known.triedAtMs, ISSUER_RETRY_MS)) return Promise.resolve()
    return this.call(issuer, known)
  }

  private call(issuer: string, known: IssuerState): Promise<void> {
    known.running = this.fetch(issuer).then((fetched) => {
      known.running = null
      known.triedAtMs = this.deps.clock.now()
      known.failed = !fetched.ok
      if (fetched.ok) {
        known.metadata = fetched.value
        known.fetchedAtMs = known.triedAtMs
      } else this.deps.report(`the keys of the issuer ${issuer} could not be read: ${fetched.error}`)
    })
    return known.running
  }

  private async fetch(issuer: string): Promise<Result<IssuerMetadata, string>> {
    // OpenID Connect Discovery 1.0, section 4: one slash at the end is not doubled.
    const discovery = await this.read(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
    if (!discovery.ok) return discovery
    const { issuer: named, jwks_uri, userinfo_endpoint } = discovery.value
    if (named !== issuer) return err('its discovery document names another issuer')
    if (typeof jwks_uri !== 'string') return err('its discovery document names no keys')
    const jwks = await this.read(jwks_uri)
    if (!jwks.ok) return jwks
    const { keys } = jwks.value
    if (!Array.isArray(keys) || keys.length > KEYS_MAX) return err(`expected a set of at most ${KEYS_MAX} keys`)
    try {
      return ok({
        keys: createLocalJWKSet({ keys } as JSONWebKeySet),
        userinfoEndpoint: typeof userinfo_endpoint === 'string' ? userinfo_endpoint : null,
      })
    } catch {
      return err('expected a JWK set')
    }
  }

  private async read(url: string): Promise<Result<Record<string, unknown>, string>> {
    const { upstream, timeMs, bytesMax } = this.deps
    const headers = [['accept', 'application/json']] as const
    const answer = await upstream.send({ url, method: 'GET', headers, timeoutMs: timeMs, maxResponseBytes: bytesMax })
    if (!answer.ok) return err(`${url}: ${answer.error.message}`)
    if (answer.value.status !== 200) return err(`${url} answered ${answer.value.status}`)
    const object = parseJsonObject(answer.value.body)
    return object === null ? err(`${url}: expected a JSON object`) : ok(object)
  }
}

/** Null: not JSON, no object, or not one that everybody reads the same. Long integers are bigints: claims are compared. */
export function parseJsonObject(bytes: Uint8Array): Record<string, unknown> | null {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
  const parsed = parseJson(text, 'integers')
  return parsed.ok && isJsonObject(parsed.value) ? (parsed.value as Record<string, unknown>) : null
}
