// The command `rotate-master-key`: encrypts every secret of a stopped data folder with a new key, and deletes the old
// one. The new key is on disk before it is used, and all secrets change in one transaction. An interrupted run leaves a
// readable folder, and the next run completes it (docs/decisions/0013-secrets.md).
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openAuditIndex } from '../../audit/seal/audit-trail.ts'
import { type RotatedAuditSecrets, rotateAuditSecrets } from '../../audit/seal/rotate-audit-secrets.ts'
import { documentCollections } from '../../config/repository.ts'
import {
  openSharedConfiguration,
  type SharedConfiguration,
  type SharedConfigurationSettings,
} from '../../config/shared/shared-configuration.ts'
import { masterKeySource } from '../../identity/folder-keys.ts'
import {
  adoptNextKey,
  createNextKey,
  givenMasterKey,
  loadMasterKeys,
  masterKeyVariable,
  nextMasterKeyVariable,
} from '../../identity/master-key.ts'
import { rotateSecrets } from '../../identity/rotate-secrets.ts'
import { SecretBox } from '../../identity/secret-box.ts'
import { AUDIT_FOLDER, AUDIT_INDEX_FOLDER, CONFIGURATION_FOLDER, DATA_FILE } from '../../kernel/folder/data-folder.ts'
import type { DocumentStore } from '../../kernel/folder/document-store.ts'
import { defaultSettings, type Settings } from '../../settings.ts'
import { type Collections, openCollections } from '../../store/documents/collections.ts'
import { lockFolder } from '../../store/process/folder-lock.ts'
import { CliError } from '../output/cli-error.ts'
import { printJson, printLine, printNotice } from '../output/print.ts'
import { recorded } from './record-operation.ts'

/** Runs `rotate-master-key`. Rejects as `rotate` does. */
export async function rotateMasterKey(settings: Settings, json: boolean): Promise<void> {
  const { resealed, unopened, nextPlace } = await recorded(
    settings,
    'svc.audit.operations.masterkey.rotate',
    {},
    () => rotate(settings),
    (rotated) => ({ resealed: rotated.resealed }),
  )
  if (json) printJson({ resealed, unopened })
  else for (const line of linesOf({ resealed, unopened, nextPlace })) printLine(line)
}

/** Rotates the master key. Rejects with CliError or OperationalError; the old key then stays valid. */
export async function rotate(
  given: Pick<Settings, 'dataDir'> & Partial<SharedConfigurationSettings>,
): Promise<RotationSummary> {
  const settings = { ...defaultSettings, ...given }
  const { dataDir } = settings
  const folder = join(dataDir, CONFIGURATION_FOLDER)
  if (!existsSync(folder)) throw new CliError([`${dataDir} has no organization and no secrets`])
  const lock = lockFolder(dataDir)
  let collections: Collections | null = null
  let shared: SharedConfiguration | null = null
  try {
    collections = openCollections(folder, {})
    shared = await openSharedConfiguration(collections, settings, printNotice, null)
    if (shared !== null && (await shared.isAnotherRunning()))
      throw new CliError([
        'another instance of the service runs, and could not open the secrets any more: stop all instances',
      ])
    return await rotateIn(dataDir, shared ?? collections)
  } finally {
    await shared?.close()
    await collections?.close()
    lock.release()
  }
}

/**
 * The result of a rotation. `unopened`: paths of texts that could not be decrypted. `nextPlace`: where the next
 * key was given; null: it was created.
 */
export interface RotationSummary {
  readonly resealed: number
  readonly unopened: readonly string[]
  readonly nextPlace: string | null
}

async function rotateIn(dataDir: string, store: DocumentStore): Promise<RotationSummary> {
  const nextGiven = givenMasterKey(nextMasterKeyVariable)
  const given = givenMasterKey(masterKeyVariable)
  const { current, next: pending } = loadMasterKeys(masterKeySource(dataDir, false), nextGiven)
  if (nextGiven === null && given !== null) {
    const place = given.where === masterKeyVariable ? nextMasterKeyVariable : `${given.where}-next`
    throw new CliError([`the master key is in ${given.where}: put the new key into ${place}`])
  }
  const next = pending ?? createNextKey(dataDir)
  const box = new SecretBox(next, [current])
  const { resealed, unopened } = await store.transact(({ all, put }) => {
    const resealed: string[] = []
    const upToDate: string[] = []
    const unopened: string[] = []
    const stored = documentCollections.flatMap((collection) =>
      all(collection).map(([key, document]) => ({ collection, key, document })),
    )
    for (const { collection, key, document } of stored) {
      const rotated = rotateSecrets(document, box)
      if (rotated.resealed.length > 0) put(collection, key, rotated.value)
      resealed.push(...rotated.resealed)
      upToDate.push(...rotated.upToDate)
      unopened.push(...rotated.unopened)
    }
    // A key that decrypts nothing is the wrong key: write nothing and delete no key.
    if (unopened.length > 0 && resealed.length + upToDate.length === 0) {
      throw new CliError([`the secrets in ${dataDir} were encrypted with another master key`])
    }
    return { resealed, unopened }
  })
  const audit = await rotateAudit(dataDir, box)
  adoptNextKey(dataDir, nextGiven !== null)
  return {
    resealed: resealed.length + audit.resealed.length,
    unopened: [...unopened, ...audit.unopened],
    nextPlace: nextGiven?.where ?? null,
  }
}

/** After the configuration: a rotation that is interrupted in between is completed by the next run. */
async function rotateAudit(dataDir: string, box: SecretBox): Promise<RotatedAuditSecrets> {
  if (!existsSync(join(dataDir, AUDIT_FOLDER, AUDIT_INDEX_FOLDER, DATA_FILE)))
    return { resealed: [], upToDate: [], unopened: [] }
  const index = await openAuditIndex(dataDir, true)
  try {
    return await rotateAuditSecrets(index, (sealed, path) => box.rewrap(sealed, path))
  } finally {
    await index.close()
  }
}

function linesOf({ resealed, unopened, nextPlace }: RotationSummary): string[] {
  return [
    `${resealed} secret${resealed === 1 ? '' : 's'} encrypted with the new master key`,
    ...unopened.map((place) => `${place} cannot be decrypted and was not changed`),
    ...(nextPlace !== null
      ? [
          `now set ${nextPlace === nextMasterKeyVariable ? masterKeyVariable : nextPlace.replace(/-next$/, '')} to the value of ${nextPlace}`,
        ]
      : ['earlier backups need the old key, which has been deleted from this folder']),
  ]
}
