// The mode of a data folder: its files hold everything that the service protects.
import { statSync } from 'node:fs'

const GROUP_AND_OTHERS = 0o077

/**
 * Why the folder at `path` should have another mode, with the command that gives it one. Null where only its user may
 * enter it, where it does not exist, and on systems without such modes.
 */
export function folderPermissionWarning(path: string): string | null {
  if (process.platform === 'win32') return null
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || !found.isDirectory() || (found.mode & GROUP_AND_OTHERS) === 0) return null
  const { mode } = found
  const shown = (mode & 0o7777).toString(8).padStart(4, '0')
  const quoted = `'${path.replaceAll("'", "'\\''")}'`
  return `the data folder ${path} has the mode ${shown}, so other users may reach its files: run \`chmod -R go= ${quoted}\``
}
