// Whether a bearer token is what it says it is: read without trust to find the configuration that takes it, then checked
// in full. Nobody outside is asked about a token that is out on its face: expired, of another algorithm, of another kind.
import { createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify } from 'jose'
import type { Claims } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import { isJsonObject } from '../kernel/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { isCompactJws } from './compact-jws.ts'
import { type Issuers, type KeySet, parseJsonObject } from './issuers.ts'
import type { TokenRule } from './token-rules.ts'
import type { UserInfoClient } from './userinfo-client.ts'

/** Signatures with a public key alone: a shared secret would let everybody sign who checks. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
/** Access tokens and ID tokens; a token for another purpose says so here (RFC 8725, section 3.11). */
const types = new Set(['jwt', 'at+jwt'])
/** An issuer's logout tokens carry the same issuer, audience and subject, and are no proof of anybody's presence. */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** How far an issuer's clock may run ahead of ours. An expired token is expired. */
const CLOCK_SKEW_S = 30

/** `refused`: for good, and why. `unavailable`: cannot be told now. */
export type TokenError = { readonly kind: 'refused'; readonly why: string } | { readonly kind: 'unavailable' }

export interface VerifiedToken {
  readonly claims: Claims
  /** Infinite for a token that does not tell. */
  readonly expiresAtMs: number
  /** Who answers for the claims: the issuer, or the endpoint that knows an opaque token. */
  readonly source: string
}

export interface TokenVerificationDeps {
  readonly issuers: Issuers
  readonly userInfo: UserInfoClient
  readonly clock: Clock
}

interface DecodedJwt {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Claims
}

/** Null: not a JWT. */
export type UnverifiedToken = DecodedJwt | null

const unavailableError: TokenError = { kind: 'unavailable' }

/** `malformed`: a JWT with segments that are not written as the standard says. */
export function decodeToken(token: string): UnverifiedToken | 'malformed' {
  const parts = token.split('.')
  if (parts.length !== 3) return null
  const [header, claims] = parts.slice(0, 2).map((part) => parseJsonObject(Buffer.from(part, 'base64url')))
  if (header == null || claims == null) return null
  // No opaque token either: a JWT is never shown to an endpoint that it does not name.
  return isCompactJws(token) ? { header, claims } : 'malformed'
}

/**
 * A JWT belongs to the first configuration with its issuer and one of its audiences, any other token to the one for
 * opaque tokens. A JWT is never shown to an endpoint that it does not name: it would be a stranger's.
 */
export function ruleFor(rules: readonly TokenRule[], read: UnverifiedToken): TokenRule | null {
  if (read === null) return rules.find(({ jwt }) => jwt === null) ?? null
  const { iss, aud } = read.claims
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  return rules.find(({ jwt }) => jwt !== null && jwt.issuer === iss && audiences.includes(jwt.audience)) ?? null
}

export async function verifyToken(
  parts: TokenVerificationDeps,
  rule: TokenRule,
  token: string,
  read: UnverifiedToken,
): Promise<Result<VerifiedToken, TokenError>> {
  if (rule.jwt === null || read === null) return verifyOpaqueToken(parts, rule, token)
  const fault = claimsError(read, parts.clock.now() / 1000)
  if (fault !== null) return refusedToken(fault)
  const signed = await verifySignature(parts, rule, rule.jwt, token, read)
  if (signed !== null) return err(signed)
  const checked: VerifiedToken = {
    claims: read.claims,
    expiresAtMs: (read.claims.exp as number) * 1000,
    source: rule.jwt.issuer,
  }
  return rule.validation.kind === 'offline' ? ok(checked) : verifyOnline(parts, rule, rule.jwt.issuer, token, checked)
}

function claimsError({ header, claims }: DecodedJwt, nowS: number): string | null {
  if (typeof header.alg !== 'string' || !algorithms.includes(header.alg)) return 'the algorithm is not accepted'
  if ('crit' in header) return 'an extension that the token calls critical is not known'
  if (
    header.typ !== undefined &&
    !types.has(
      String(header.typ)
        .toLowerCase()
        .replace(/^application\//, ''),
    )
  ) {
    return 'a token of this type is not accepted'
  }
  if (isJsonObject(claims.events) && LOGOUT_EVENT in claims.events) return 'a token of this type is not accepted'
  const { sub, exp, nbf, iat } = claims
  // RFC 7519, section 4.1.2. Another value might be taken for the text of the same form.
  if (sub !== undefined && typeof sub !== 'string') return 'the subject of the token is not a string'
  if (typeof exp !== 'number') return 'the token has no expiration time'
  if (exp <= nowS) return 'the token is expired'
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= nowS + CLOCK_SKEW_S)) return 'the token is not valid yet'
  if (iat !== undefined && !(typeof iat === 'number' && iat <= nowS + CLOCK_SKEW_S)) {
    return 'the token was issued in the future'
  }
  return null
}

/** Null: signed by a key of the issuer. */
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
  // The issuer may have changed its keys; where tokens name none, only their signature tells.
  if (isNew || (first !== 'no-key' && !(first === 'invalid' && header.kid === undefined))) return signatureError(first)
  const newer = await issuers.refreshedKeys(issuer, set, typeof header.kid === 'string' ? header.kid : null)
  if (!newer.ok) return unavailableError
  return signatureError(newer.value === set ? first : await verify(newer.value))
}

type SignatureResult = 'valid' | 'invalid' | 'no-key'

function signatureError(check: SignatureResult): TokenError | null {
  if (check === 'valid') return null
  return { kind: 'refused', why: check === 'no-key' ? 'no such key of the issuer' : 'the signature is not valid' }
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

/** The issuer is asked about a token that it has signed; what the token says wins over what the endpoint adds. */
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
  if (!info.ok) return info.error === 'refused' ? refusedToken('the issuer refuses the token') : err(unavailableError)
  // OpenID Connect Core 1.0, section 5.3.2: it may be the answer to another token.
  if (info.value.sub !== checked.claims.sub) return refusedToken('the issuer knows the token under another subject')
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
  if (!info.ok) return info.error === 'refused' ? refusedToken('the issuer refuses the token') : err(unavailableError)
  // An endpoint need not say either; one that does, in the words of RFC 7662, section 2.2, is believed.
  const { active, exp } = info.value
  if (active === false) return refusedToken('the issuer refuses the token')
  const expiresAtMs = exp === undefined ? Number.POSITIVE_INFINITY : Number(exp) * 1000
  if (!(expiresAtMs > clock.now())) return refusedToken('the token is expired')
  return ok({ claims: info.value, expiresAtMs, source: validation.endpoint })
}

function refusedToken(why: string): Result<never, TokenError> {
  return err({ kind: 'refused', why })
}
