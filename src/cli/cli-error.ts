// A user error at the command line: printed as lines without a stack trace, exit code 1.

/** `lines`: the message, one entry per line. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly lines: readonly string[]
  constructor(lines: readonly string[]) {
    super(lines.join('\n'))
    this.lines = lines
  }
}
