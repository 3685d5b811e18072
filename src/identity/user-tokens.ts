// Authenticates user tokens: returns the user, or 401 with a reason, or 503 if the issuer is unreachable
// (docs/decisions/0009-user-tokens.md). Results are cached for a short time under the configuration that produced them.

import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { GraphStore } from '../engine/store.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json/json.ts'
import type { Claims, UserToken } from '../kernel/request/caller.ts'
import { noOrigin, type RequestOrigin } from '../kernel/request/request-origin.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { isWithin } from '../kernel/time/clock.ts'
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

/** For this time the signature and the subject's node are not checked again. */
const CACHE_TTL_MS = 60_000
/** For this time the issuer is not called again about a rejected token. */
const REFUSAL_TTL_MS = 10_000
/** Limit of all cached claims, characters: about 10,000 usual tokens. An issuer may send many claims per token. */
const CACHE_SIZE_MAX = 16 * 1024 * 1024
/** Size of an entry without its claims. */
const ENTRY_SIZE_MIN = 512
const TOKEN_LENGTH_MAX = 16_384
/** Verifications that may be repeated because the configuration changed during one. */
const RULE_CHANGES_MAX = 3

/** Which configurations may accept the token: all of a project, or one. */
interface TokenScope {
  readonly projectId: string
  readonly only: string | null
  /** The request that has the token; of equal tokens at the same time the first. */
  readonly origin: RequestOrigin
}

/** Collaborators of token authentication. */
export interface UserTokenAuthenticatorDeps extends TokenVerificationDeps {
  /** The token configurations of all projects. */
  readonly rules: TokenRules
  /** False: a request whose user node must be written ends with LaneRequiredError. */
  readonly mayWrite: boolean
  /** Called after each verification of a token by a configuration; not for cached results. Must not throw. */
  onIntrospected?(introspection: TokenIntrospection): void
  /** Called with each verification that was not cached. `failure`: a rule, nothing of the token; null: the token is valid. */
  onVerified?(tokenIntrospectId: string, failure: string | null): void
  /** The graph with the subjects' nodes; null while the project has none. */
  graphOf(projectId: string): Promise<GraphStore | null> | GraphStore | null
}

/** The result of one verification of a token. It contains no part of the token. */
export interface TokenIntrospection {
  readonly projectId: string
  /** The request that caused the verification. */
  readonly origin: RequestOrigin
  /** Id of the configuration that verified the token. */
  readonly tokenIntrospectId: string
  /** The user of an accepted token; null: it is of no user, or it was not accepted. */
  readonly user: { readonly nodeType: string; readonly subjectId: string } | null
  /** Why the token was not accepted; null: it was. */
  readonly refusal: string | null
}

function failureOf(verification: Verification): string | null {
  if (verification.ok) return null
  const { error } = verification
  return error.kind === 'unavailable' ? 'the issuer could not be reached, or its answer was not usable' : error.reason
}

/** The error is the reason in the challenge: it names a rule and contains no part of the token. */
type Verification = Result<VerifiedIdentity, TokenError>

interface VerifiedIdentity {
  readonly claims: Claims
  /** The issuer of the claims, or the configuration of opaque tokens. */
  readonly issuer: string
  /** The result for the token's user. It may be an error although the token is valid, because of its claims. */
  readonly userResult: Result<UserToken, ServiceError>
  /** The node to write to the graph; null: none. */
  readonly node: UserNode | null
}

interface CachedVerification {
  readonly verification: Verification
  /** Null: no configuration accepts the token. */
  readonly rule: TokenRule | null
  readonly fromMs: number
  readonly untilMs: number
  /** Size of the entry, characters. */
  readonly size: number
  /** Whether the subject's node is up to date; a promise while it is written. */
  nodeUpserted: boolean | Promise<void>
}

const malformedToken: Verification = err({ kind: 'refused', reason: 'the token is malformed' })
const noMatchingRule: Verification = err({
  kind: 'refused',
  reason: 'the project accepts no tokens of this issuer and audience',
})
const noOpaqueRule: Verification = err({ kind: 'refused', reason: 'the project accepts no opaque tokens' })
const unavailableResult: Result<never, ServiceError> = err({
  kind: 'unavailable',
  message: 'Unable to verify the end-user token, retry the request',
  retryAfterS: ISSUER_RETRY_MS / 1000,
})

/** Verifies user tokens and caches the results. */
export class UserTokenAuthenticator {
  private readonly deps: UserTokenAuthenticatorDeps
  private readonly cache = new LRUCache<string, CachedVerification>({
    maxSize: CACHE_SIZE_MAX,
    sizeCalculation: ({ size }) => size,
  })
  private readonly running = new Map<string, Promise<CachedVerification>>()

  constructor(deps: UserTokenAuthenticatorDeps) {
    this.deps = deps
  }

  /**
   * Authenticates the token of a user. Synchronous if the result is cached. `delegation`: the token of the header
   * `X-SVC-Token`, or null. `only`: the id of the one configuration that may accept the token; null: any of the
   * project. `origin`: the request, for `onIntrospected`.
   * Errors: `unauthenticated` with a reason, `unavailable`. Rejects with LaneRequiredError if the user's node must be
   * written in a lane.
   */
  authenticateUser(
    projectId: string,
    token: string,
    delegation: string | null,
    only: string | null = null,
    origin: RequestOrigin = noOrigin,
  ): Result<UserToken, ServiceError> | Promise<Result<UserToken, ServiceError>> {
    const scope: TokenScope = { projectId, only, origin }
    const user = this.getCached(keyOf(scope, token))
    const delegated = delegation === null ? null : this.getCached(keyOf(scope, delegation))
    if (user?.nodeUpserted !== true || (delegation !== null && delegated === null)) {
      return this.authenticate(scope, token, delegation)
    }
    return combineTokens(user.verification, delegated === null ? null : delegated.verification)
  }

  private async authenticate(
    scope: TokenScope,
    token: string,
    delegation: string | null,
  ): Promise<Result<UserToken, ServiceError>> {
    const user = await this.verify(scope, token)
    if (!user.verification.ok) return combineTokens(user.verification, null)
    const delegated = delegation === null ? null : await this.verify(scope, delegation)
    const answer = combineTokens(user.verification, delegated === null ? null : delegated.verification)
    // A rejected request creates no node.
    if (answer.ok && user.nodeUpserted !== true) await this.upsertNode(scope.projectId, user, user.verification.value)
    return answer
  }

  private getCached(key: string): CachedVerification | null {
    const cached = this.cache.get(key)
    if (cached === undefined || cached.rule === null) return null
    const { fromMs, untilMs } = cached
    const isFresh = isWithin(this.deps.clock.now(), fromMs, untilMs - fromMs)
    return isFresh && this.deps.rules.isCurrent(cached.rule) ? cached : null
  }

  /** At most one verification of a token runs at a time. */
  private verify(scope: TokenScope, token: string): CachedVerification | Promise<CachedVerification> {
    const key = keyOf(scope, token)
    const pending = this.getCached(key) ?? this.running.get(key)
    if (pending !== undefined) return pending
    const started = this.verifyUncached(scope, token).then((entry) => {
      if (entry.untilMs > 0) this.cache.set(key, entry)
      return entry
    })
    this.running.set(key, started)
    const finished = (): void => void this.running.delete(key)
    started.then(finished, finished)
    return started
  }

  private async verifyUncached({ projectId, only, origin }: TokenScope, token: string): Promise<CachedVerification> {
    if (token === '' || token.length > TOKEN_LENGTH_MAX) return uncacheable(malformedToken)
    const { rules } = this.deps
    const read = decodeToken(token)
    if (read === 'malformed') return uncacheable(malformedToken)
    for (let changes = 0; changes < RULE_CHANGES_MAX; changes++) {
      const all = rules.rulesOf(projectId)
      const rule = ruleFor(only === null ? all : all.filter(({ id }) => id === only), read)
      if (rule === null) return uncacheable(read === null ? noOpaqueRule : noMatchingRule)
      const checked = await verifyToken(this.deps, rule, token, read)
      if (rules.isCurrent(rule)) {
        const entry = cacheEntry(checked, rule, this.deps.clock.now())
        this.report({ projectId, origin, tokenIntrospectId: rule.id }, token, entry.verification)
        this.deps.onVerified?.(rule.id, failureOf(entry.verification))
        return entry
      }
    }
    return uncacheable(err({ kind: 'unavailable' }))
  }

  /** An issuer that cannot be reached has verified nothing. */
  private report(
    about: Pick<TokenIntrospection, 'projectId' | 'origin' | 'tokenIntrospectId'>,
    token: string,
    verification: Verification,
  ): void {
    if (!verification.ok && verification.error.kind === 'unavailable') return
    if (!about.origin.noteIntrospection(`${about.tokenIntrospectId} ${hash('sha256', token, 'base64url')}`)) return
    const refusal = verification.ok || verification.error.kind === 'unavailable' ? null : verification.error.reason
    const result = verification.ok ? verification.value.userResult : null
    const error = result === null || result.ok ? null : result.error
    const user = result?.ok === true && result.value.subjectId !== '' ? result.value : null
    const unusable = error?.kind === 'unauthenticated' ? (error.invalidToken ?? error.message) : null
    this.deps.onIntrospected?.({ ...about, user, refusal: refusal ?? unusable })
  }

  private async upsertNode(projectId: string, user: CachedVerification, { node }: VerifiedIdentity): Promise<void> {
    const graph = node === null ? null : await this.deps.graphOf(projectId)
    if (user.nodeUpserted instanceof Promise) return user.nodeUpserted
    // Without a graph the request itself fails later with its own error.
    if (node === null || graph === null) return
    const upserting = upsertUserNode(graph, node, this.deps.mayWrite)
    user.nodeUpserted = upserting
    try {
      await upserting
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
  // Subjects are unique per issuer only: the same text is another person at another issuer.
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
  return fault.kind === 'unavailable' ? unavailableResult : invalidTokenError(header, fault.reason)
}

type TokenHeader = 'Authorization' | 'X-SVC-Token'

function invalidTokenError(header: TokenHeader, reason: string): Result<never, ServiceError> {
  const message = `Invalid token in ${header} header`
  return header === 'Authorization'
    ? err({ kind: 'unauthenticated', message, invalidToken: reason })
    : err({ kind: 'unauthenticated', message, invalidToken: reason, isDelegation: true })
}

function invalidDelegationError(how: string): Result<never, ServiceError> {
  return err({
    kind: 'unauthenticated',
    message: `token in X-SVC-Token header ${how}`,
    invalidToken: `the delegation token ${how}`,
    isDelegation: true,
  })
}

/** The key contains a hash: a cached token could be used as a login. */
function keyOf({ projectId, only }: TokenScope, token: string): string {
  return `${projectId} ${only ?? ''} ${hash('sha256', token, 'base64url')}`
}
