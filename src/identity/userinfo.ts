// Asks an issuer about a bearer token, at its user-info endpoint: whether it still stands by it, and for whom.
import { isWithin } from '../kernel/clock.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Claims } from './caller.ts'
import { jsonObjectIn, type OutgoingParts, PAUSE_MS, type Unavailable } from './issuers.ts'

/** Endpoints that are remembered; the outage of a forgotten one is logged again. */
const REPORTED_MAX = 1000

export class UserInfo {
  private readonly parts: OutgoingParts
  /** When the outage of an endpoint was last logged. */
  private readonly reportedAtMs = new Map<string, number>()

  constructor(parts: OutgoingParts) {
    this.parts = parts
  }

  /** `refused`: the issuer does not stand by the token. */
  async ask(endpoint: string, token: string): Promise<Result<Claims, 'refused' | Unavailable>> {
    const { upstream, timeMs, bytesMax } = this.parts
    const headers = [
      ['accept', 'application/json'],
      ['authorization', `Bearer ${token}`],
    ] as const
    const answer = await upstream.send({ url: endpoint, method: 'GET', headers, timeMs, bytesMax })
    if (!answer.ok) return this.unavailable(endpoint, answer.error.message)
    const { status, body } = answer.value
    // RFC 6750, section 3.1: malformed, invalid, not for this.
    if (status === 400 || status === 401 || status === 403) return err('refused')
    if (status !== 200) return this.unavailable(endpoint, `it answered ${status}`)
    const claims = jsonObjectIn(body)
    // Without a subject nobody is meant, and the answer might be that of any page.
    if (claims === null || typeof claims.sub !== 'string' || claims.sub === '') {
      return this.unavailable(endpoint, 'expected a JSON object with `sub`')
    }
    return ok(claims)
  }

  /** An outage is logged at intervals for each endpoint, not with every token. */
  private unavailable(endpoint: string, cause: string): Result<never, Unavailable> {
    const now = this.parts.clock.now()
    if (!isWithin(now, this.reportedAtMs.get(endpoint) ?? Number.NEGATIVE_INFINITY, PAUSE_MS)) {
      if (this.reportedAtMs.size >= REPORTED_MAX) this.reportedAtMs.clear()
      this.reportedAtMs.set(endpoint, now)
      this.parts.report(`the user-info endpoint ${endpoint} gave no answer to use: ${cause}`)
    }
    return err('unavailable')
  }
}
