// Keys that service accounts sign with: generated here or sent by the client. Each key has one algorithm and is named
// by its thumbprint (RFC 7638). Synchronous, because configuration changes are.
import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, sign } from 'node:crypto'
import type { JWK } from 'jose'
import { err, ok, type Result } from '../kernel/result.ts'

/** A public key for verification. */
export interface PublicKey {
  readonly jwk: JWK
  /** The only algorithm accepted with this key. */
  readonly algorithm: string
  readonly kid: string
}

/** A new key pair. */
interface MintedSigningKey extends PublicKey {
  readonly privateJwk: JWK
}

const RSA_BITS_MIN = 2048
/** The cost of a verification, which runs on the event loop, grows with the square of the length. */
const RSA_BITS_MAX = 8192

/** Returns why an RSA key of that length is refused; null if it is not. */
export function rsaLengthIssue(bits: number): string | null {
  if (bits < RSA_BITS_MIN) return `expected an RSA key of at least ${RSA_BITS_MIN} bits`
  return bits > RSA_BITS_MAX ? `expected an RSA key of at most ${RSA_BITS_MAX} bits` : null
}

/** Generates an ES256 key pair. */
export function mintSigningKey(): MintedSigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicKey.export({ format: 'jwk' })
  return { jwk, algorithm: 'ES256', kid: thumbprintOf(jwk), privateJwk: privateKey.export({ format: 'jwk' }) }
}

/** Reads a JWK (object or JSON text) or a PEM. Errors: a message; private keys are rejected. */
export function readPublicKey(given: string | JWK): Result<PublicKey, string> {
  try {
    const asJson = typeof given === 'string' && given.trimStart().startsWith('{')
    const source = asJson ? (JSON.parse(given) as JWK) : given
    const isPrivate = typeof source === 'string' ? /PRIVATE KEY/.test(source) : 'd' in source
    if (isPrivate) return err('expected a public key: the private key must stay with its owner')
    const key = typeof source === 'string' ? createPublicKey(source) : createPublicKey({ key: source, format: 'jwk' })
    const jwk = key.export({ format: 'jwk' })
    const algorithm = algorithmOf(jwk)
    if (algorithm === null) return err('expected an EC key on P-256, P-384 or P-521, an Ed25519 or an RSA key')
    const lengthIssue = jwk.kty === 'RSA' ? rsaLengthIssue(key.asymmetricKeyDetails?.modulusLength ?? 0) : null
    const issue = lengthIssue ?? (typeof source === 'string' ? null : usageIssue(source, algorithm))
    if (issue !== null) return err(issue)
    return ok({ jwk, algorithm, kid: thumbprintOf(jwk) })
  } catch {
    return err('expected a public key')
  }
}

/** The name of RFC 9864 for the algorithm of an Ed25519 key. */
const algorithmNames: ReadonlyMap<string, string> = new Map([['Ed25519', 'EdDSA']])

/**
 * Returns why a JWK is not for signatures with the algorithm (RFC 7517, section 4); null if it is. Otherwise the owner would
 * sign tokens that are never accepted.
 */
function usageIssue({ alg, use, key_ops: operations }: JWK, algorithm: string): string | null {
  if (alg !== undefined && (algorithmNames.get(alg) ?? alg) !== algorithm) {
    return `alg: expected \`${algorithm}\`, the algorithm that is accepted with this key`
  }
  const isForSignatures = use === undefined || use === 'sig'
  const isForVerification = operations === undefined || (Array.isArray(operations) && operations.includes('verify'))
  return isForSignatures && isForVerification ? null : 'expected a key for signatures, as `use` and `key_ops` say'
}

const curves: ReadonlyMap<string, string> = new Map([
  ['P-256', 'ES256'],
  ['P-384', 'ES384'],
  ['P-521', 'ES512'],
])

function algorithmOf({ kty, crv }: JWK): string | null {
  if (kty === 'RSA') return 'RS256'
  if (kty === 'EC') return curves.get(crv ?? '') ?? null
  return kty === 'OKP' && crv === 'Ed25519' ? 'EdDSA' : null
}

/** RFC 7638: the required members in lexicographic order, without whitespace. */
function thumbprintOf({ kty, crv, x, y, n, e }: JWK): string {
  const members = kty === 'RSA' ? { e, kty, n } : kty === 'EC' ? { crv, kty, x, y } : { crv, kty, x }
  return hash('sha256', JSON.stringify(members), 'base64url')
}

/** Inputs of a service-account token. Times in seconds since the Unix epoch. */
export interface ServiceTokenClaims {
  readonly accountId: string
  readonly issuedAtS: number
  readonly lifetimeS: number
}

/** Signs a token: `iss` and `sub` are the account, and there is no audience. */
export function signToken(
  key: { readonly privateJwk: JWK; readonly kid: string },
  { accountId, issuedAtS, lifetimeS }: ServiceTokenClaims,
): string {
  const header = { alg: 'ES256', typ: 'JWT', kid: key.kid }
  const claims = {
    iss: accountId,
    sub: accountId,
    iat: issuedAtS,
    exp: issuedAtS + lifetimeS,
    jti: crypto.randomUUID(),
  }
  const signed = `${base64UrlJson(header)}.${base64UrlJson(claims)}`
  const privateKey = createPrivateKey({ key: key.privateJwk, format: 'jwk' })
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

function base64UrlJson(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
