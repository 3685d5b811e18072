// The command `migrate`: upgrades all LMDB environments of a stopped data folder to the current storage format.
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import type { Settings } from '../../settings.ts'
import { rewriteIntegers } from '../../store/graph/rewrite-integers.ts'
import { rewrittenRecords } from '../../store/integrity/verify-folder.ts'
import { graphLayout, readFolderLayout } from '../../store/lmdb/layout.ts'
import { migrateFolder } from '../../store/lmdb/migrate-folder.ts'
import { lockFolder } from '../../store/process/folder-lock.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printJson, printLine } from '../output/print.ts'
import { progressLine } from '../output/progress.ts'
import { environmentsIn, readLayouts } from './folder-layouts.ts'
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
      const isGraph = (await readFolderLayout(folder)).kind === graphLayout.kind
      const rewritten = isGraph ? await rewriteIntegers(folder) : 0
      progress.clear()
      const isMigrated = isNew || rewritten > 0
      const list = isMigrated ? migrated : untouched
      list.push(name)
      if (!json) printLine(`${isMigrated ? 'migrated ' : 'unchanged'} ${name}`)
    }
    if (json) printJson({ migrated, untouched })
    return migrated
  } finally {
    progress.end()
    lock.release()
  }
}

/**
 * Runs `migrate --check`: prints what a migration would do, without a lock, and sets exit code 1 if it would do something or would fail.
 * Throws OperationalError if the folder does not exist or contains no store.
 */
export async function checkMigration({ dataDir }: Settings, json: boolean): Promise<void> {
  if (!existsSync(dataDir)) throw new OperationalError(`the folder ${dataDir} does not exist`)
  const layouts = await readLayouts(dataDir)
  if (layouts.length === 0) throw new OperationalError(`the folder ${dataDir} contains no store`)
  const rewrites: { readonly folder: string; readonly message: string }[] = []
  for (const { state, folder } of layouts) {
    const path = join(dataDir, folder)
    if (state !== 'current' || (await readFolderLayout(path)).kind !== graphLayout.kind) continue
    rewrites.push(...(await rewrittenRecords(path)).map((message) => ({ folder, message })))
  }
  if (json) printJson({ layouts, rewrites })
  else {
    for (const { state, folder, message } of layouts) printLine(`${state.padEnd(11)} ${folder}: ${message}`)
    for (const { folder, message } of rewrites) printLine(`rewrite     ${folder}: ${message}`)
  }
  if (rewrites.length > 0 || layouts.some(({ state }) => state !== 'current')) process.exitCode = exitCodes.failure.code
}
