// The folder of an environment: what its files are called, and what a migration that was cut off leaves of it. Known to whoever
// moves or looks at folders, and needs no LMDB.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The package's name for the file in the folder. */
export const DATA_FILE = 'data.mdb'

/** And for the table of those who read it, in every process. */
export const LOCK_FILE = 'lock.mdb'

/** Where a migration writes the new folder, and where it puts the old one before the new one takes its place. */
export function migrationTarget(path: string): string {
  return `${path}.migrated`
}

export function migrationBackup(path: string): string {
  return `${path}.before`
}

/** The folder itself, of what a migration that was cut off may have left. */
export function baseName(path: string): string {
  return path.replace(/\.(migrated|before)$/, '')
}

/** What to tell of it. */
export function interruptedMigrationMessage(path: string): string {
  return `the migration of ${baseName(path)} was cut off; \`verdigraph migrate\` finishes it`
}

/** Something is stored there, be it that a migration was cut off in between. */
export function holdsEnvironment(path: string): boolean {
  return existsSync(join(path, DATA_FILE)) || existsSync(migrationBackup(path))
}
