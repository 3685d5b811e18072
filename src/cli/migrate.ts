// The command `migrate`: upgrades all LMDB environments of a stopped data folder to the current storage format.
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { AUDIT_FOLDER, AUDIT_LOGS_FOLDER, DATA_FILE } from '../kernel/data-folder.ts'
import { OperationalError } from '../kernel/errors.ts'
import type { Settings } from '../settings.ts'
import { baseName } from '../store/lmdb/environment-folder.ts'
import { migrateFolder } from '../store/lmdb/migrate-folder.ts'
import { lockFolder } from '../store/process/folder-lock.ts'
import { progressLine } from './progress.ts'
import { recorded } from './record-operation.ts'

/** Runs `migrate`. Rejects with OperationalError if the folder does not exist, contains no store or is being served. */
export async function migrate(settings: Settings, json: boolean): Promise<void> {
  const membersOf = (migrated: readonly string[]): object => ({ migrated })
  await recorded(settings, 'svc.audit.operations.migrate', {}, () => migrateAll(settings, json), membersOf)
}

/** Returns the environments that were of an earlier version. */
async function migrateAll({ dataDir }: Settings, json: boolean): Promise<readonly string[]> {
  // The lock would create the folder.
  if (!existsSync(dataDir)) throw new OperationalError(`the folder ${dataDir} does not exist`)
  const lock = lockFolder(dataDir)
  const progress = progressLine(`opening ${dataDir}`)
  const migrated: string[] = []
  const untouched: string[] = []
  try {
    const folders = environmentsIn(dataDir)
    if (folders.length === 0) throw new OperationalError(`the folder ${dataDir} contains no store`)
    for (const folder of folders) {
      const name = relative(dataDir, folder)
      progress.show(0, null, name)
      const isNew = await migrateFolder(folder, (done, total) => progress.show(done, total, name))
      progress.clear()
      const list = isNew ? migrated : untouched
      list.push(name)
      if (!json) console.log(`${isNew ? 'migrated ' : 'unchanged'} ${name}`)
    }
    if (json) console.log(JSON.stringify({ migrated, untouched }))
    return migrated
  } finally {
    progress.end()
    lock.release()
  }
}

function environmentsIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true })
  if (entries.some(({ name }) => name === DATA_FILE)) return [baseName(folder)]
  // It has many folders and no environment.
  const logs = join(AUDIT_FOLDER, AUDIT_LOGS_FOLDER)
  const inner = entries
    .filter((entry) => entry.isDirectory() && !join(folder, entry.name).endsWith(logs))
    .flatMap(({ name }) => environmentsIn(join(folder, name)))
  return [...new Set(inner)].sort()
}
