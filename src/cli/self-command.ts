// The program's own command line in another process, as a checkout runs it and as the single binary does.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** What `serve --workers` starts. */
export const WORKER_COMMAND = 'worker'
/** What a serving process starts for requests that are too large for its loop. */
export const LANE_COMMAND = 'lane'
/** What `verify` starts for each environment. */
export const VERIFY_FOLDER_COMMAND = 'verify-folder'

/** The same program again: from its source, or out of the one file that it was compiled into. */
export function selfCommand(args: readonly string[]): string[] {
  const source = join(import.meta.dirname, '..', 'main.ts')
  // Within the binary the source has a path that no disk knows, and that Bun says exists.
  const inBinary = import.meta.dirname.startsWith('/$bunfs') || !existsSync(source)
  return inBinary ? [process.execPath, ...args] : [process.execPath, source, ...args]
}
