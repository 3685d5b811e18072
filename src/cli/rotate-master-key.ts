// `rotate-master-key`: seals every secret of a stopped folder with a new key, and forgets the old one. The new key is on
// disk before it is used, all secrets change in one transaction, and only then does it take the old one's place: a run
// that is cut off anywhere leaves a folder whose secrets open, and is finished by the next.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CONFIGURATION, masterKeySource } from '../app/configuration.ts'
import { documentCollections } from '../config/repository.ts'
import {
  adoptNextKey,
  createNextKey,
  loadMasterKeys,
  masterKeyVariable,
  nextMasterKeyVariable,
} from '../identity/master-key.ts'
import { rotateSecrets } from '../identity/rotate-secrets.ts'
import { SecretBox } from '../identity/secret-box.ts'
import type { Settings } from '../settings.ts'
import { openCollections } from '../store/documents/collections.ts'
import { lockFolder } from '../store/process/folder-lock.ts'
import { CliError } from './cli-error.ts'

export async function rotateMasterKey(settings: Settings, json: boolean): Promise<void> {
  const { resealed, unopened, inEnvironment } = await rotate(settings)
  if (json) console.log(JSON.stringify({ resealed, unopened }))
  else for (const line of linesOf({ resealed, unopened, inEnvironment })) console.log(line)
}

/** Rejects with CliError or OperatorFault, and then the old key is still the one. */
export async function rotate({ dataDir }: Pick<Settings, 'dataDir'>): Promise<RotationSummary> {
  const folder = join(dataDir, CONFIGURATION)
  if (!existsSync(folder)) throw new CliError([`${dataDir} holds no organization, and so no secrets`])
  const lock = lockFolder(dataDir)
  try {
    return await rotateIn(dataDir, folder)
  } finally {
    lock.release()
  }
}

export interface RotationSummary {
  readonly resealed: number
  readonly unopened: readonly string[]
  readonly inEnvironment: boolean
}

async function rotateIn(dataDir: string, folder: string): Promise<RotationSummary> {
  const nextGiven = process.env[nextMasterKeyVariable] ?? ''
  const { current, next: begun } = loadMasterKeys(masterKeySource(dataDir, false), nextGiven)
  if (nextGiven === '' && (process.env[masterKeyVariable] ?? '') !== '') {
    throw new CliError([
      `the master key is in ${masterKeyVariable}: put the key that is to take its place into ${nextMasterKeyVariable}`,
    ])
  }
  const next = begun ?? createNextKey(dataDir)
  const box = new SecretBox(next, [current])
  const collections = openCollections(folder, {})
  try {
    const { resealed, unopened } = await collections.transact(({ all, put }) => {
      const resealed: string[] = []
      const kept: string[] = []
      const unopened: string[] = []
      const stored = documentCollections.flatMap((collection) =>
        all(collection).map(([key, document]) => ({ collection, key, document })),
      )
      for (const { collection, key, document } of stored) {
        const done = rotateSecrets(document, box)
        if (done.resealed.length > 0) put(collection, key, done.value)
        resealed.push(...done.resealed)
        kept.push(...done.upToDate)
        unopened.push(...done.unopened)
      }
      // A key that opens nothing is not the one of this folder: nothing is written, and no key is forgotten.
      if (unopened.length > 0 && resealed.length + kept.length === 0) {
        throw new CliError([`the master key is not the one that the secrets in ${dataDir} were sealed with`])
      }
      return { resealed, unopened }
    })
    adoptNextKey(dataDir, nextGiven)
    return { resealed: resealed.length, unopened, inEnvironment: nextGiven !== '' }
  } finally {
    await collections.close()
  }
}

function linesOf({ resealed, unopened, inEnvironment }: RotationSummary): string[] {
  return [
    `${resealed} secret${resealed === 1 ? '' : 's'} sealed with the new master key`,
    ...unopened.map((place) => `${place} does not open, and was left as it is`),
    ...(inEnvironment
      ? [`from now on, ${masterKeyVariable} holds what ${nextMasterKeyVariable} holds now`]
      : ['backups made before open with the old key alone, which is gone unless you kept it']),
  ]
}
