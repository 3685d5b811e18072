// Reads what OpenID Connect issuers publish: their signing keys and their user-info endpoint. Results are fetched on
// demand and cached. A token with an unknown key id triggers a refresh, and stale results are used while an issuer is
// unreachable.
import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { LRUCache } from 'lru-cache'
import { parseJson } from '../kernel/json/json.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { decodeUtf8 } from '../kernel/text/utf8.ts'
import { type Clock, isWithin } from '../kernel/time/clock.ts'
import type { Upstream } from '../upstream/client.ts'

/** Metadata is fresh for this time. A revoked key is accepted for up to this long. */
const METADATA_FRESH_MS = 10 * 60 * 1000
/** Metadata of an unreachable issuer is used for this time. */
const METADATA_STALE_MS = 24 * 60 * 60 * 1000
/** Pause after a failed call, so that an outage of the issuer does not slow down this service. */
export const ISSUER_RETRY_MS = 10_000
/**
 * Token bucket for refreshes caused by unknown key ids, per issuer: this many in a row, and one more for each
 * KEY_REFRESH_MS. Tokens with invented key ids must not load the issuer.
 */
const KEY_REFRESHES_MAX = 5
const KEY_REFRESH_MS = 5000
/**
 * A key id that was not found is not looked up again for this time, so that one stale token does not use up the
 * refreshes.
 */
const MISSING_KEY_MS = 10_000
const MISSING_KEYS_MAX = 100
const KEYS_MAX = 100
const ISSUERS_MAX = 1000

/** A JSON Web Key Set of jose. */
export type KeySet = ReturnType<typeof createLocalJWKSet>

/** The issuer is unreachable; the cause is logged. */
export type IssuerUnavailable = 'unavailable'

/** Collaborators and limits of calls to issuers. */
export interface IssuerClientDeps {
  readonly upstream: Upstream
  readonly clock: Clock
  /** Time limit of one call, milliseconds. */
  readonly timeoutMs: number
  /** Size limit of one response, bytes. */
  readonly maxBytes: number
  /** Writes one line to the operator's log. */
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
  /** Refreshes that are left at `countedAtMs`. */
  refreshesLeft: number
  countedAtMs: number
  /** When each missing key id was last looked up. */
  readonly missing: LRUCache<string, number>
}

/** The keys of an issuer. `isNew`: fetched for this call, so an immediate refresh would return the same. */
export interface IssuerKeys {
  readonly set: KeySet
  readonly isNew: boolean
}

/** A cache of issuer metadata. */
export class Issuers {
  private readonly deps: IssuerClientDeps
  private readonly issuers = new LRUCache<string, IssuerState>({ max: ISSUERS_MAX })

  constructor(deps: IssuerClientDeps) {
    this.deps = deps
  }

  /** Returns the current keys of an issuer. Errors: `unavailable`. */
  async keys(issuer: string): Promise<Result<IssuerKeys, IssuerUnavailable>> {
    const before = this.stateOf(issuer).metadata
    const metadata = await this.metadata(issuer)
    return metadata === null ? err('unavailable') : ok({ set: metadata.keys, isNew: metadata !== before })
  }

  /**
   * Refreshes the keys after a lookup failed in `seen`. Returns `seen` if nothing changed. `kid`: the missing key id; null if the
   * token has none.
   * Errors: `unavailable` if the refresh failed, or if the refresh limit is reached: the issuer may have the key.
   */
  async refreshedKeys(issuer: string, seen: KeySet, kid: string | null): Promise<Result<KeySet, IssuerUnavailable>> {
    const state = this.stateOf(issuer)
    const isAsked = state.metadata?.keys !== seen || (await this.refreshForMissingKey(issuer, state, kid))
    if (state.metadata === null || (state.metadata.keys === seen && (state.failed || !isAsked)))
      return err('unavailable')
    return ok(state.metadata.keys)
  }

  /** Returns the user-info endpoint of the issuer; null if it has none. Errors: `unavailable`. */
  async userinfoEndpoint(issuer: string): Promise<Result<string | null, IssuerUnavailable>> {
    const metadata = await this.metadata(issuer)
    return metadata === null ? err('unavailable') : ok(metadata.userinfoEndpoint)
  }

  private async metadata(issuer: string): Promise<IssuerMetadata | null> {
    const state = this.stateOf(issuer)
    const isYounger = (spanMs: number): boolean => isWithin(this.deps.clock.now(), state.fetchedAtMs, spanMs)
    if (state.metadata === null || !isYounger(METADATA_FRESH_MS)) await this.refreshIfDue(issuer, state)
    return isYounger(METADATA_STALE_MS) ? state.metadata : null
  }

  private stateOf(issuer: string): IssuerState {
    let state = this.issuers.get(issuer)
    if (state === undefined) {
      state = {
        metadata: null,
        fetchedAtMs: 0,
        triedAtMs: Number.NEGATIVE_INFINITY,
        failed: false,
        running: null,
        refreshesLeft: KEY_REFRESHES_MAX,
        countedAtMs: this.deps.clock.now(),
        missing: new LRUCache({ max: MISSING_KEYS_MAX }),
      }
      this.issuers.set(issuer, state)
    }
    return state
  }

  /** Refreshes because of an unknown key id, within the limits. Returns whether the issuer was asked for this key id, now or recently. */
  private async refreshForMissingKey(issuer: string, state: IssuerState, kid: string | null): Promise<boolean> {
    if (state.running !== null) {
      await state.running
      return true
    }
    const now = this.deps.clock.now()
    if (state.failed && isWithin(now, state.triedAtMs, ISSUER_RETRY_MS)) return false
    if (kid !== null && isWithin(now, state.missing.get(kid) ?? Number.NEGATIVE_INFINITY, MISSING_KEY_MS)) return true
    const gained = Math.floor((now - state.countedAtMs) / KEY_REFRESH_MS)
    // If the clock was set back, count from the new time.
    if (gained < 0) state.countedAtMs = now
    else {
      state.refreshesLeft = Math.min(KEY_REFRESHES_MAX, state.refreshesLeft + gained)
      state.countedAtMs += gained * KEY_REFRESH_MS
    }
    if (state.refreshesLeft === 0) return false
    state.refreshesLeft -= 1
    if (kid !== null) state.missing.set(kid, now)
    await this.fetchAndStore(issuer, state)
    return true
  }

  /** Refreshes stale metadata: one call at a time, with a pause between calls. */
  private refreshIfDue(issuer: string, state: IssuerState): Promise<void> {
    if (state.running !== null) return state.running
    if (isWithin(this.deps.clock.now(), state.triedAtMs, ISSUER_RETRY_MS)) return Promise.resolve()
    return this.fetchAndStore(issuer, state)
  }

  private fetchAndStore(issuer: string, state: IssuerState): Promise<void> {
    state.running = this.fetch(issuer).then((fetched) => {
      state.running = null
      state.triedAtMs = this.deps.clock.now()
      state.failed = !fetched.ok
      if (fetched.ok) {
        state.metadata = fetched.value
        state.fetchedAtMs = state.triedAtMs
      } else this.deps.report(`the keys of the issuer ${issuer} could not be read: ${fetched.error}`)
    })
    return state.running
  }

  private async fetch(issuer: string): Promise<Result<IssuerMetadata, string>> {
    // OpenID Connect Discovery 1.0, section 4: a trailing slash of the issuer is removed.
    const discovery = await this.read(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
    if (!discovery.ok) return discovery
    const { issuer: named, jwks_uri, userinfo_endpoint } = discovery.value
    if (named !== issuer) return err('its discovery document names another issuer')
    if (typeof jwks_uri !== 'string') return err('its discovery document has no jwks_uri')
    const jwks = await this.read(jwks_uri)
    if (!jwks.ok) return jwks
    const { keys } = jwks.value
    if (!Array.isArray(keys) || keys.length > KEYS_MAX) return err(`expected a set of at most ${KEYS_MAX} keys`)
    try {
      return ok({
        // RFC 7517, section 5: keys that cannot be used are ignored, so that one of them does not disable the issuer.
        keys: createLocalJWKSet({ keys: keys.filter(isJsonObject) } as JSONWebKeySet),
        userinfoEndpoint: typeof userinfo_endpoint === 'string' ? userinfo_endpoint : null,
      })
    } catch {
      return err('expected a JWK set')
    }
  }

  private async read(url: string): Promise<Result<Record<string, unknown>, string>> {
    const { upstream, timeoutMs, maxBytes } = this.deps
    const headers = [['accept', 'application/json']] as const
    const answer = await upstream.send({ url, method: 'GET', headers, timeoutMs, maxResponseBytes: maxBytes })
    if (!answer.ok) return err(`${url}: ${answer.error.message}`)
    if (answer.value.status !== 200) return err(`${url} answered ${answer.value.status}`)
    const object = parseJsonObject(answer.value.body)
    return object === null ? err(`${url}: expected a JSON object`) : ok(object)
  }
}

/**
 * Parses a JSON object, with integers beyond 53 bits as bigint because claims are compared. Returns null if the bytes
 * are not UTF-8, not valid JSON, contain a duplicate member or are not an object.
 */
export function parseJsonObject(bytes: Uint8Array): Record<string, unknown> | null {
  const text = decodeUtf8(bytes)
  if (text === null) return null
  const parsed = parseJson(text, 'integers')
  return parsed.ok && isJsonObject(parsed.value) ? (parsed.value as Record<string, unknown>) : null
}
