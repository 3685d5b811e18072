// The folder of an environment: file names, and what an interrupted migration leaves. Needs no LMDB.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_FILE } from '../../kernel/folder/data-folder.ts'

/** The folder into which a migration writes. */
export function migrationTarget(path: string): string {
  return `${path}.migrated`
}

/** The folder to which a migration moves the old environment before the new one replaces it. */
export function migrationBackup(path: string): string {
  return `${path}.before`
}

/** The path of the environment, given that path or one that an interrupted migration left. */
export function baseName(path: string): string {
  return path.replace(/\.(migrated|before)$/, '')
}

/** The message about an interrupted migration. */
export function interruptedMigrationMessage(path: string): string {
  return `the migration of ${baseName(path)} was interrupted; run \`verdigraph migrate\` to finish it`
}

/** Whether the folder contains an environment, also one whose migration was interrupted. */
export function holdsEnvironment(path: string): boolean {
  return existsSync(join(path, DATA_FILE)) || existsSync(migrationBackup(path))
}
