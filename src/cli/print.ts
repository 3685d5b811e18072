// Writes messages to the error stream. Does not use `console.error`: the runtime prints its whole lines in red on a
// terminal or with FORCE_COLOR, and then ignores NO_COLOR.
import { writeSync } from 'node:fs'
import { errorColours } from './colours.ts'

const STDERR = 2

/** Prints a line to the error stream. Synchronous, because the process may exit next. */
export function printNotice(line: string): void {
  writeSync(STDERR, `${line}\n`)
}

/** Prints an error message to the error stream. */
export function printError(line: string): void {
  printNotice(`${errorColours.red('error:')} ${line}`)
}
