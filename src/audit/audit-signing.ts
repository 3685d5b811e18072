// The configuration kind of audit signing: a key of the customer that signs checkpoints of the project's audit log, in addition to
// the platform key (docs/decisions/0039-customer-managed-signing-keys.md).
import { z } from 'zod'
import { defineKind, field, shown } from '../config/define-kind.ts'
import type { ConfigKind, ConfigWriter, DocumentFields, StoredDocument } from '../config/kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { vaultHost } from './customer-keys/cloud3-key-vault.ts'
import type { CustomerKey, KeyClientDeps, KeyIdentity } from './customer-keys/customer-key.ts'
import { failureText } from './customer-keys/customer-key.ts'
import { type CustomerProvider, customerProviders, keyServiceOf, testKey } from './customer-keys/key-services.ts'
import { isKeyName, verifierKey } from './log/signed-note.ts'

/** Kind name of audit signing configurations. */
export const auditSigningsKind = 'audit-signings'

/** The providers of signing keys. */
const signingProviders = ['PLATFORM_MANAGED', ...customerProviders] as const

const signingProvider = z.enum(signingProviders).meta({ id: 'SigningProvider' })

/** Members that identify a customer-managed key and authenticate to its provider. */
const keyMembers = ['key_resource', 'kid', 'auth_params'] as const
/** The pinned public key: DER of SubjectPublicKeyInfo in base64. Stored by the trial. */
const PUBLIC_KEY = 'public_key'

/** The time limit of one call of a trial. A trial makes up to three calls while its caller waits. */
const TRIAL_CALL_MS = 6000

/** Pairs that authenticate to the provider. In responses, each value is an empty string. */
const authParams = z
  .record(
    z.string().regex(/^[A-Za-z0-9_.-]{1,128}$/, { error: 'expected letters, digits and `_ . -`' }),
    z.string().max(10_240),
  )
  .refine((pairs) => Object.keys(pairs).length <= 32, { error: 'expected at most 32 pairs' })
  .meta({ id: 'SigningAuthParams', description: 'Values by name. In responses, each value is an empty string.' })

const keyName = z
  .string()
  .max(256)
  .refine((kid) => kid === '' || isKeyName(kid), { error: 'expected no spaces, plus signs and control characters' })

const publicKey = z.string().describe('SubjectPublicKeyInfo in DER, in base64; empty for the platform key')
const verifier = z
  .string()
  .describe('the public key as verifiers of signed notes read it: `name+id+key`; empty for the platform key')

/** Collaborators of the trial of a signing key. */
export interface SigningKeyDeps extends KeyClientDeps {
  /** Decrypts a value of `auth_params`. */
  openSecret(document: StoredDocument, path: readonly string[]): string | readonly string[] | null
  /** Whether the last signature of a configuration failed, so that an update tests its key again. */
  isFailing(id: string): Promise<boolean>
}

/** Returns the kind `audit-signings`. */
export function auditSignings(deps: SigningKeyDeps): ConfigKind {
  return defineKind({
    path: auditSigningsKind,
    label: 'audit signing',
    deleteReturnsNoBody: true,
    fields: {
      provider: field(signingProvider).requiredInUpdates(),
      key_resource: field(z.string().max(256)).default(''),
      kid: field(keyName).describe('the name of the key in signature lines').default(''),
      auth_params: field(authParams)
        // They are sent to the provider of the key, at these addresses. See also `movedVaultErrors`.
        .secret({
          at: '*',
          sentTo: ['provider', 'auth_params.endpoint', 'auth_params.sts_endpoint', 'auth_params.authority'],
        })
        .default({}),
      public_key: shown(publicKey).default(''),
      verifier_key: shown(verifier).default(''),
      // How the key signs (`withState`).
      last_signed_time: shown(
        z.union([z.iso.datetime(), z.literal('')]).describe('when the key last signed; empty: never'),
      ).default(''),
      signed_size: shown(z.int().min(0).describe('entries of the audit log that the last signature covers')).default(0),
      is_overdue: shown(z.boolean().describe('true: a signature is due and failed')).default(false),
      last_error: shown(z.string().describe('why the last signature failed; empty: it did not fail')).default(''),
    },
    check(fields, { body, current }) {
      const issues =
        fields.provider === 'PLATFORM_MANAGED'
          ? unexpectedKeyMembers(body)
          : [...missingKeyMembers(fields), ...movedVaultErrors(fields, current, body)]
      if (issues.length > 0) return err({ kind: 'invalid', issues })
      return ok({ fields: fields.provider === 'PLATFORM_MANAGED' ? withoutKey(fields) : fields })
    },
    computedFields: (document) => ({ verifier_key: verifierKeyOf(document) ?? '' }),
    trial: {
      schema: z.strictObject({ kid: z.string(), public_key: publicKey, verifier_key: verifier }),
      run: (document, current, body) => runTrial(deps, document, current, body),
      describe: (document) => ({
        kid: document.fields.kid ?? '',
        public_key: document.fields[PUBLIC_KEY] ?? '',
        verifier_key: verifierKeyOf(document) ?? '',
      }),
    },
  })
}

/** A configuration whose key signs. */
export interface SigningKeyConfiguration {
  readonly provider: CustomerProvider
  readonly kid: string
  /** Null: stored by an earlier version, which did not test keys. */
  readonly spki: Uint8Array | null
}

/** The key of a document; null: the platform keeps the key. */
export function signingKeyOf({ fields }: StoredDocument): SigningKeyConfiguration | null {
  const provider = customerProviders.find((each) => each === fields.provider)
  if (provider === undefined) return null
  const pinned = fields[PUBLIC_KEY]
  return {
    provider,
    kid: typeof fields.kid === 'string' ? fields.kid : '',
    spki: typeof pinned === 'string' ? Buffer.from(pinned, 'base64') : null,
  }
}

/** The client of the key of a document, with the secrets decrypted. Throws as `openSecret` does. */
export function openSigningKey(
  document: StoredDocument,
  provider: CustomerProvider,
  deps: Pick<SigningKeyDeps, 'openSecret' | 'upstream' | 'deadlineMs' | 'environment'>,
): Result<CustomerKey, readonly string[]> {
  const identity = identityOf(document, deps)
  const service = keyServiceOf(provider)
  const issues = service.errors(identity, deps)
  return issues.length === 0 ? ok(service.open(identity, deps)) : err(issues)
}

function identityOf(document: StoredDocument, { openSecret }: Pick<SigningKeyDeps, 'openSecret'>): KeyIdentity {
  const params: Record<string, string> = {}
  for (const name of Object.keys((document.fields.auth_params as object | undefined) ?? {})) {
    const value = openSecret(document, ['auth_params', name])
    params[name] = typeof value === 'string' ? value : ''
  }
  const { key_resource } = document.fields
  return {
    resource: typeof key_resource === 'string' ? key_resource : '',
    params,
    projectId: document.project_id,
  }
}

function verifierKeyOf(document: StoredDocument): string | null {
  const key = signingKeyOf(document)
  return key === null || key.spki === null ? null : verifierKey(key.kid, key.spki)
}

/** The verifier keys of all signing configurations of a project, also of keys that an update has replaced. */
export function verifierKeysOf(
  documents: Pick<ConfigWriter, 'inScope' | 'pastRevision'>,
  projectId: string,
): readonly string[] {
  const keys = documents.inScope(auditSigningsKind, projectId).flatMap((document) => {
    const past = Array.from({ length: document.revision - 1 }, (_, i) =>
      documents.pastRevision(auditSigningsKind, document.id, i + 1),
    )
    return [...past, document].map((revision) => (revision === null ? null : verifierKeyOf(revision)))
  })
  return [...new Set(keys.filter((key) => key !== null))]
}

async function runTrial(
  deps: SigningKeyDeps,
  document: StoredDocument,
  current: StoredDocument | null,
  body: DocumentFields,
) {
  const key = signingKeyOf(document)
  if (key === null || !(await needsTrial(deps, document, current, body))) return ok({})
  const opened = openSigningKey(document, key.provider, { ...deps, deadlineMs: TRIAL_CALL_MS })
  if (!opened.ok) return err({ kind: 'invalid', issues: opened.error } as const)
  const tested = await testKey(opened.value)
  if (!tested.ok) return err({ kind: 'invalid', issues: [`key_resource: ${failureText(tested.error)}`] } as const)
  return ok({ [PUBLIC_KEY]: Buffer.from(tested.value.spki).toString('base64') })
}

/** An update of the names does not need the key service, and must work while it is away. */
async function needsTrial(
  { isFailing }: SigningKeyDeps,
  document: StoredDocument,
  current: StoredDocument | null,
  body: DocumentFields,
): Promise<boolean> {
  if (current === null || current.fields[PUBLIC_KEY] === undefined) return true
  const identify = ({ fields }: StoredDocument): string =>
    JSON.stringify([fields.provider, ...keyMembers.map((member) => fields[member] ?? null)])
  if (identify(document) !== identify(current)) return true
  // A document that is sent back as it was read has the pinned key, and keeps it.
  const isSent = body[PUBLIC_KEY] === undefined && keyMembers.some((member) => body[member] !== undefined)
  return isSent && (await isFailing(document.id))
}

function missingKeyMembers(fields: DocumentFields): string[] {
  return ['key_resource', 'kid']
    .filter((member) => (fields[member] ?? '') === '')
    .map((member) => `${member} is required for customer-managed providers`)
}

/** In a vault, the key names the host that receives the token, so another vault requires the secrets again. */
function movedVaultErrors(fields: DocumentFields, current: StoredDocument | null, body: DocumentFields): string[] {
  if (current === null || fields.provider !== 'CUSTOMER_CLOUD3_KEY_VAULT') return []
  const hostOf = ({ key_resource }: DocumentFields) => vaultHost(typeof key_resource === 'string' ? key_resource : '')
  if (hostOf(fields) === hostOf(current.fields)) return []
  const given = (body.auth_params ?? {}) as DocumentFields
  return Object.keys((fields.auth_params as object | undefined) ?? {})
    .filter((name) => (given[name] ?? '') === '')
    .map((name) => `auth_params.${name}: required again with another vault in \`key_resource\``)
}

/** A key that would not be used is rejected instead of ignored. */
function unexpectedKeyMembers(given: DocumentFields): string[] {
  return keyMembers
    .filter((member) => given[member] !== undefined && Object.keys(given[member] as object | string).length > 0)
    .map((member) => `${member}: only for customer-managed providers`)
}

function withoutKey(fields: DocumentFields): DocumentFields {
  const removed: readonly string[] = [...keyMembers, PUBLIC_KEY]
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !removed.includes(name)))
}
