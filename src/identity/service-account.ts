// Authenticates and issues the bearer tokens of service accounts: JWTs signed with a key of the account, with the
// algorithm of that key (docs/decisions/0014-service-accounts.md).
import type { JWK } from 'jose'
import { type ConfigSource, type Sealer, type StoredDocument, secretPath } from '../config/kind.ts'
import { OperationalError } from '../kernel/errors.ts'
import type { ServiceAccountCaller, ServiceAccountRole } from '../kernel/request/caller.ts'
import type { RefusedCredentials } from '../kernel/request/request-audit.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { keyIdOf, TokenKey, tokenLifetimeMaxS, tokenLifetimeMinS } from './self-signed-token.ts'
import { signToken } from './signing-key.ts'

/** Kind name of service accounts. */
export const serviceAccountsKind = 'service-accounts'
/** Kind name of their credentials. */
export const serviceAccountCredentialsKind = 'service-account-credentials'
/** Field with the encrypted private key of the admin account. */
export const privateKeyPath = 'private_jwk'

/** Issues and verifies tokens of service accounts. Follows the configuration. */
export class ServiceAccounts {
  private readonly documents: ConfigSource
  private readonly sealer: Sealer
  private readonly clock: Clock
  private readonly credentials = new Map<string, StoredDocument>()
  private readonly keys = new WeakMap<StoredDocument, TokenKey>()

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
    const credential = this.credentials.get(keyIdOf(bearer) ?? '') ?? null
    const account = credential === null ? null : this.documents.get(serviceAccountsKind, credential.parent_id)
    if (credential === null || account === null) return null
    const expiresAtMs = await this.keyOf(credential, account.id).verify(bearer, this.clock.now())
    // The account may have been deleted during the signature check.
    if (expiresAtMs === null || this.credentials.get(kidOf(credential)) !== credential) return null
    return {
      kind: 'service-account',
      serviceAccountId: account.id,
      organizationId: account.organization_id,
      keyId: credential.id,
      role: account.fields.role as ServiceAccountRole,
    }
  }

  /** Describes a token that was refused. */
  refusedServiceAccount(bearer: string): RefusedCredentials {
    const kind = 'service-account-token'
    const credential = this.credentials.get(keyIdOf(bearer) ?? '')
    if (credential === undefined) return { kind, reason: 'unknown' }
    const { id: keyId, organization_id: organizationId } = credential
    return { kind, reason: 'the token is invalid or expired', keyId, organizationId }
  }

  private keyOf(credential: StoredDocument, owner: string): TokenKey {
    let key = this.keys.get(credential)
    if (key === undefined) {
      const { public_jwk, expire_time } = credential.fields
      key = new TokenKey({
        owner,
        jwk: public_jwk as JWK,
        algorithm: algorithmOf(credential),
        expiresAtMs: typeof expire_time === 'string' ? Date.parse(expire_time) : null,
      })
      this.keys.set(credential, key)
    }
    return key
  }
}

/** The algorithm of the key; absent in credentials of earlier releases. */
function algorithmOf(credential: StoredDocument): string {
  return (credential.fields.algorithm as string | undefined) ?? 'ES256'
}

function kidOf(credential: StoredDocument): string {
  return credential.fields.kid as string
}
