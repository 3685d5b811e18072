// Verifies user tokens. A token is first decoded without trust to find the configuration that accepts it, then verified
// in full. A token that is expired, or has a wrong algorithm or type, is rejected without a call to its issuer.
import { createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify } from 'jose'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import type { Claims } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { isCompactJws } from './compact-jws.ts'
import { type Issuers, type KeySet, parseJsonObject } from './issuers.ts'
import type { TokenRule } from './token-rules.ts'
import type { UserInfoClient } from './userinfo-client.ts'

/** Asymmetric signatures only: with a shared secret every verifier could sign. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
/** Access tokens and ID tokens. A token for another purpose declares another type (RFC 8725, section 3.11). */
const types = new Set(['jwt', 'at+jwt'])
/** A logout token has the same issuer, audience and subject, and does not prove that the user is present. */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Tolerance for the issuer's clock; not applied to `exp`. */
const CLOCK_SKEW_S = 30

/** `refused`: the token is invalid, with the reason. `unavailable`: the issuer cannot be reached now. */
export type TokenError = { readonly kind: 'refused'; readonly reason: string } | { readonly kind: 'unavailable' }

/** A valid token. */
export interface VerifiedToken {
  readonly claims: Claims
  /** Infinity for a token without expiry. */
  readonly expiresAtMs: number
  /** The issuer, or the endpoint that accepted an opaque token. */
  readonly source: string
}

/** Collaborators of token verification. */
export interface TokenVerificationDeps {
  readonly issuers: Issuers
  readonly userInfo: UserInfoClient
  readonly clock: Clock
}

interface DecodedJwt {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Claims
}

/** A decoded JWT; null for an opaque token. */
type UnverifiedToken = DecodedJwt | null

const unavailableError: TokenError = { kind: 'unavailable' }

/** Decodes a token without verifying it. `malformed`: a JWT that is not in compact serialization. */
export function decodeToken(token: string): UnverifiedToken | 'malformed' {
  const parts = token.split('.')
  if (parts.length !== 3) return null
  const [header, claims] = parts.slice(0, 2).map((part) => parseJsonObject(Buffer.from(part, 'base64url')))
  if (header == null || claims == null) return null
  // Not treated as opaque: a JWT is never sent to an endpoint that it does not name.
  return isCompactJws(token) ? { header, claims } : 'malformed'
}

/**
 * Selects the rule for a token. A JWT belongs to the first configuration with its issuer and one of its audiences; any
 * other token to the one for opaque tokens. A JWT is never sent to an opaque-token endpoint, because a third party may
 * run it.
 */
export function ruleFor(rules: readonly TokenRule[], read: UnverifiedToken): TokenRule | null {
  if (read === null) return rules.find(({ jwt }) => jwt === null) ?? null
  const { iss, aud } = read.claims
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  return rules.find(({ jwt }) => jwt !== null && jwt.issuer === iss && audiences.includes(jwt.audience)) ?? null
}

/** Verifies a token under a rule. Errors: `refused` with a reason, `unavailable`. */
export async function verifyToken(
  parts: TokenVerificationDeps,
  rule: TokenRule,
  token: string,
  read: UnverifiedToken,
): Promise<Result<VerifiedToken, TokenError>> {
  if (rule.jwt === null || read === null) return verifyOpaqueToken(parts, rule, token)
  const fault = claimsError(read, parts.clock.now() / 1000)
  if (fault !== null) return refusedToken(fault)
  const rejected = await verifySignature(parts, rule, rule.jwt, token, read)
  if (rejected !== null) return err(rejected)
  const checked: VerifiedToken = {
    claims: read.claims,
    expiresAtMs: (read.claims.exp as number) * 1000,
    source: rule.jwt.issuer,
  }
  return rule.validation.kind === 'offline' ? ok(checked) : verifyOnline(parts, rule, rule.jwt.issuer, token, checked)
}

function claimsError({ header, claims }: DecodedJwt, nowS: number): string | null {
  if (typeof header.alg !== 'string' || !algorithms.includes(header.alg)) return 'the algorithm is not accepted'
  if ('crit' in header) return 'the token has an unknown critical extension'
  if (
    header.typ !== undefined &&
    !types.has(
      String(header.typ)
        .toLowerCase()
        .replace(/^application\//, ''),
    )
  ) {
    return 'the token type is not accepted'
  }
  if (isJsonObject(claims.events) && LOGOUT_EVENT in claims.events) return 'the token type is not accepted'
  const { sub, exp, nbf, iat } = claims
  // RFC 7519, section 4.1.2. A number could be confused with the string of the same digits.
  if (sub !== undefined && typeof sub !== 'string') return 'the subject of the token is not a string'
  if (typeof exp !== 'number') return 'the token has no expiration time'
  if (exp <= nowS) return 'the token is expired'
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= nowS + CLOCK_SKEW_S)) return 'the token is not valid yet'
  if (iat !== undefined && !(typeof iat === 'number' && iat <= nowS + CLOCK_SKEW_S)) {
    return 'the token was issued in the future'
  }
  return null
}

/** Returns null if a key of the issuer signed the token. */
async function verifySignature(
  { issuers, clock }: TokenVerificationDeps,
  rule: TokenRule,
  { issuer, audience }: NonNullable<TokenRule['jwt']>,
  token: string,
  { header }: DecodedJwt,
): Promise<TokenError | null> {
  const verify = (keys: KeySet): Promise<SignatureResult> =>
    verifyWith(token, keys, {
      issuer,
      audience,
      algorithms,
      clockTolerance: CLOCK_SKEW_S,
      currentDate: new Date(clock.now()),
    })
  const pinned = pinnedKeysOf(rule)
  if (pinned !== null) return signatureError(await verify(pinned))
  const keys = await issuers.keys(issuer)
  if (!keys.ok) return unavailableError
  const { set, isNew } = keys.value
  const first = await verify(set)
  // The issuer may have rotated its keys. For a token without a key id, a failed signature is the only sign of that.
  if (isNew || (first !== 'no-key' && !(first === 'invalid' && header.kid === undefined))) return signatureError(first)
  const newer = await issuers.refreshedKeys(issuer, set, typeof header.kid === 'string' ? header.kid : null)
  if (!newer.ok) return unavailableError
  return signatureError(newer.value === set ? first : await verify(newer.value))
}

type SignatureResult = 'valid' | 'invalid' | 'no-key'

function signatureError(check: SignatureResult): TokenError | null {
  if (check === 'valid') return null
  return { kind: 'refused', reason: check === 'no-key' ? 'the issuer has no such key' : 'the signature is not valid' }
}

async function verifyWith(
  token: string,
  keys: KeySet,
  options: NonNullable<Parameters<typeof jwtVerify>[2]>,
): Promise<SignatureResult> {
  try {
    await jwtVerify(token, keys, options)
    return 'valid'
  } catch (fault) {
    if (fault instanceof errors.JWKSNoMatchingKey) return 'no-key'
    if (!(fault instanceof errors.JWKSMultipleMatchingKeys)) return 'invalid'
    for await (const key of fault) {
      const signed = await jwtVerify(token, key, options).then(
        () => true,
        () => false,
      )
      if (signed) return 'valid'
    }
    return 'invalid'
  }
}

const pinnedKeys = new WeakMap<TokenRule, KeySet>()

function pinnedKeysOf(rule: TokenRule): KeySet | null {
  if (rule.validation.kind !== 'offline' || rule.validation.pinned === null) return null
  let keys = pinnedKeys.get(rule)
  if (keys === undefined) {
    keys = createLocalJWKSet({ keys: [...rule.validation.pinned] } as JSONWebKeySet)
    pinnedKeys.set(rule, keys)
  }
  return keys
}

/**
 * Calls the user-info endpoint with a token that has a valid signature. Claims of the token take precedence over those
 * of the endpoint.
 */
async function verifyOnline(
  { issuers, userInfo }: TokenVerificationDeps,
  rule: TokenRule,
  issuer: string,
  token: string,
  checked: VerifiedToken,
): Promise<Result<VerifiedToken, TokenError>> {
  const endpoint = await userinfoEndpointOf(issuers, rule, issuer)
  if (!endpoint.ok) return err(unavailableError)
  if (endpoint.value === null) return refusedToken('the issuer has no user-info endpoint')
  const info = await userInfo.fetch(endpoint.value, token)
  if (!info.ok) return info.error === 'refused' ? refusedToken('the issuer rejected the token') : err(unavailableError)
  // OpenID Connect Core 1.0, section 5.3.2: the response may belong to another token.
  if (info.value.sub !== checked.claims.sub) return refusedToken('the issuer returned another subject for the token')
  return ok({ ...checked, claims: { ...info.value, ...checked.claims } })
}

async function userinfoEndpointOf(
  issuers: Issuers,
  { validation }: TokenRule,
  issuer: string,
): Promise<Result<string | null, 'unavailable'>> {
  if (validation.kind === 'online' && validation.endpoint !== null) return ok(validation.endpoint)
  return issuers.userinfoEndpoint(issuer)
}

async function verifyOpaqueToken(
  { userInfo, clock }: TokenVerificationDeps,
  { validation }: TokenRule,
  token: string,
): Promise<Result<VerifiedToken, TokenError>> {
  if (validation.kind !== 'online' || validation.endpoint === null) return refusedToken('the token is malformed')
  const info = await userInfo.fetch(validation.endpoint, token)
  if (!info.ok) return info.error === 'refused' ? refusedToken('the issuer rejected the token') : err(unavailableError)
  // Both members are optional; RFC 7662, section 2.2, defines them.
  const { active, exp } = info.value
  if (active === false) return refusedToken('the issuer rejected the token')
  const expiresAtMs = exp === undefined ? Number.POSITIVE_INFINITY : Number(exp) * 1000
  if (!(expiresAtMs > clock.now())) return refusedToken('the token is expired')
  return ok({ claims: info.value, expiresAtMs, source: validation.endpoint })
}

function refusedToken(reason: string): Result<never, TokenError> {
  return err({ kind: 'refused', reason })
}
