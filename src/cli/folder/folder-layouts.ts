// The layout versions of the environments of a data folder, read without a lock: another process may be serving it.
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { AUDIT_FOLDER, AUDIT_LOGS_FOLDER, DATA_FILE } from '../../kernel/folder/data-folder.ts'
import { baseName, interruptedMigrationMessage } from '../../store/lmdb/environment-folder.ts'
import { describeLayout, type LayoutState, readFolderLayout } from '../../store/lmdb/layout.ts'

/** The layout of one environment. */
interface EnvironmentLayout {
  /** Its path in the data folder. */
  readonly folder: string
  /** `unreadable`: the environment is damaged, or this user may not read it. */
  readonly state: LayoutState | 'interrupted' | 'unreadable'
  readonly message: string
}

/** The folders of all environments below a folder, also of those whose migration was interrupted. Throws the error of the system. */
export function environmentsIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true })
  if (entries.some(({ name }) => name === DATA_FILE)) return [baseName(folder)]
  // It has many folders and no environment.
  const logs = join(AUDIT_FOLDER, AUDIT_LOGS_FOLDER)
  const inner = entries
    .filter((entry) => entry.isDirectory() && !join(folder, entry.name).endsWith(logs))
    .flatMap(({ name }) => environmentsIn(join(folder, name)))
  return [...new Set(inner)].sort()
}

/** Reads the layouts. Throws the error of the system if the folder cannot be read. */
export async function readLayouts(dataDir: string): Promise<readonly EnvironmentLayout[]> {
  const found: EnvironmentLayout[] = []
  for (const path of environmentsIn(dataDir)) {
    const folder = relative(dataDir, path)
    if (!existsSync(join(path, DATA_FILE))) {
      found.push({ folder, state: 'interrupted', message: interruptedMigrationMessage(folder) })
      continue
    }
    try {
      found.push({ folder, ...describeLayout(await readFolderLayout(path)) })
    } catch (failure) {
      found.push({ folder, state: 'unreadable', message: failure instanceof Error ? failure.message : String(failure) })
    }
  }
  return found
}
