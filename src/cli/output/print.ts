// All text that commands print. A name, an id or a value of the graph may contain control characters, which could change the terminal
// or add lines; so they are printed as escapes, and a JSON string with the escape has the same value. Does not use `console.error`:
// the runtime prints its whole lines in red on a terminal or with FORCE_COLOR, and then ignores NO_COLOR.
import { writeSync } from 'node:fs'
import { writeJson } from '../../kernel/json/json.ts'
import { errorColours, terminalLine } from './colours.ts'

const STDERR = 2

/** Prints one line. A line feed within it is printed as an escape, as other control characters are. */
export function printLine(line: string): void {
  console.log(terminalLine(line))
}

/** Prints a value for a program: JSON in one line, with exact numbers. */
export function printJson(value: unknown): void {
  printLine(writeJson(value))
}

/** Prints an answer: as JSON for a program, and otherwise as lines for people. */
export function printAnswer(asJson: boolean, value: unknown, linesOf: () => readonly string[]): void {
  if (asJson) printJson(value)
  else printLines(linesOf())
}

/** Prints lines at once. */
export function printLines(lines: readonly string[]): void {
  console.log(lines.map(terminalLine).join('\n'))
}

/**
 * Prints a document for a program, such as CSV, or a part of it: unchanged, but on a terminal with escapes as `printLine`. If the
 * reader has closed the pipe, as `head` does, the text is dropped, as `console.log` drops lines.
 */
export function printDocument(text: string): void {
  const { stdout } = process
  if (stdout.listenerCount('error', ignoreClosedPipe) === 0) stdout.on('error', ignoreClosedPipe)
  try {
    stdout.write(stdout.isTTY === true ? text.split('\n').map(terminalLine).join('\n') : text)
  } catch (error) {
    ignoreClosedPipe(error)
  }
}

function ignoreClosedPipe(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
}

/** Prints a line to the error stream, as `printLine`. Synchronous, because the process may exit next. */
export function printNotice(line: string): void {
  writeSync(STDERR, `${terminalLine(line)}\n`)
}

/** Prints an error message to the error stream. */
export function printError(line: string): void {
  printNotice(`${errorColours.red('error:')} ${line}`)
}

/** Prints an error message of several lines, such as a stack trace. */
export function printFailure(text: string): void {
  const [first = '', ...others] = text.split('\n')
  printError(first)
  for (const line of others) printNotice(line)
}

/** Prints an error of the command line, as commander words it: it quotes arguments, and may have a second line with a suggestion. */
export function printUsageError(text: string): void {
  for (const line of text.replace(/\n$/, '').split(/\n(?=\(Did you mean [^\n]*\?\)$)/)) printNotice(line)
}
