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
/** Between two calls of one issuer: tokens with made-up keys must not become its load, nor its outage ours. */
export const PAUSE_MS = 10_000
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
}

export class Issuers {
  private readonly parts: OutgoingParts
  private readonly known = new Map<string, Known>()

  constructor(parts: OutgoingParts) {
    this.parts = parts
  }

  async keys(issuer: string): Promise<Result<KeySet, Unavailable>> {
    const published = await this.published(issuer)
    return published === null ? err('unavailable') : ok(published.keys)
  }

  /** Keys that may have come since `seen`; `seen` itself where there are none, or it was asked a moment ago. */
  async keysAfter(issuer: string, seen: KeySet): Promise<Result<KeySet, Unavailable>> {
    const known = this.of(issuer)
    if (known.published?.keys === seen) await this.renew(issuer, known)
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
      known = { published: null, publishedAtMs: 0, triedAtMs: Number.NEGATIVE_INFINITY, failed: false, running: null }
      const [oldest] = this.known.keys()
      if (this.known.size >= ISSUERS_MAX && oldest !== undefined) this.known.delete(oldest)
      this.known.set(issuer, known)
    }
    return known
  }

  /** One call at a time, and none soon after another. */
  private renew(issuer: string, known: Known): Promise<void> {
    if (known.running !== null) return known.running
    if (isWithin(this.parts.clock.now(), known.triedAtMs, PAUSE_MS)) return Promise.resolve()
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
