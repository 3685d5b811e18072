// Service-account bearer tokens: JWTs signed by the account's own key (ruling F5), by the algorithm of that key.
import { decodeProtectedHeader, importJWK, type JWK, type JWTPayload, jwtVerify } from 'jose'
import { type ConfigSource, type Sealer, type StoredDocument, secretPath } from '../config/kind.ts'
import type { ServiceAccountCaller, ServiceAccountRole } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import { OperationalError } from '../kernel/errors.ts'
import { isCompactJws } from './compact-jws.ts'
import { signToken } from './signing-key.ts'

export const tokenLifetimeMinS = 120
export const tokenLifetimeMaxS = 86_400
/** How far the clock of a client that signs for itself may run ahead of ours. */
const CLOCK_SKEW_S = 30
const BEARER_LENGTH_MAX = 4096

export const serviceAccountsKind = 'service-accounts'
export const serviceAccountCredentialsKind = 'service-account-credentials'
export const privateKeyPath = 'private_jwk'

type ImportedKey = Awaited<ReturnType<typeof importJWK>>

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

  /** Throws when the account has no key here, or the lifetime is outside 120 to 86400 seconds. */
  async issueToken(accountId: string, lifetimeS: number): Promise<string> {
    if (!(lifetimeS >= tokenLifetimeMinS && lifetimeS <= tokenLifetimeMaxS)) {
      throw new Error(`a token lives ${tokenLifetimeMinS} to ${tokenLifetimeMaxS} seconds, asked for ${lifetimeS}`)
    }
    const credential = this.documents
      .all(serviceAccountCredentialsKind)
      .find(({ parent_id, fields }) => parent_id === accountId && typeof fields[privateKeyPath] === 'string')
    if (credential === undefined) {
      throw new OperationalError(
        `there is no private key of the service account ${accountId} here: its holder signs for it`,
      )
    }
    const place = secretPath(serviceAccountCredentialsKind, credential.id, privateKeyPath)
    const privateJwk = JSON.parse(this.sealer.open(credential.fields[privateKeyPath] as string, place))
    const issuedAtS = Math.floor(this.clock.now() / 1000)
    return signToken({ privateJwk, kid: kidOf(credential) }, { accountId, issuedAtS, lifetimeS: Math.floor(lifetimeS) })
  }

  /** `bearer` without the word `Bearer`. Null: not a token that one of our accounts signed and that is valid now. */
  async authenticateServiceAccount(bearer: string): Promise<ServiceAccountCaller | null> {
    const isWritten = bearer.length <= BEARER_LENGTH_MAX && isCompactJws(bearer)
    const credential = isWritten ? this.credentialOf(bearer) : null
    const account = credential === null ? null : this.documents.get(serviceAccountsKind, credential.parent_id)
    if (credential === null || account === null) return null
    const claims = await this.verify(bearer, credential, account.id)
    // The account may have gone while the signature was checked.
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

/** What the key is for, whatever a token says of itself. */
function algorithmOf(credential: StoredDocument): string {
  return (credential.fields.algorithm as string | undefined) ?? 'ES256'
}

function kidOf(credential: StoredDocument): string {
  return credential.fields.kid as string
}
