// The configuration in a data folder: its documents, and the keys that its secrets are sealed with.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Fields, StoredDocument } from '../config/kind.ts'
import { type DocumentStore, pastPlace, presentPlace, Repository } from '../config/repository.ts'
import { sealSecrets } from '../config/secrets.ts'
import { adminOf } from '../identity/bootstrap.ts'
import {
  loadMasterKeys,
  type MasterKeySource,
  type MasterKeys,
  masterKeyVariable,
  nextMasterKeyVariable,
} from '../identity/master-key.ts'
import { looksSealed, SecretBox } from '../identity/secret-box.ts'
import { ServiceAccounts } from '../identity/service-account.ts'
import { systemClock } from '../kernel/clock.ts'
import { OperatorFault } from '../kernel/errors.ts'
import { resolversKind } from '../pip/resolver.ts'
import type { Settings } from '../settings.ts'
import { type Collections, openCollections } from '../store/lmdb/collections.ts'
import { isStored } from '../store/lmdb/folder.ts'
import { projectFolders } from '../store/project-folders.ts'
import { openSharedNumber } from '../store/shared-number.ts'
import { unfinishedImport } from '../transfer/unfinished.ts'

/** The folder of the configuration in the data folder. */
export const CONFIGURATION = 'config'

/** The number of the configuration's last commit, for all processes to see. */
const COMMIT = 'config.commit'

/** Throws OperatorFault where the folder has lost its configuration, or never got all of it. */
export function openConfiguration(dataDir: string, sync: boolean): Collections {
  const lost = lostConfiguration(dataDir) ?? unfinishedImport(dataDir)
  if (lost !== null) throw new OperatorFault(lost)
  return openCollections(join(dataDir, CONFIGURATION), { sync })
}

export function documentsIn(collections: Collections, dataDir: string): Repository {
  return new Repository(documentStore(collections), openSharedNumber(join(dataDir, COMMIT)))
}

/** The store speaks of deleting keys, the repository of removing documents. */
export function documentStore(collections: Collections): DocumentStore {
  return {
    read: (look) => collections.read(look),
    transact: (change) =>
      collections.transact(({ get, all, put, delete: remove }) => change({ get, all, put, remove })),
  }
}

export interface Secrets {
  readonly keys: MasterKeys
  readonly sealer: SecretBox
}

export function secretsOf(dataDir: string, documents: Repository, report: (line: string) => void): Secrets {
  // A folder without an organization holds no secrets, so a new master key loses none.
  const keys = masterKeysOf(dataDir, documents.all('organizations').length === 0)
  if (keys.next !== null) {
    report(
      'two master keys are known, the old and the next: `verdigraph rotate-master-key` on the stopped folder ends that',
    )
  }
  return { keys, sealer: secretBoxOf(keys) }
}

/**
 * Seals what versions before stored in the clear: header values of resolvers, of past revisions too. For the only process
 * on the folder. Answers whether there were any; then `documents` still holds them as they were, and is read again.
 */
export async function sealOldSecrets(
  collections: Collections,
  documents: Repository,
  sealer: SecretBox,
): Promise<boolean> {
  const isOld = ({ fields }: StoredDocument): boolean =>
    Object.values((fields.headers ?? {}) as Fields).some((value) =>
      [value].flat().some((text) => typeof text === 'string' && !looksSealed(text)),
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
      const [collection, key] = isPresent ? presentPlace(document) : pastPlace(document)
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
export async function makeAdminToken({ dataDir }: Settings, lifetimeS: number): Promise<AdminToken> {
  const collections = openCollections(join(dataDir, CONFIGURATION), { readOnly: true })
  try {
    const documents = new Repository(documentStore(collections))
    const { organizationId, serviceAccountId } = adminOf(documents)
    const accounts = new ServiceAccounts(documents, secretBoxOf(masterKeysOf(dataDir, false)), systemClock)
    return { organizationId, serviceAccountId, token: await accounts.issueToken(serviceAccountId, lifetimeS) }
  } finally {
    await collections.close()
  }
}

export function masterKeySource(dataDir: string, mayCreate: boolean): MasterKeySource {
  return { dataDir, fromEnvironment: process.env[masterKeyVariable], mayCreate }
}

function masterKeysOf(dataDir: string, mayCreate: boolean): MasterKeys {
  return loadMasterKeys(masterKeySource(dataDir, mayCreate), process.env[nextMasterKeyVariable])
}

function secretBoxOf({ current, next }: MasterKeys): SecretBox {
  return new SecretBox(current, next === null ? [] : [next])
}

/** Projects without the configuration that made them: a new organization would be a stranger to them. */
function lostConfiguration(dataDir: string): string | null {
  const folder = join(dataDir, CONFIGURATION)
  if (existsSync(folder) || isStored(folder)) return null
  const [project] = projectFolders(dataDir)
  return project === undefined ? null : `the folder ${dataDir} holds projects, and has lost its configuration`
}
