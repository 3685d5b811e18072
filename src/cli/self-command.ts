// The command line that runs this program in another process, from source or from the single binary.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Hidden command of a worker, started by `serve --workers`. */
export const WORKER_COMMAND = 'worker'
/** Hidden command of a lane, started by a serving process. */
export const LANE_COMMAND = 'lane'
/** Hidden command that verifies one environment, started by `verify`. */
export const VERIFY_FOLDER_COMMAND = 'verify-folder'

/** The command line that runs this program with `args`. */
export function selfCommand(args: readonly string[]): string[] {
  const source = join(import.meta.dirname, '..', 'main.ts')
  // In the binary the source has a virtual path, for which Bun reports that it exists.
  const inBinary = import.meta.dirname.startsWith('/$bunfs') || !existsSync(source)
  return inBinary ? [process.execPath, ...args] : [process.execPath, source, ...args]
}
