// Calls the user-info endpoint of an issuer with a bearer token (OpenID Connect Core 1.0, section 5.3).

import { LRUCache } from 'lru-cache'
import type { Claims } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { isWithin } from '../kernel/time/clock.ts'
import { ISSUER_RETRY_MS, type IssuerClientDeps, type IssuerUnavailable, parseJsonObject } from './issuers.ts'

/** Endpoints whose last report is remembered. The outage of a forgotten one is logged again. */
const REPORTED_ENDPOINTS_MAX = 1000

/** A client of user-info endpoints. */
export class UserInfoClient {
  private readonly deps: IssuerClientDeps
  /** When the outage of an endpoint was last logged. */
  private readonly reportedAtMs = new LRUCache<string, number>({ max: REPORTED_ENDPOINTS_MAX })

  constructor(deps: IssuerClientDeps) {
    this.deps = deps
  }

  /** Returns the claims of the response. Errors: `refused` if the issuer rejects the token, `unavailable`. */
  async fetch(endpoint: string, token: string): Promise<Result<Claims, 'refused' | IssuerUnavailable>> {
    const { upstream, timeoutMs, maxBytes } = this.deps
    const headers = [
      ['accept', 'application/json'],
      ['authorization', `Bearer ${token}`],
    ] as const
    const answer = await upstream.send({
      url: endpoint,
      method: 'GET',
      headers,
      timeoutMs,
      maxResponseBytes: maxBytes,
    })
    if (!answer.ok) return this.unavailable(endpoint, answer.error.message)
    const { status, body } = answer.value
    // RFC 6750, section 3.1: invalid_request, invalid_token, insufficient_scope.
    if (status === 400 || status === 401 || status === 403) return err('refused')
    if (status !== 200) return this.unavailable(endpoint, `it answered ${status}`)
    const claims = parseJsonObject(body)
    // A response without a subject identifies no user and may be any page.
    if (claims === null || typeof claims.sub !== 'string' || claims.sub === '') {
      return this.unavailable(endpoint, 'expected a JSON object with `sub`')
    }
    return ok(claims)
  }

  /** Logs an outage at most once per interval and endpoint, not for every token. */
  private unavailable(endpoint: string, cause: string): Result<never, IssuerUnavailable> {
    const now = this.deps.clock.now()
    if (!isWithin(now, this.reportedAtMs.get(endpoint) ?? Number.NEGATIVE_INFINITY, ISSUER_RETRY_MS)) {
      this.reportedAtMs.set(endpoint, now)
      this.deps.report(`the user-info endpoint ${endpoint} returned no usable response: ${cause}`)
    }
    return err('unavailable')
  }
}
