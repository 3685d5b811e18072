// A user error at the command line: printed as lines without a stack trace.
import { exitCodes } from './exit-codes.ts'

/** `lines`: the message, one entry per line. `exitCode`: that of a failure unless another one is given. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly lines: readonly string[]
  readonly exitCode: number
  constructor(lines: readonly string[], exitCode: number = exitCodes.failure.code) {
    super(lines.join('\n'))
    this.lines = lines
    this.exitCode = exitCode
  }
}

/** An error in the command line or the settings: the command does not run. */
export class UsageError extends CliError {
  override readonly name = 'UsageError'
  constructor(lines: readonly string[]) {
    super(lines, exitCodes.usage.code)
  }
}
