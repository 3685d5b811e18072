// The command line that runs this program in another process, from source, from the npm package or from the
// single binary.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Hidden command of a worker, started by `serve --workers`. */
export const WORKER_COMMAND = 'worker'
/** Hidden command of a lane, started by a serving process. */
export const LANE_COMMAND = 'lane'
/** Hidden command that verifies one environment, started by `verify`. */
export const VERIFY_FOLDER_COMMAND = 'verify-folder'

/** File name of the program in the npm package: one file instead of the sources. */
export const SERVER_BUNDLE = 'verdigraph-server.js'

/** The command line that runs this program with `args`. */
export function selfCommand(args: readonly string[]): string[] {
  const programs = [join(import.meta.dirname, '..', 'main.ts'), join(import.meta.dirname, SERVER_BUNDLE)]
  // In the binary they have a virtual path, for which Bun reports that it exists.
  const program = import.meta.dirname.startsWith('/$bunfs') ? undefined : programs.find((path) => existsSync(path))
  return program === undefined ? [process.execPath, ...args] : [process.execPath, program, ...args]
}
