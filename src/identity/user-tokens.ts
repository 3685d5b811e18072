// User tokens → who is meant, or why nobody is: 401 and in which words (facts 1.6.5, 1.11), or 503 where it cannot be told
// now. What was found out about a token is kept for a short while, under the configuration that it was found out by.

import { hash } from 'node:crypto'
import type { GraphStore } from '../engine/store.ts'
import { isWithin } from '../kernel/clock.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Claims, UserToken } from './caller.ts'
import { mappedClaims, subjectOf } from './claims.ts'
import { PAUSE_MS } from './issuers.ts'
import { type CheckedToken, type CheckParts, checkToken, readToken, ruleFor, type TokenFault } from './token-check.ts'
import type { TokenRule, TokenRules } from './token-rules.ts'
import { keepUserNode, type UserNode } from './user-node.ts'

/** For this long a signature is not checked again, nor the node of the subject looked for. */
const KEPT_MS = 60_000
/** For this long an issuer is not asked again about a token that was refused. */
const REFUSAL_KEPT_MS = 10_000
/** Characters of claims, all findings together: some 10,000 usual tokens. An issuer may say a lot about each. */
const KEPT_SIZE_MAX = 16 * 1024 * 1024
/** What a finding takes beside its claims. */
const KEPT_SIZE_LEAST = 512
const TOKEN_LENGTH_MAX = 16_384
/** Configuration changes during an examination, each of which begins it anew. */
const CHANGES_MAX = 3

/** Whose tokens are looked for: all of the project's configurations, or one. */
interface Takers {
  readonly projectId: string
  readonly only: string | null
}

export interface UserTokenParts extends CheckParts {
  readonly rules: TokenRules
  /** False: a node that has to be written ends the request with LaneRequiredError. */
  readonly writes: boolean
  /** The graph that subjects live in; null while the project has none. */
  graphOf(projectId: string): Promise<GraphStore | null> | GraphStore | null
}

/** The error says why, for the challenge: it names a rule, and repeats nothing of the token. */
type Finding = Result<Verified, TokenFault>

interface Verified {
  readonly claims: Claims
  /** Who vouches for them: an issuer, or the configuration of opaque tokens. */
  readonly issuer: string
  /** The whole answer for a token of its user: the claims may not do for that. */
  readonly answer: Result<UserToken, ServiceError>
  /** To be kept in the graph; null: nothing is. */
  readonly node: UserNode | null
}

interface Examined {
  readonly finding: Finding
  /** Null: no configuration takes the token. */
  readonly rule: TokenRule | null
  readonly fromMs: number
  readonly untilMs: number
  /** Characters. */
  readonly size: number
  /** Whether the node of the subject was looked after, or is being. */
  noted: boolean | Promise<void>
}

const malformed: Finding = err({ kind: 'refused', why: 'the token is malformed' })
const foreign: Finding = err({ kind: 'refused', why: 'the project takes no tokens of this issuer and audience' })
const noOpaque: Finding = err({ kind: 'refused', why: 'the project takes no opaque tokens' })
const notNow: Result<never, ServiceError> = err({
  kind: 'unavailable',
  message: 'Unable to verify the end-user token, retry the request',
  retryAfterS: PAUSE_MS / 1000,
})

export class UserTokens {
  private readonly parts: UserTokenParts
  private readonly kept = new Map<string, Examined>()
  private keptSize = 0
  private readonly running = new Map<string, Promise<Examined>>()

  constructor(parts: UserTokenParts) {
    this.parts = parts
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
    const takers: Takers = { projectId, only }
    const user = this.recall(keyOf(takers, token))
    const delegated = delegation === null ? null : this.recall(keyOf(takers, delegation))
    if (user?.noted !== true || (delegation !== null && delegated === null)) {
      return this.find(takers, token, delegation)
    }
    return answerOf(user.finding, delegated === null ? null : delegated.finding)
  }

  private async find(
    takers: Takers,
    token: string,
    delegation: string | null,
  ): Promise<Result<UserToken, ServiceError>> {
    const user = await this.examine(takers, token)
    if (!user.finding.ok) return answerOf(user.finding, null)
    const delegated = delegation === null ? null : await this.examine(takers, delegation)
    const answer = answerOf(user.finding, delegated === null ? null : delegated.finding)
    // Nobody's node is made for a question that is refused.
    if (answer.ok && user.noted !== true) await this.note(takers.projectId, user, user.finding.value)
    return answer
  }

  private recall(key: string): Examined | null {
    const known = this.kept.get(key)
    if (known === undefined || known.rule === null) return null
    const { fromMs, untilMs } = known
    const isFresh = isWithin(this.parts.clock.now(), fromMs, untilMs - fromMs)
    return isFresh && this.parts.rules.holds(known.rule) ? known : null
  }

  /** One examination of a token at a time. */
  private examine(takers: Takers, token: string): Examined | Promise<Examined> {
    const key = keyOf(takers, token)
    const known = this.recall(key) ?? this.running.get(key)
    if (known !== undefined) return known
    const started = this.examineAnew(takers, token).then((examined) => {
      if (examined.untilMs > 0) this.keep(key, examined)
      return examined
    })
    this.running.set(key, started)
    const over = (): void => void this.running.delete(key)
    started.then(over, over)
    return started
  }

  private async examineAnew({ projectId, only }: Takers, token: string): Promise<Examined> {
    if (token === '' || token.length > TOKEN_LENGTH_MAX) return forgotten(malformed)
    const { rules } = this.parts
    const read = readToken(token)
    if (read === 'malformed') return forgotten(malformed)
    for (let changes = 0; changes < CHANGES_MAX; changes++) {
      const all = rules.of(projectId)
      const rule = ruleFor(only === null ? all : all.filter(({ id }) => id === only), read)
      if (rule === null) return forgotten(read === null ? noOpaque : foreign)
      const checked = await checkToken(this.parts, rule, token, read)
      if (rules.holds(rule)) return examined(checked, rule, this.parts.clock.now())
    }
    return forgotten(err({ kind: 'unavailable' }))
  }

  private keep(key: string, examined: Examined): void {
    this.forget(key)
    this.kept.set(key, examined)
    this.keptSize += examined.size
    for (const oldest of this.kept.keys()) {
      if (this.keptSize <= KEPT_SIZE_MAX) break
      this.forget(oldest)
    }
  }

  private forget(key: string): void {
    this.keptSize -= this.kept.get(key)?.size ?? 0
    this.kept.delete(key)
  }

  private async note(projectId: string, user: Examined, { node }: Verified): Promise<void> {
    const graph = node === null ? null : await this.parts.graphOf(projectId)
    if (user.noted instanceof Promise) return user.noted
    // Without a graph there is nothing to ask either; that answer is the question's own.
    if (node === null || graph === null) return
    const noting = keepUserNode(graph, node, this.parts.writes)
    user.noted = noting
    try {
      await noting
      user.noted = true
    } catch (fault) {
      user.noted = false
      throw fault
    }
  }
}

function examined(checked: Result<CheckedToken, TokenFault>, rule: TokenRule, nowMs: number): Examined {
  const { validation } = rule
  if (!checked.ok) {
    const refused = checked.error.kind === 'refused'
    return {
      finding: checked,
      rule,
      size: KEPT_SIZE_LEAST,
      fromMs: nowMs,
      untilMs: refused && validation.kind === 'online' ? nowMs + REFUSAL_KEPT_MS : 0,
      noted: true,
    }
  }
  const keptMs = validation.kind === 'online' ? validation.keepMs : KEPT_MS
  const verified = verifiedBy(checked.value, rule)
  return {
    finding: ok(verified),
    rule,
    size: KEPT_SIZE_LEAST + writeJson(verified.claims).length,
    fromMs: nowMs,
    untilMs: keptMs === 0 ? 0 : Math.min(nowMs + keptMs, checked.value.expiresAtMs),
    noted: verified.node === null,
  }
}

function forgotten(finding: Finding): Examined {
  return { finding, rule: null, size: 0, fromMs: 0, untilMs: 0, noted: true }
}

function verifiedBy({ claims, source }: CheckedToken, rule: TokenRule): Verified {
  const subject = subjectOf(claims, rule)
  const mapped = mappedClaims(claims, rule)
  const issuer = issuerOf(rule)
  if (!subject.ok) return { claims, issuer, answer: refusal('Authorization', subject.error), node: null }
  if (!mapped.ok) return { claims, issuer, answer: refusal('Authorization', mapped.error), node: null }
  const { nodeType } = rule
  return {
    claims,
    issuer,
    answer: ok({ nodeType, subjectId: subject.value, claims: { ...claims, ...mapped.value }, delegation: null }),
    node: rule.performUpsert ? { type: nodeType, externalId: subject.value, mapped: mapped.value, source } : null,
  }
}

function issuerOf({ id, jwt }: TokenRule): string {
  return jwt === null ? `opaque tokens of ${id}` : `issuer ${jwt.issuer}`
}

function answerOf(user: Finding, delegated: Finding | null): Result<UserToken, ServiceError> {
  if (!user.ok) return faultAnswer('Authorization', user.error)
  const { answer } = user.value
  if (!answer.ok || delegated === null) return answer
  if (!delegated.ok) return faultAnswer('X-SVC-Token', delegated.error)
  // Each issuer numbers its subjects by itself: the same text is another person at another issuer.
  if (delegated.value.issuer !== user.value.issuer) {
    return delegationRefusal('is of another issuer than the subject token')
  }
  const delegation = delegated.value.claims
  const { sub } = delegation
  if (sub === undefined || sub === null) return delegationRefusal('is missing the sub claim')
  if (sub !== user.value.claims.sub) return delegationRefusal('carries a different sub than the subject token')
  return ok({ ...answer.value, delegation })
}

function faultAnswer(header: Header, fault: TokenFault): Result<never, ServiceError> {
  return fault.kind === 'unavailable' ? notNow : refusal(header, fault.why)
}

type Header = 'Authorization' | 'X-SVC-Token'

function refusal(header: Header, why: string): Result<never, ServiceError> {
  const message = `Invalid token in ${header} header`
  return header === 'Authorization'
    ? err({ kind: 'unauthenticated', message, invalidToken: why })
    : err({ kind: 'unauthenticated', message, invalidToken: why, isDelegation: true })
}

function delegationRefusal(how: string): Result<never, ServiceError> {
  return err({
    kind: 'unauthenticated',
    message: `token in X-SVC-Token header ${how}`,
    invalidToken: `the delegation token ${how}`,
    isDelegation: true,
  })
}

/** Tokens are not kept: what is in memory would be as good as a login. */
function keyOf({ projectId, only }: Takers, token: string): string {
  return `${projectId} ${only ?? ''} ${hash('sha256', token, 'base64url')}`
}
