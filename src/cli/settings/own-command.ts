// How the user can start this program again: printed commands must work when they are pasted.
import { basename } from 'node:path'
import { isBinary } from './self-command.ts'

/** The variable in which `verdigraph.sh` passes the path that it was started by. */
const STARTED_AS = '_VERDIGRAPH_STARTED_AS'

/** How the process was started. */
export interface StartedAs {
  /** True: the single executable of `npm run build`. */
  readonly binary: boolean
  /** The first argument of the process (argv[0]). */
  readonly argv0: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Returns the path of the program that a shell would start for a name; null: none. */
  which(name: string): string | null
}

/**
 * The name to start the program by: the name or path by which the binary was started, or `npx verdigraph` below npm. Programs
 * that are found by their name are not named by their path.
 */
export function ownName({ binary, argv0, environment, which }: StartedAs): string {
  if (binary) return argv0
  // npm adds folders to PATH that the shell of the user does not have.
  if (environment.npm_command !== undefined || environment.npm_lifecycle_event !== undefined) return 'npx verdigraph'
  const path = environment[STARTED_AS] ?? ''
  if (path === '') return 'npx verdigraph'
  return which(basename(path)) === path ? basename(path) : path
}

/** The command line of this program with `args`, quoted for a POSIX shell. */
export function ownCommand(args: readonly string[]): string {
  return [nameOfThisProcess(), ...args.map(quoted)].join(' ')
}

/** `ownName` of this process, quoted for a POSIX shell. */
export function nameOfThisProcess(): string {
  const name = ownName({
    binary: isBinary,
    argv0: process.argv0,
    environment: process.env,
    which: (program) => Bun.which(program),
  })
  return name === 'npx verdigraph' ? name : quoted(name)
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
