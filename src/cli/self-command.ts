// The command line that runs this program in another process, from source, from the npm package or from the
// single binary.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AppOverrides } from '../app/overrides.ts'

/** Hidden command of a worker, started by `serve --workers`. */
export const WORKER_COMMAND = 'worker'
/** Hidden command of a lane, started by a serving process. */
export const LANE_COMMAND = 'lane'
/** Hidden command of the process that delivers events, started by a serving process. */
export const BACKGROUND_COMMAND = 'background'
/** Hidden command of the process that executes entity matching pipelines, started by the background process. */
export const MATCHER_COMMAND = 'matcher'
/** Hidden command of the process that makes a backup, started by a serving process. */
export const BACKUP_JOB_COMMAND = 'backup-job'
/** Hidden command of the process that ships changes, started by a serving process. */
export const SHIPPER_COMMAND = 'shipper'
/** Hidden command that verifies one environment, started by `verify`. */
export const VERIFY_FOLDER_COMMAND = 'verify-folder'

/** File name of the program in the npm package: one file instead of the sources. */
export const SERVER_BUNDLE = 'verdigraph-server.js'

/** The file that Bun runs; undefined in the single executable, where files have virtual paths, and Bun reports that they exist. */
const program = import.meta.dirname.startsWith('/$bunfs')
  ? undefined
  : [join(import.meta.dirname, '..', 'main.ts'), join(import.meta.dirname, SERVER_BUNDLE)].find((path) =>
      existsSync(path),
    )

/** True in the single executable. */
export const isBinary = program === undefined

/** The command lines of the processes that a serving process starts. */
export function processCommands(): Required<
  Pick<AppOverrides, 'laneCommand' | 'backgroundCommand' | 'backupCommand' | 'shippingCommand'>
> {
  return {
    laneCommand: selfCommand([LANE_COMMAND]),
    backgroundCommand: selfCommand([BACKGROUND_COMMAND]),
    backupCommand: selfCommand([BACKUP_JOB_COMMAND]),
    shippingCommand: selfCommand([SHIPPER_COMMAND]),
  }
}

/** The command line that runs this program with `args`. */
export function selfCommand(args: readonly string[]): string[] {
  return program === undefined ? [process.execPath, ...args] : [process.execPath, program, ...args]
}
