// Authenticates and issues the bearer tokens of service accounts: JWTs signed with a key of the account, with the
// algorithm of that key (docs/decisions/0014-service-accounts.md).
import { decodeProtectedHeader, importJWK, type JWK, type JWTPayload, jwtVerify } from 'jose'
import { type ConfigSource, type Sealer, type StoredDocument, secretPath } from '../config/kind.ts'
import type { ServiceAccountCaller, ServiceAccountRole } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import { OperationalError } from '../kernel/errors.ts'
import { isCompactJws } from './compact-jws.ts'
import { signToken } from './signing-key.ts'

/** Shortest lifetime of a token, seconds. */
export const tokenLifetimeMinS = 120
/** Longest lifetime of a token, seconds. */
export const tokenLifetimeMaxS = 86_400
/** Tolerance for the clock of a client that signs its own tokens. */
const CLOCK_SKEW_S = 30
const BEARER_LENGTH_MAX = 4096

/** Kind name of service accounts. */
export const serviceAccountsKind = 'service-accounts'
/** Kind name of their credentials. */
export const serviceAccountCredentialsKind = 'service-account-credentials'
/** Field with the encrypted private key of the admin account. */
export const privateKeyPath = 'private_jwk'

type ImportedKey = Awaited<ReturnType<typeof importJWK>>

/** Issues and verifies tokens of service accounts. Follows the configuration. */
export class ServiceAccounts {
  private readonly documents: ConfigSource
  private readonly sealer: Sealer
  private readonly clock: Clock
  private readonly credentials = new Map<string, StoredDocument>()
  private readonly publicKeys = new WeakMap<StoredDocument, ImportedKey>()

  constructor(documents: ConfigSource, sealer: Sealer, clock: Clock) {
    this.documents = documents
    this.sealer = sealer
    this.clock = clock
    for (const credential of documents.all(serviceAccountCredentialsKind))
      this.credentials.set(kidOf(credential), credential)
    documents.subscribe((changes) => {
      for (const { before, after } of changes) {
        if (before?.kind === serviceAccountCredentialsKind) this.credentials.delete(kidOf(before))
        if (after?.kind === serviceAccountCredentialsKind) this.credentials.set(kidOf(after), after)
      }
    })
  }

  /**
   * Issues a token that is valid for `lifetimeS` seconds, from 120 to 86400.
   * Throws OperationalError if the account's private key is not stored here, Error if the lifetime is out of range.
   */
  async issueToken(accountId: string, lifetimeS: number): Promise<string> {
    if (!(lifetimeS >= tokenLifetimeMinS && lifetimeS <= tokenLifetimeMaxS)) {
      throw new Error(
        `the lifetime of a token is ${tokenLifetimeMinS} to ${tokenLifetimeMaxS} seconds, not ${lifetimeS}`,
      )
    }
    const credential = this.documents
      .all(serviceAccountCredentialsKind)
      .find(({ parent_id, fields }) => parent_id === accountId && typeof fields[privateKeyPath] === 'string')
    if (credential === undefined) {
      throw new OperationalError(
        `the private key of the service account ${accountId} is not stored here: its owner signs its tokens`,
      )
    }
    const place = secretPath(serviceAccountCredentialsKind, credential.id, privateKeyPath)
    const privateJwk = JSON.parse(this.sealer.open(credential.fields[privateKeyPath] as string, place))
    const issuedAtS = Math.floor(this.clock.now() / 1000)
    return signToken({ privateJwk, kid: kidOf(credential) }, { accountId, issuedAtS, lifetimeS: Math.floor(lifetimeS) })
  }

  /**
   * Verifies a token. `bearer`: the header value without `Bearer `. Returns null unless an account of ours signed it
   * and it is valid now.
   */
  async authenticateServiceAccount(bearer: string): Promise<ServiceAccountCaller | null> {
    const isWritten = bearer.length <= BEARER_LENGTH_MAX && isCompactJws(bearer)
    const credential = isWritten ? this.credentialOf(bearer) : null
    const account = credential === null ? null : this.documents.get(serviceAccountsKind, credential.parent_id)
    if (credential === null || account === null) return null
    const claims = await this.verify(bearer, credential, account.id)
    // The account may have been deleted during the signature check.
    if (claims === null || this.credentials.get(kidOf(credential)) !== credential) return null
    return {
      kind: 'service-account',
      serviceAccountId: account.id,
      organizationId: account.organization_id,
      role: account.fields.role as ServiceAccountRole,
    }
  }

  private credentialOf(bearer: string): StoredDocument | null {
    try {
      return this.credentials.get(decodeProtectedHeader(bearer).kid ?? '') ?? null
    } catch {
      return null
    }
  }

  private async verify(bearer: string, credential: StoredDocument, accountId: string): Promise<JWTPayload | null> {
    const nowMs = this.clock.now()
    const expireTime = credential.fields.expire_time
    if (typeof expireTime === 'string' && Date.parse(expireTime) <= nowMs) return null
    try {
      const { payload } = await jwtVerify(bearer, await this.publicKeyOf(credential), {
        algorithms: [algorithmOf(credential)],
        issuer: accountId,
        subject: accountId,
        requiredClaims: ['iat', 'exp', 'jti'],
        currentDate: new Date(nowMs),
      })
      return hasValidTimes(payload, nowMs / 1000) ? payload : null
    } catch {
      return null
    }
  }

  private async publicKeyOf(credential: StoredDocument): Promise<ImportedKey> {
    let key = this.publicKeys.get(credential)
    if (key === undefined) {
      key = await importJWK(credential.fields.public_jwk as JWK, algorithmOf(credential))
      this.publicKeys.set(credential, key)
    }
    return key
  }
}

function hasValidTimes({ iat, exp }: JWTPayload, nowS: number): boolean {
  if (iat === undefined || exp === undefined || iat > nowS + CLOCK_SKEW_S) return false
  return exp - iat >= tokenLifetimeMinS && exp - iat <= tokenLifetimeMaxS
}

/** The algorithm of the key; the `alg` header of the token is not trusted. */
function algorithmOf(credential: StoredDocument): string {
  return (credential.fields.algorithm as string | undefined) ?? 'ES256'
}

function kidOf(credential: StoredDocument): string {
  return credential.fields.kid as string
}
