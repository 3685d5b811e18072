// The configuration kinds of service accounts and their credentials. An account has a role that never changes and keys
// that sign its tokens (docs/decisions/0014-service-accounts.md).
import { z } from 'zod'
import { defineKind, field, hidden, shown } from '../config/define-kind.ts'
import { jsonObject } from '../config/json-schema.ts'
import {
  type ConfigKind,
  type ConfigReader,
  organizationsKind,
  readTimestamp,
  type StoredDocument,
} from '../config/kind.ts'
import { err, ok } from '../kernel/result.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { expireTimeSchema, resolveExpireTime } from './expire-time.ts'
import { providedKeyFields, readProvidedKey } from './provided-key.ts'
import { tokenLifetimeMaxS, tokenLifetimeMinS } from './self-signed-token.ts'
import { serviceAccountCredentialsKind, serviceAccountsKind } from './service-account.ts'
import { mintSigningKey, type PublicKey, signToken } from './signing-key.ts'

/** The roles of service accounts. */
const serviceAccountRoles = ['all_editor', 'all_viewer'] as const
/** The schema of a role. */
export const serviceAccountRole = z.enum(serviceAccountRoles).meta({ id: 'ServiceAccountRole' })

/** The kind `service-accounts`. */
export function serviceAccounts(clock: Clock): ConfigKind {
  return defineKind({
    path: serviceAccountsKind,
    label: 'service account',
    parent: { field: 'organization_id', kind: organizationsKind },
    inOrganization: true,
    fields: { role: field(serviceAccountRole).required().fixed() },
    check: (fields) => ok({ fields }),
    deletionBlocker: (account, reader) => lastEditorBlocker(reader, clock, account),
  })
}

const answerSchema = z
  .strictObject({
    id: z.string(),
    kid: z.string(),
    service_account_id: z.string(),
    display_name: z.string(),
    create_time: readTimestamp,
    created_by: z.string(),
    expire_time: z.string(),
    service_account_config: z
      .strictObject({
        serviceAccountId: z.string(),
        organizationId: z.string(),
        baseUrl: z.string().optional(),
        endpoint: z.string().optional(),
        privateKeyJWK: jsonObject.optional(),
        token: z.string().optional(),
      })
      .meta({ id: 'ServiceAccountConfig' }),
  })
  .meta({ id: 'ServiceAccountCredentialSecret' })

/**
 * The kind `service-account-credentials`. The create response contains the private key, for the account to sign its own
 * tokens with, and a first token. Neither is stored. For an account that sends its own public key, it contains neither.
 */
export function serviceAccountCredentials(clock: Clock, publicUrl = ''): ConfigKind {
  return defineKind({
    path: serviceAccountCredentialsKind,
    label: 'service account credential',
    parent: { field: 'service_account_id', kind: serviceAccountsKind },
    inOrganization: true,
    operations: { create: true, update: false, delete: true, byName: false },
    isNamed: false,
    fields: {
      kid: shown(z.string()),
      service_account_id: shown(z.string()),
      expire_time: field(expireTimeSchema),
      ...providedKeyFields,
      private_jwk: hidden().secret(),
      public_jwk: hidden(),
      algorithm: hidden(),
    },
    check({ public_key_jwk, public_key_pem, ...fields }, { reader, parent }) {
      const expireTime = resolveExpireTime(fields.expire_time as string | undefined, clock)
      if (!expireTime.ok) return err({ kind: 'invalid', issues: [expireTime.error] })
      const stored = ({ jwk, algorithm, kid }: PublicKey) => ({
        ...fields,
        expire_time: expireTime.value,
        kid,
        public_jwk: jwk,
        algorithm,
      })
      const provided = readProvidedKey({ public_key_jwk, public_key_pem }, (kid) =>
        reader.all(serviceAccountCredentialsKind).some((other) => other.fields.kid === kid),
      )
      if (!provided.ok) return provided
      if (provided.value !== null) return ok({ fields: stored(provided.value) })
      const key = mintSigningKey()
      const issuedAtS = Math.floor(clock.now() / 1000)
      const untilExpiryS = Math.floor(Date.parse(expireTime.value) / 1000) - issuedAtS
      const lifetimeS = Math.max(tokenLifetimeMinS, Math.min(tokenLifetimeMaxS, untilExpiryS))
      const token = signToken(key, { accountId: parent.id, issuedAtS, lifetimeS })
      return ok({ fields: stored(key), shown: { privateKeyJWK: key.privateJwk, token } })
    },
    createResponse: {
      schema: answerSchema,
      of: ({ id, create_time, created_by, organization_id, parent_id, fields }, shown) => ({
        id,
        kid: fields.kid,
        service_account_id: parent_id,
        display_name: fields.display_name ?? '',
        create_time,
        created_by,
        expire_time: fields.expire_time,
        service_account_config: {
          serviceAccountId: parent_id,
          organizationId: organization_id,
          ...(publicUrl !== '' && { baseUrl: publicUrl, endpoint: publicUrl }),
          ...shown,
        },
      }),
    },
    deletionBlocker: (credential, reader) => lastEditorBlocker(reader, clock, credential),
  })
}

/**
 * Returns a reason if deleting `going` would leave the organization without a service account that can change it; else
 * null.
 */
function lastEditorBlocker(reader: ConfigReader, clock: Clock, deleted: StoredDocument): string | null {
  const now = clock.now()
  const isLive = ({ id, fields }: StoredDocument): boolean =>
    id !== deleted.id && !(typeof fields.expire_time === 'string' && Date.parse(fields.expire_time) <= now)
  const hasOther = reader
    .inScope(serviceAccountsKind, deleted.organization_id)
    .some(
      ({ id, fields }) =>
        id !== deleted.id &&
        fields.role === 'all_editor' &&
        reader.children(serviceAccountCredentialsKind, id).some(isLive),
    )
  return hasOther ? null : 'the organization would have no service account with a valid credential that can change it'
}
