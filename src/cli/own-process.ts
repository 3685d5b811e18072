// The program's own command line in another process, as a checkout runs it and as the single binary does.

/** What `serve --workers` starts. */
export const WORKER_COMMAND = 'worker'

export function ownCommand(args: readonly string[]): string[] {
  const script = process.argv[1]
  // Within the binary the script has a path that no disk knows, and that Bun says exists.
  const inBinary = script === undefined || import.meta.dirname.startsWith('/$bunfs')
  return inBinary ? [process.execPath, ...args] : [process.execPath, script, ...args]
}
