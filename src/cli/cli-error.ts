// What a person at the command line did wrong: told in lines, without a stack, exit code 1.

export class CliError extends Error {
  override readonly name = 'CliError'
  readonly lines: readonly string[]
  constructor(lines: readonly string[]) {
    super(lines.join('\n'))
    this.lines = lines
  }
}
