// The program's own command line in another process, as a checkout runs it and as the single binary does.
import { existsSync } from 'node:fs'

export function ownCommand(args: readonly string[]): string[] {
  const script = process.argv[1]
  // Within the binary the script has a path that no disk knows.
  const inBinary = script === undefined || !existsSync(script)
  return inBinary ? [process.execPath, ...args] : [process.execPath, script, ...args]
}
