// Checks the mode of a data folder, whose files contain everything that the service protects.
import { statSync } from 'node:fs'

const GROUP_AND_OTHERS = 0o077

/**
 * Returns a warning with the command that fixes it if other users may access the folder at `path`. Returns null if only its
 * owner may, if the folder does not exist, and on Windows.
 */
export function folderPermissionWarning(path: string): string | null {
  if (process.platform === 'win32') return null
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || !found.isDirectory() || (found.mode & GROUP_AND_OTHERS) === 0) return null
  const { mode } = found
  const shown = (mode & 0o7777).toString(8).padStart(4, '0')
  const quoted = `'${path.replaceAll("'", "'\\''")}'`
  return `the data folder ${path} has the mode ${shown}, so other users may access its files: run \`chmod -R go= ${quoted}\``
}
