// The command line that runs this program in another process, from source, from the npm package or from the
// single binary.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AppOverrides } from '../../app/overrides.ts'
import type { ChildKind } from '../../processes/child-kinds.ts'

/** Hidden command that verifies one environment, started by `verify`. */
export const VERIFY_FOLDER_COMMAND = 'verify-folder'

/** File name of the program in the npm package: one file instead of the sources. */
export const SERVER_BUNDLE = 'verdigraph-server.js'

/** The file that Bun runs; undefined in the single executable, where files have virtual paths, and Bun reports that they exist. */
const program = import.meta.dirname.startsWith('/$bunfs')
  ? undefined
  : [join(import.meta.dirname, '..', '..', 'main.ts'), join(import.meta.dirname, SERVER_BUNDLE)].find((path) =>
      existsSync(path),
    )

/** True in the single executable. */
export const isBinary = program === undefined

/** The command lines of the processes that a serving process starts. */
export function processCommands(): Required<
  Pick<AppOverrides, 'laneCommand' | 'backgroundCommand' | 'backupCommand' | 'shippingCommand'>
> {
  return {
    laneCommand: childCommand('lane'),
    backgroundCommand: childCommand('background'),
    backupCommand: childCommand('backup-job'),
    shippingCommand: childCommand('shipper'),
  }
}

/** The command line of a process of a kind; its parent appends its process id. */
export function childCommand(kind: ChildKind): string[] {
  return selfCommand([kind])
}

/** The command line that runs this program with `args`. */
export function selfCommand(args: readonly string[]): string[] {
  return program === undefined ? [process.execPath, ...args] : [process.execPath, program, ...args]
}
