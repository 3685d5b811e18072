// What issuers publish about themselves: their keys and where they tell about a user. Fetched when a token needs it, kept
// while it is fresh, renewed when a token names a key that is not among them, and relied on for a while when the issuer
// cannot be reached.
import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { type Clock, isWithin } from '../kernel/clock.ts'
import { isJsonObject } from '../kernel/found.ts'
import { parseJson } from '../kernel/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Upstream } from '../upstream/client.ts'

/** A key that the issuer takes back is taken for so long yet. */
const FRESH_MS = 10 * 60 * 1000
/** How long an issuer that cannot be reached is believed by what it said last. */
const KEPT_MS = 24 * 60 * 60 * 1000
/** After a call that failed, an issuer is not called again for so long: its outage must not become ours. */
export const PAUSE_MS = 10_000
/**
 * How often the keys of one issuer are read again because a token names a key that is not among them: so many times in
 * a row, and once more for each RENEWAL_MS that passes. Tokens with made-up keys must not become the issuer's load.
 */
const RENEWALS_MAX = 5
const RENEWAL_MS = 5000
/** A key that was not there is not looked for again for so long, so that one stale token does not use up the renewals. */
const MISSING_MS = 10_000
const MISSING_MAX = 100
const KEYS_MAX = 100
const ISSUERS_MAX = 1000

export type KeySet = ReturnType<typeof createLocalJWKSet>

/** The issuer cannot be asked now; the cause is in the log. */
export type Unavailable = 'unavailable'

export interface OutgoingParts {
  readonly upstream: Upstream
  readonly clock: Clock
  /** One answer of an issuer. */
  readonly timeMs: number
  readonly bytesMax: number
  readonly report: (line: string) => void
}

interface Published {
  readonly keys: KeySet
  readonly userinfoEndpoint: string | null
}

interface Known {
  published: Published | null
  publishedAtMs: number
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
export interface CurrentKeys {
  readonly set: KeySet
  readonly isNew: boolean
}

export class Issuers {
  private readonly parts: OutgoingParts
  private readonly known = new Map<string, Known>()

  constructor(parts: OutgoingParts) {
    this.parts = parts
  }

  async keys(issuer: string): Promise<Result<CurrentKeys, Unavailable>> {
    const before = this.of(issuer).published
    const published = await this.published(issuer)
    return published === null ? err('unavailable') : ok({ set: published.keys, isNew: published !== before })
  }

  /**
   * Reads the keys again at once and returns them; returns `seen` if nothing changed or no renewal is left.
   * `kid`: the key that is missing there; null where the token names none.
   */
  async keysAfter(issuer: string, seen: KeySet, kid: string | null): Promise<Result<KeySet, Unavailable>> {
    const known = this.of(issuer)
    if (known.published?.keys === seen) await this.renewFor(issuer, known, kid)
    if (known.published === null || (known.published.keys === seen && known.failed)) return err('unavailable')
    return ok(known.published.keys)
  }

  /** Null within: the issuer has none. */
  async userinfoEndpoint(issuer: string): Promise<Result<string | null, Unavailable>> {
    const published = await this.published(issuer)
    return published === null ? err('unavailable') : ok(published.userinfoEndpoint)
  }

  private async published(issuer: string): Promise<Published | null> {
    const known = this.of(issuer)
    const isYoung = (spanMs: number): boolean => isWithin(this.parts.clock.now(), known.publishedAtMs, spanMs)
    if (known.published === null || !isYoung(FRESH_MS)) await this.renew(issuer, known)
    return isYoung(KEPT_MS) ? known.published : null
  }

  private of(issuer: string): Known {
    let known = this.known.get(issuer)
    if (known === undefined) {
      known = {
        published: null,
        publishedAtMs: 0,
        triedAtMs: Number.NEGATIVE_INFINITY,
        failed: false,
        running: null,
        renewals: RENEWALS_MAX,
        countedAtMs: this.parts.clock.now(),
        missing: new Map(),
      }
      const [oldest] = this.known.keys()
      if (this.known.size >= ISSUERS_MAX && oldest !== undefined) this.known.delete(oldest)
      this.known.set(issuer, known)
    }
    return known
  }

  /** For a key that is not among those that are known. */
  private renewFor(issuer: string, known: Known, kid: string | null): Promise<void> {
    if (known.running !== null) return known.running
    const now = this.parts.clock.now()
    if (known.failed && isWithin(now, known.triedAtMs, PAUSE_MS)) return Promise.resolve()
    if (kid !== null && isWithin(now, known.missing.get(kid) ?? Number.NEGATIVE_INFINITY, MISSING_MS))
      return Promise.resolve()
    const gained = Math.floor((now - known.countedAtMs) / RENEWAL_MS)
    // A clock that was set back gains nothing, and counts from there.
    if (gained < 0) known.countedAtMs = now
    else {
      known.renewals = Math.min(RENEWALS_MAX, known.renewals + gained)
      known.countedAtMs += gained * RENEWAL_MS
    }
    if (known.renewals === 0) return Promise.resolve()
    known.renewals -= 1
    if (kid !== null) {
      if (known.missing.size >= MISSING_MAX) known.missing.clear()
      known.missing.set(kid, now)
    }
    return this.call(issuer, known)
  }

  /** One call at a time, and none soon after another. */
  private renew(issuer: string, known: Known): Promise<void> {
    if (known.running !== null) return known.running
    if (isWithin(this.parts.clock.now(), known.triedAtMs, PAUSE_MS)) return Promise.resolve()
    return this.call(issuer, known)
  }

  private call(issuer: string, known: Known): Promise<void> {
    known.running = this.fetch(issuer).then((fetched) => {
      known.running = null
      known.triedAtMs = this.parts.clock.now()
      known.failed = !fetched.ok
      if (fetched.ok) {
        known.published = fetched.value
        known.publishedAtMs = known.triedAtMs
      } else this.parts.report(`the keys of the issuer ${issuer} could not be read: ${fetched.error}`)
    })
    return known.running
  }

  private async fetch(issuer: string): Promise<Result<Published, string>> {
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
    const { upstream, timeMs, bytesMax } = this.parts
    const headers = [['accept', 'application/json']] as const
    const answer = await upstream.send({ url, method: 'GET', headers, timeMs, bytesMax })
    if (!answer.ok) return err(`${url}: ${answer.error.message}`)
    if (answer.value.status !== 200) return err(`${url} answered ${answer.value.status}`)
    const object = jsonObjectIn(answer.value.body)
    return object === null ? err(`${url}: expected a JSON object`) : ok(object)
  }
}

/** Null: not JSON, no object, or not one that everybody reads the same. Long integers are bigints: claims are compared. */
export function jsonObjectIn(bytes: Uint8Array): Record<string, unknown> | null {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
  const parsed = parseJson(text, 'integers')
  return parsed.ok && isJsonObject(parsed.value) ? (parsed.value as Record<string, unknown>) : null
}
