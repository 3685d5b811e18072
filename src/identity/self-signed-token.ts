// Verifies tokens that service accounts and application agents sign with their own keys: `iss` and `sub` name the signer,
// `kid` is the thumbprint of the key (RFC 7638), and there is no audience (docs/decisions/0014-service-accounts.md).
import { decodeProtectedHeader, importJWK, type JWK, type JWTPayload, jwtVerify } from 'jose'
import { isCompactJws } from './compact-jws.ts'

/** Shortest lifetime of a token, seconds. */
export const tokenLifetimeMinS = 120
/** Longest lifetime of a token, seconds. */
export const tokenLifetimeMaxS = 86_400
/** Tolerance for the clock of a client that signs its own tokens. */
const CLOCK_SKEW_S = 30
const TOKEN_LENGTH_MAX = 4096

/** Returns the id of the key that a token names; null if it is not a JWT of an allowed length. */
export function keyIdOf(token: string): string | null {
  if (token.length > TOKEN_LENGTH_MAX || !isCompactJws(token)) return null
  try {
    return decodeProtectedHeader(token).kid ?? null
  } catch {
    return null
  }
}

/** A public key with its owner, as stored in a credential. */
export interface TokenKeyOptions {
  /** The id of the account or agent. */
  readonly owner: string
  readonly jwk: JWK
  /** The only algorithm accepted; the `alg` header of a token is not trusted. */
  readonly algorithm: string
  /** When the credential expires, milliseconds since the epoch; null: never. Not a number counts as expired. */
  readonly expiresAtMs: number | null
}

/** Verifies the tokens of one credential. */
export class TokenKey {
  private readonly options: TokenKeyOptions
  private imported: ReturnType<typeof importJWK> | null = null

  constructor(options: TokenKeyOptions) {
    this.options = options
  }

  /** Returns when the token expires, milliseconds since the epoch; null if it is invalid or expired. */
  async verify(token: string, nowMs: number): Promise<number | null> {
    const { owner, jwk, algorithm, expiresAtMs } = this.options
    if (expiresAtMs !== null && !(nowMs < expiresAtMs)) return null
    try {
      this.imported ??= importJWK(jwk, algorithm)
      const { payload } = await jwtVerify(token, await this.imported, {
        algorithms: [algorithm],
        issuer: owner,
        subject: owner,
        requiredClaims: ['iat', 'exp', 'jti'],
        currentDate: new Date(nowMs),
      })
      if (!hasValidTimes(payload, nowMs / 1000)) return null
      return Math.min((payload.exp ?? 0) * 1000, expiresAtMs ?? Number.POSITIVE_INFINITY)
    } catch {
      return null
    }
  }
}

function hasValidTimes({ iat, exp }: JWTPayload, nowS: number): boolean {
  if (iat === undefined || exp === undefined || iat > nowS + CLOCK_SKEW_S) return false
  return exp - iat >= tokenLifetimeMinS && exp - iat <= tokenLifetimeMaxS
}
