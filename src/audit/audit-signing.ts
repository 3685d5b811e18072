// The configuration kind of audit signing: which provider holds the key that signs audit records. Stored, not executed
// (docs/decisions/0028-stored-but-not-executed.md).
import { z } from 'zod'
import {
  type ConfigKind,
  type DocumentFields,
  envelope,
  envelopeUpdate,
  projectsKind,
  reference,
} from '../config/kind.ts'
import { err, ok } from '../kernel/result.ts'

/** Kind name of audit signing configurations. */
export const auditSigningsKind = 'audit-signings'

/** The providers of signing keys. */
export const signingProviders = [
  'PLATFORM_MANAGED',
  'CUSTOMER_CLOUD1_KMS',
  'CUSTOMER_CLOUD2_KMS',
  'CUSTOMER_CLOUD3_KEY_VAULT',
] as const

const signingProvider = z.enum(signingProviders).meta({ id: 'SigningProvider' })

/** Members that identify a customer-managed key and authenticate to its provider. */
const keyMembers = ['key_resource', 'kid', 'auth_params'] as const

/** Pairs that authenticate to the provider. In responses, each value is an empty string. */
const authParams = z
  .record(
    z.string().regex(/^[A-Za-z0-9_.-]{1,128}$/, { error: 'expected letters, digits and `_ . -`' }),
    z.string().max(10_240),
  )
  .refine((pairs) => Object.keys(pairs).length <= 32, { error: 'expected at most 32 pairs' })
  .meta({ id: 'SigningAuthParams', description: 'Values by name. In responses, each value is an empty string.' })

const members = {
  provider: signingProvider,
  key_resource: z.string().max(256).nullish(),
  kid: z.string().max(256).nullish(),
  auth_params: authParams.nullish(),
}

/** The kind `audit-signings`. */
export const auditSignings: ConfigKind = {
  path: auditSigningsKind,
  label: 'audit signing',
  parent: { field: 'project_id', kind: projectsKind },
  operations: { create: true, update: true, delete: true, byName: true },
  deleteReturnsNoBody: true,
  createSchema: z.strictObject({ ...envelope, project_id: reference, ...members }),
  updateSchema: z.strictObject({ ...envelopeUpdate, ...members }),
  readShape: {
    provider: signingProvider,
    key_resource: z.string(),
    kid: z.string(),
    auth_params: z.record(z.string(), z.literal('')).meta({ documentedAs: authParams }),
  },
  secrets: ['auth_params.*'],
  // They are sent to the provider of the key; `key_resource` does not change the destination.
  secretDestinations: { 'auth_params.*': ['provider'] },
  omittedInLists: [],
  defaults: { key_resource: '', kid: '', auth_params: {} },
  check(fields, { body }) {
    const issues = fields.provider === 'PLATFORM_MANAGED' ? unexpectedKeyMembers(body) : missingKeyMembers(fields)
    if (issues.length > 0) return err({ kind: 'invalid', issues })
    return ok({ fields: fields.provider === 'PLATFORM_MANAGED' ? withoutKey(fields) : fields })
  },
}

function missingKeyMembers(fields: DocumentFields): string[] {
  return ['key_resource', 'kid']
    .filter((member) => (fields[member] ?? '') === '')
    .map((member) => `${member} is required for customer-managed providers`)
}

/** A key that would not be used is rejected instead of ignored. */
function unexpectedKeyMembers(given: DocumentFields): string[] {
  return keyMembers
    .filter((member) => given[member] !== undefined && Object.keys(given[member] as object | string).length > 0)
    .map((member) => `${member}: only for customer-managed providers`)
}

function withoutKey(fields: DocumentFields): DocumentFields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name]) => !(keyMembers as readonly string[]).includes(name)),
  )
}
