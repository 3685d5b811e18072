// Opens the configuration of a data folder: its documents, and the master keys that encrypt its secrets.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type DocumentFields, organizationsKind, resolversKind, type StoredDocument } from '../config/kind.ts'
import { ConfigRepository, currentKey, pastRevisionKey } from '../config/repository.ts'
import { sealSecrets } from '../config/secrets.ts'
import { findAdmin } from '../identity/bootstrap.ts'
import { createSecretBox, openSealer, readMasterKeys } from '../identity/folder-keys.ts'
import type { MasterKeys } from '../identity/master-key.ts'
import { isSealedText, type SecretBox } from '../identity/secret-box.ts'
import { ServiceAccounts } from '../identity/service-account.ts'
import { OperationalError } from '../kernel/errors.ts'
import { CONFIGURATION_COMMIT_FILE, CONFIGURATION_FOLDER, CURRENT_DOCUMENTS } from '../kernel/folder/data-folder.ts'
import type { DocumentStore } from '../kernel/folder/document-store.ts'
import { type Clock, systemClock } from '../kernel/time/clock.ts'
import type { Settings } from '../settings.ts'
import { type Collections, openCollections } from '../store/documents/collections.ts'
import { holdsEnvironment } from '../store/lmdb/environment-folder.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../store/lmdb/open-lock.ts'
import type { OutboxOptions } from '../store/outbox/outbox-format.ts'
import { CommitCount } from '../store/process/commit-counter.ts'
import { openSharedCounter } from '../store/process/shared-counter.ts'
import { listProjectFolders } from '../store/tenancy/project-folders.ts'
import { interruptedImportMessage } from '../transfer/files/import-markers.ts'

/** Opens the configuration database. Throws OperationalError if it is missing, or if an import into it was interrupted. */
export function openConfiguration(dataDir: string, options: { sync: boolean } & OutboxOptions): Collections {
  const lost = missingConfigurationMessage(dataDir) ?? interruptedImportMessage(dataDir)
  if (lost !== null) throw new OperationalError(lost)
  return openCollections(join(dataDir, CONFIGURATION_FOLDER), options)
}

/** Opens the documents of the configuration. */
export function openRepository(store: DocumentStore, dataDir: string, clock: Clock = systemClock): ConfigRepository {
  const counter = openSharedCounter(join(dataDir, CONFIGURATION_COMMIT_FILE))
  const commits = new CommitCount(dataDir)
  return new ConfigRepository(store, { ...counter, committed: () => commits.increment() }, clock)
}

/** The master keys, and the box that encrypts secrets with them. */
export interface Secrets {
  readonly keys: MasterKeys
  readonly sealer: SecretBox
}

/** Loads the master keys, and creates one for a new folder. Throws OperationalError if a key is missing or wrong. */
export function loadSecrets(dataDir: string, documents: ConfigRepository, report: (line: string) => void): Secrets {
  // A folder without an organization has no secrets, so a new master key loses none.
  const keys = readMasterKeys(dataDir, documents.all(organizationsKind).length === 0)
  if (keys.next !== null) {
    report('both the current and the next master key are set: stop the service and run `verdigraph rotate-master-key`')
  }
  return { keys, sealer: createSecretBox(keys) }
}

/**
 * Encrypts header values of resolvers that earlier versions stored as plain text, in past revisions too. Only the sole
 * process on the folder may call it. Returns true if there were any: `documents` then is outdated and must be opened again.
 */
export async function sealPlaintextSecrets(
  store: DocumentStore,
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
  await store.transact(({ put }) => {
    for (const document of old) {
      const isPresent = documents.get(resolversKind, document.id)?.revision === document.revision
      const [collection, key] = isPresent ? currentKey(document) : pastRevisionKey(document)
      put(collection, key, sealed(document))
    }
  })
  return true
}

/** The reason why the configuration cannot be read; null: it can. */
export function configurationError(collections: Collections): string | null {
  try {
    collections.read((reader) => reader.get(CURRENT_DOCUMENTS, 'none'))
    return collections.isAtItsPath() ? null : 'the data folder is missing'
  } catch {
    return 'the store is not open'
  }
}

/** An admin token and whom it is for. */
export interface AdminToken {
  readonly organizationId: string
  readonly serviceAccountId: string
  readonly token: string
}

/**
 * Issues an admin token without serving the folder. It only reads, so it may run while another process serves the folder;
 * that process accepts the token at once, because it knows the public key of the account.
 * `lifetimeS`: seconds. Throws OperationalError if the folder has no configuration or no master key.
 */
export async function issueAdminToken({ dataDir }: Settings, lifetimeS: number): Promise<AdminToken> {
  const collections = openCollections(join(dataDir, CONFIGURATION_FOLDER), {
    readOnly: true,
    lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS,
  })
  try {
    const documents = new ConfigRepository(collections)
    const { organizationId, serviceAccountId } = findAdmin(documents)
    const accounts = new ServiceAccounts(documents, openSealer(dataDir), systemClock)
    return { organizationId, serviceAccountId, token: await accounts.issueToken(serviceAccountId, lifetimeS) }
  } finally {
    await collections.close()
  }
}

/** Reason why the folder cannot be used: it has projects but no configuration, and a new organization would not own them. */
function missingConfigurationMessage(dataDir: string): string | null {
  const folder = join(dataDir, CONFIGURATION_FOLDER)
  if (existsSync(folder) || holdsEnvironment(folder)) return null
  const [project] = listProjectFolders(dataDir)
  return project === undefined ? null : `the folder ${dataDir} contains projects, but its configuration is missing`
}
