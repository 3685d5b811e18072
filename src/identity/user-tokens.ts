// User tokens → who is meant, or why nobody is: 401 and in which words (facts 1.6.5, 1.11), or 503 where it cannot be told
// now. What was found out about a token is kept for a short while, under the configuration that it was found out by.

import { hash } from 'node:crypto'
import type { GraphStore } from '../engine/store.ts'
import type { Claims, UserToken } from '../kernel/caller.ts'
import { isWithin } from '../kernel/clock.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { mapClaims, subjectOf } from './claims.ts'
import { ISSUER_RETRY_MS } from './issuers.ts'
import type { TokenRule, TokenRules } from './token-rules.ts'
import { type UserNode, upsertUserNode } from './user-node.ts'
import {
  decodeToken,
  ruleFor,
  type TokenError,
  type TokenVerificationDeps,
  type VerifiedToken,
  verifyToken,
} from './verify-token.ts'

/** For this long a signature is not checked again, nor the node of the subject looked for. */
const CACHE_TTL_MS = 60_000
/** For this long an issuer is not asked again about a token that was refused. */
const REFUSAL_TTL_MS = 10_000
/** Characters of claims, all findings together: some 10,000 usual tokens. An issuer may say a lot about each. */
const CACHE_SIZE_MAX = 16 * 1024 * 1024
/** What a finding takes beside its claims. */
const ENTRY_SIZE_MIN = 512
const TOKEN_LENGTH_MAX = 16_384
/** Configuration changes during an examination, each of which begins it anew. */
const RULE_CHANGES_MAX = 3

/** Whose tokens are looked for: all of the project's configurations, or one. */
interface TokenScope {
  readonly projectId: string
  readonly only: string | null
}

export interface UserTokenAuthenticatorDeps extends TokenVerificationDeps {
  readonly rules: TokenRules
  /** False: a node that has to be written ends the request with LaneRequiredError. */
  readonly mayWrite: boolean
  /** The graph that subjects live in; null while the project has none. */
  graphOf(projectId: string): Promise<GraphStore | null> | GraphStore | null
}

/** The error says why, for the challenge: it names a rule, and repeats nothing of the token. */
type Verification = Result<VerifiedIdentity, TokenError>

interface VerifiedIdentity {
  readonly claims: Claims
  /** Who vouches for them: an issuer, or the configuration of opaque tokens. */
  readonly issuer: string
  /** The whole answer for a token of its user: the claims may not do for that. */
  readonly userResult: Result<UserToken, ServiceError>
  /** To be kept in the graph; null: nothing is. */
  readonly node: UserNode | null
}

interface CachedVerification {
  readonly verification: Verification
  /** Null: no configuration takes the token. */
  readonly rule: TokenRule | null
  readonly fromMs: number
  readonly untilMs: number
  /** Characters. */
  readonly size: number
  /** Whether the node of the subject was looked after, or is being. */
  nodeUpserted: boolean | Promise<void>
}

const malformedToken: Verification = err({ kind: 'refused', why: 'the token is malformed' })
const noMatchingRule: Verification = err({
  kind: 'refused',
  why: 'the project takes no tokens of this issuer and audience',
})
const noOpaqueRule: Verification = err({ kind: 'refused', why: 'the project takes no opaque tokens' })
const unavailableResult: Result<never, ServiceError> = err({
  kind: 'unavailable',
  message: 'Unable to verify the end-user token, retry the request',
  retryAfterS: ISSUER_RETRY_MS / 1000,
})

export class UserTokenAuthenticator {
  private readonly deps: UserTokenAuthenticatorDeps
  private readonly cache = new Map<string, CachedVerification>()
  private cacheSize = 0
  private readonly running = new Map<string, Promise<CachedVerification>>()

  constructor(parts: UserTokenAuthenticatorDeps) {
    this.deps = parts
  }

  /**
   * Synchronous where the tokens were seen a moment ago. `delegation`: the token of `X-SVC-Token`. `only`: the id of the one
   * configuration that may take them; null: any of the project.
   */
  authenticateUser(
    projectId: string,
    token: string,
    delegation: string | null,
    only: string | null = null,
  ): Result<UserToken, ServiceError> | Promise<Result<UserToken, ServiceError>> {
    const takers: TokenScope = { projectId, only }
    const user = this.getCached(keyOf(takers, token))
    const delegated = delegation === null ? null : this.getCached(keyOf(takers, delegation))
    if (user?.nodeUpserted !== true || (delegation !== null && delegated === null)) {
      return this.authenticate(takers, token, delegation)
    }
    return combineTokens(user.verification, delegated === null ? null : delegated.verification)
  }

  private async authenticate(
    takers: TokenScope,
    token: string,
    delegation: string | null,
  ): Promise<Result<UserToken, ServiceError>> {
    const user = await this.verify(takers, token)
    if (!user.verification.ok) return combineTokens(user.verification, null)
    const delegated = delegation === null ? null : await this.verify(takers, delegation)
    const answer = combineTokens(user.verification, delegated === null ? null : delegated.verification)
    // Nobody's node is made for a question that is refused.
    if (answer.ok && user.nodeUpserted !== true) await this.upsertNode(takers.projectId, user, user.verification.value)
    return answer
  }

  private getCached(key: string): CachedVerification | null {
    const known = this.cache.get(key)
    if (known === undefined || known.rule === null) return null
    const { fromMs, untilMs } = known
    const isFresh = isWithin(this.deps.clock.now(), fromMs, untilMs - fromMs)
    return isFresh && this.deps.rules.isCurrent(known.rule) ? known : null
  }

  /** One examination of a token at a time. */
  private verify(takers: TokenScope, token: string): CachedVerification | Promise<CachedVerification> {
    const key = keyOf(takers, token)
    const known = this.getCached(key) ?? this.running.get(key)
    if (known !== undefined) return known
    const started = this.verifyUncached(takers, token).then((examined) => {
      if (examined.untilMs > 0) this.addToCache(key, examined)
      return examined
    })
    this.running.set(key, started)
    const over = (): void => void this.running.delete(key)
    started.then(over, over)
    return started
  }

  private async verifyUncached({ projectId, only }: TokenScope, token: string): Promise<CachedVerification> {
    if (token === '' || token.length > TOKEN_LENGTH_MAX) return uncacheable(malformedToken)
    const { rules } = this.deps
    const read = decodeToken(token)
    if (read === 'malformed') return uncacheable(malformedToken)
    for (let changes = 0; changes < RULE_CHANGES_MAX; changes++) {
      const all = rules.rulesOf(projectId)
      const rule = ruleFor(only === null ? all : all.filter(({ id }) => id === only), read)
      if (rule === null) return uncacheable(read === null ? noOpaqueRule : noMatchingRule)
      const checked = await verifyToken(this.deps, rule, token, read)
      if (rules.isCurrent(rule)) return cacheEntry(checked, rule, this.deps.clock.now())
    }
    return uncacheable(err({ kind: 'unavailable' }))
  }

  private addToCache(key: string, examined: CachedVerification): void {
    this.removeFromCache(key)
    this.cache.set(key, examined)
    this.cacheSize += examined.size
    for (const oldest of this.cache.keys()) {
      if (this.cacheSize <= CACHE_SIZE_MAX) break
      this.removeFromCache(oldest)
    }
  }

  private removeFromCache(key: string): void {
    this.cacheSize -= this.cache.get(key)?.size ?? 0
    this.cache.delete(key)
  }

  private async upsertNode(projectId: string, user: CachedVerification, { node }: VerifiedIdentity): Promise<void> {
    const graph = node === null ? null : await this.deps.graphOf(projectId)
    if (user.nodeUpserted instanceof Promise) return user.nodeUpserted
    // Without a graph there is nothing to ask either; that answer is the question's own.
    if (node === null || graph === null) return
    const noting = upsertUserNode(graph, node, this.deps.mayWrite)
    user.nodeUpserted = noting
    try {
      await noting
      user.nodeUpserted = true
    } catch (fault) {
      user.nodeUpserted = false
      throw fault
    }
  }
}

function cacheEntry(checked: Result<VerifiedToken, TokenError>, rule: TokenRule, nowMs: number): CachedVerification {
  const { validation } = rule
  if (!checked.ok) {
    const refused = checked.error.kind === 'refused'
    return {
      verification: checked,
      rule,
      size: ENTRY_SIZE_MIN,
      fromMs: nowMs,
      untilMs: refused && validation.kind === 'online' ? nowMs + REFUSAL_TTL_MS : 0,
      nodeUpserted: true,
    }
  }
  const keptMs = validation.kind === 'online' ? validation.cacheMs : CACHE_TTL_MS
  const verified = identityOf(checked.value, rule)
  return {
    verification: ok(verified),
    rule,
    size: ENTRY_SIZE_MIN + writeJson(verified.claims).length,
    fromMs: nowMs,
    untilMs: keptMs === 0 ? 0 : Math.min(nowMs + keptMs, checked.value.expiresAtMs),
    nodeUpserted: verified.node === null,
  }
}

function uncacheable(finding: Verification): CachedVerification {
  return { verification: finding, rule: null, size: 0, fromMs: 0, untilMs: 0, nodeUpserted: true }
}

function identityOf({ claims, source }: VerifiedToken, rule: TokenRule): VerifiedIdentity {
  const subject = subjectOf(claims, rule)
  const mapped = mapClaims(claims, rule)
  const issuer = issuerOf(rule)
  if (!subject.ok) return { claims, issuer, userResult: invalidTokenError('Authorization', subject.error), node: null }
  if (!mapped.ok) return { claims, issuer, userResult: invalidTokenError('Authorization', mapped.error), node: null }
  const { nodeType } = rule
  return {
    claims,
    issuer,
    userResult: ok({ nodeType, subjectId: subject.value, claims: { ...claims, ...mapped.value }, delegation: null }),
    node: rule.performUpsert ? { type: nodeType, externalId: subject.value, claims: mapped.value, source } : null,
  }
}

function issuerOf({ id, jwt }: TokenRule): string {
  return jwt === null ? `opaque tokens of ${id}` : `issuer ${jwt.issuer}`
}

function combineTokens(user: Verification, delegated: Verification | null): Result<UserToken, ServiceError> {
  if (!user.ok) return tokenErrorResult('Authorization', user.error)
  const { userResult } = user.value
  if (!userResult.ok || delegated === null) return userResult
  if (!delegated.ok) return tokenErrorResult('X-SVC-Token', delegated.error)
  // Each issuer numbers its subjects by itself: the same text is another person at another issuer.
  if (delegated.value.issuer !== user.value.issuer) {
    return invalidDelegationError('is of another issuer than the subject token')
  }
  const delegation = delegated.value.claims
  const { sub } = delegation
  if (sub === undefined || sub === null) return invalidDelegationError('is missing the sub claim')
  if (sub !== user.value.claims.sub) return invalidDelegationError('carries a different sub than the subject token')
  return ok({ ...userResult.value, delegation })
}

function tokenErrorResult(header: TokenHeader, fault: TokenError): Result<never, ServiceError> {
  return fault.kind === 'unavailable' ? unavailableResult : invalidTokenError(header, fault.why)
}

type TokenHeader = 'Authorization' | 'X-SVC-Token'

function invalidTokenError(header: TokenHeader, why: string): Result<never, ServiceError> {
  const message = `Invalid token in ${header} header`
  return header === 'Authorization'
    ? err({ kind: 'unauthenticated', message, invalidToken: why })
    : err({ kind: 'unauthenticated', message, invalidToken: why, isDelegation: true })
}

function invalidDelegationError(how: string): Result<never, ServiceError> {
  return err({
    kind: 'unauthenticated',
    message: `token in X-SVC-Token header ${how}`,
    invalidToken: `the delegation token ${how}`,
    isDelegation: true,
  })
}

/** Tokens are not kept: what is in memory would be as good as a login. */
function keyOf({ projectId, only }: TokenScope, token: string): string {
  return `${projectId} ${only ?? ''} ${hash('sha256', token, 'base64url')}`
}
