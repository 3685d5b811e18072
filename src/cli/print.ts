// What the command line says beside what it prints. Written by hand: the runtime's `console.error` paints whole lines red
// where it sees a terminal or FORCE_COLOR, the good news too, and knows no NO_COLOR then.
import { writeSync } from 'node:fs'
import { errorColours } from './colours.ts'

const STDERR = 2

/** Before it returns: the process may end in the next moment. */
export function printNotice(line: string): void {
  writeSync(STDERR, `${line}\n`)
}

export function printError(line: string): void {
  printNotice(`${errorColours.red('error:')} ${line}`)
}
