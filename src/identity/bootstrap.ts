// First start: creates an organization and an admin service account in an empty data folder.
import {
  type ConfigReader,
  type ConfigWriter,
  organizationsKind,
  type Sealer,
  type StoredDocument,
  secretPath,
} from '../config/kind.ts'
import { OperationalError } from '../kernel/errors.ts'
import { mintGid } from '../kernel/ids.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import { privateKeyPath, serviceAccountCredentialsKind, serviceAccountsKind } from './service-account.ts'
import { mintSigningKey } from './signing-key.ts'

/** The result of `bootstrap`. */
export interface BootstrapResult {
  /** False: the folder already had an organization. */
  readonly created: boolean
  /** The admin account. `ServiceAccounts.issueToken` issues its tokens. */
  readonly admin: ServiceAccountCaller
}

/**
 * Creates the organization if none exists. Safe to call from several processes at once. Throws as `findAdmin` does.
 */
export async function bootstrap(documents: ConfigWriter, sealer: Sealer, clock: Clock): Promise<BootstrapResult> {
  // Read without a transaction, which would wait for processes that write.
  if (documents.all(organizationsKind).length > 0) return { created: false, admin: findAdmin(documents) }
  const documentsToCreate = firstDocuments(sealer, clock.now())
  const created = await documents.write((draft) => {
    if (draft.all(organizationsKind).length > 0) return false
    for (const document of documentsToCreate) draft.put(document)
    return true
  })
  return { created, admin: findAdmin(documents) }
}

/**
 * Finds the admin account of an existing organization: preferably one whose private key is stored here, so that the
 * process can sign for it. Throws OperationalError if none exists.
 */
export function findAdmin(documents: ConfigReader): ServiceAccountCaller {
  const editors = documents.all(serviceAccountsKind).filter(({ fields }) => fields.role === 'all_editor')
  const hasStoredKey = ({ id }: StoredDocument): boolean =>
    documents.children(serviceAccountCredentialsKind, id).some(({ fields }) => fields[privateKeyPath] !== undefined)
  const admin = editors.find(hasStoredKey) ?? editors[0]
  if (admin === undefined) {
    throw new OperationalError('the data folder has an organization without an admin service account')
  }
  return {
    kind: 'service-account',
    serviceAccountId: admin.id,
    organizationId: admin.organization_id,
    role: 'all_editor',
  }
}

function firstDocuments(sealer: Sealer, nowMs: number): StoredDocument[] {
  const organizationId = mintGid(nowMs)
  const accountId = mintGid(nowMs)
  const credentialId = mintGid(nowMs)
  const { jwk, algorithm, kid, privateJwk } = mintSigningKey()
  const common = {
    revision: 1,
    organization_id: organizationId,
    project_id: '',
    create_time: timestamp(nowMs),
    created_by: accountId,
    update_time: timestamp(nowMs),
    updated_by: accountId,
  }
  return [
    { ...common, kind: organizationsKind, id: organizationId, parent_id: '', name: 'organization', fields: {} },
    {
      ...common,
      kind: serviceAccountsKind,
      id: accountId,
      parent_id: organizationId,
      name: 'admin',
      fields: { display_name: 'Administrator', role: 'all_editor' },
    },
    {
      ...common,
      kind: serviceAccountCredentialsKind,
      id: credentialId,
      parent_id: accountId,
      name: '',
      fields: {
        service_account_id: accountId,
        kid,
        public_jwk: jwk,
        algorithm,
        [privateKeyPath]: sealer.seal(
          JSON.stringify(privateJwk),
          secretPath(serviceAccountCredentialsKind, credentialId, privateKeyPath),
        ),
      },
    },
  ]
}
