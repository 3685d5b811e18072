// The configuration in a data folder: its documents, and the keys that its secrets are sealed with.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type DocumentFields, organizationsKind, type StoredDocument } from '../config/kind.ts'
import { ConfigRepository, currentKey, pastRevisionKey } from '../config/repository.ts'
import { sealSecrets } from '../config/secrets.ts'
import { findAdmin } from '../identity/bootstrap.ts'
import {
  loadMasterKeys,
  type MasterKeySource,
  type MasterKeys,
  masterKeyVariable,
  nextMasterKeyVariable,
} from '../identity/master-key.ts'
import { isSealedText, SecretBox } from '../identity/secret-box.ts'
import { ServiceAccounts } from '../identity/service-account.ts'
import { systemClock } from '../kernel/clock.ts'
import { CONFIGURATION_COMMIT_FILE, CONFIGURATION_FOLDER } from '../kernel/data-folder.ts'
import { OperationalError } from '../kernel/errors.ts'
import { resolversKind } from '../pip/external-data-resolver.ts'
import type { Settings } from '../settings.ts'
import { type Collections, openCollections } from '../store/documents/collections.ts'
import { holdsEnvironment } from '../store/lmdb/environment-folder.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../store/lmdb/open-lock.ts'
import { openSharedCounter } from '../store/process/shared-counter.ts'
import { listProjectFolders } from '../store/tenancy/project-folders.ts'
import { interruptedImportMessage } from '../transfer/import-markers.ts'

/** Throws OperatorFault where the folder has lost its configuration, or never got all of it. */
export function openConfiguration(dataDir: string, sync: boolean): Collections {
  const lost = missingConfigurationMessage(dataDir) ?? interruptedImportMessage(dataDir)
  if (lost !== null) throw new OperationalError(lost)
  return openCollections(join(dataDir, CONFIGURATION_FOLDER), { sync })
}

export function openRepository(collections: Collections, dataDir: string): ConfigRepository {
  return new ConfigRepository(collections, openSharedCounter(join(dataDir, CONFIGURATION_COMMIT_FILE)))
}

export interface Secrets {
  readonly keys: MasterKeys
  readonly sealer: SecretBox
}

export function loadSecrets(dataDir: string, documents: ConfigRepository, report: (line: string) => void): Secrets {
  // A folder without an organization holds no secrets, so a new master key loses none.
  const keys = readMasterKeys(dataDir, documents.all(organizationsKind).length === 0)
  if (keys.next !== null) {
    report(
      'two master keys are known, the old and the next: `verdigraph rotate-master-key` on the stopped folder ends that',
    )
  }
  return { keys, sealer: createSecretBox(keys) }
}

/**
 * Seals what versions before stored in the clear: header values of resolvers, of past revisions too. For the only process
 * on the folder. Answers whether there were any; then `documents` still holds them as they were, and is read again.
 */
export async function sealPlaintextSecrets(
  collections: Collections,
  documents: ConfigRepository,
  sealer: SecretBox,
): Promise<boolean> {
  const isOld = ({ fields }: StoredDocument): boolean =>
    Object.values((fields.headers ?? {}) as DocumentFields).some((value) =>
      [value].flat().some((text) => typeof text === 'string' && !isSealedText(text)),
    )
  const sealed = (document: StoredDocument): StoredDocument => ({
    ...document,
    fields: sealSecrets(document.fields, { path: document.kind, secrets: ['headers.*'] }, document.id, sealer),
  })
  const resolvers = documents.all(resolversKind)
  const past = resolvers.flatMap(({ id, revision }) =>
    Array.from({ length: revision - 1 }, (_, i) => documents.pastRevision(resolversKind, id, i + 1)),
  )
  const old = [...resolvers, ...past].filter((document) => document !== null && isOld(document)) as StoredDocument[]
  if (old.length === 0) return false
  await collections.transact(({ put }) => {
    for (const document of old) {
      const isPresent = documents.get(resolversKind, document.id)?.revision === document.revision
      const [collection, key] = isPresent ? currentKey(document) : pastRevisionKey(document)
      put(collection, key, sealed(document))
    }
  })
  return true
}

export interface AdminToken {
  readonly organizationId: string
  readonly serviceAccountId: string
  readonly token: string
}

/**
 * Without serving the folder: reads what is there and starts nothing, so it may be called beside the process that serves
 * it. That process knows the account's public key, and so takes the token from its first moment.
 */
export async function issueAdminToken({ dataDir }: Settings, lifetimeS: number): Promise<AdminToken> {
  const collections = openCollections(join(dataDir, CONFIGURATION_FOLDER), {
    readOnly: true,
    lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS,
  })
  try {
    const documents = new ConfigRepository(collections)
    const { organizationId, serviceAccountId } = findAdmin(documents)
    const accounts = new ServiceAccounts(documents, createSecretBox(readMasterKeys(dataDir, false)), systemClock)
    return { organizationId, serviceAccountId, token: await accounts.issueToken(serviceAccountId, lifetimeS) }
  } finally {
    await collections.close()
  }
}

export function masterKeySource(dataDir: string, mayCreate: boolean): MasterKeySource {
  return { dataDir, fromEnvironment: process.env[masterKeyVariable], mayCreate }
}

function readMasterKeys(dataDir: string, mayCreate: boolean): MasterKeys {
  return loadMasterKeys(masterKeySource(dataDir, mayCreate), process.env[nextMasterKeyVariable])
}

function createSecretBox({ current, next }: MasterKeys): SecretBox {
  return new SecretBox(current, next === null ? [] : [next])
}

/** Projects without the configuration that made them: a new organization would be a stranger to them. */
function missingConfigurationMessage(dataDir: string): string | null {
  const folder = join(dataDir, CONFIGURATION_FOLDER)
  if (existsSync(folder) || holdsEnvironment(folder)) return null
  const [project] = listProjectFolders(dataDir)
  return project === undefined ? null : `the folder ${dataDir} holds projects, and has lost its configuration`
}
