// The exit codes of the program. docs/reference/cli.md lists them from this table.

interface ExitCode {
  readonly code: number
  /** Markdown; a full sentence for the reference. */
  readonly meaning: string
}

/** Every exit code of every command. A signal that ends the process has its own code (128 and its number). */
export const exitCodes = {
  success: {
    code: 0,
    meaning:
      'The command succeeded: `verify` found no damage, `audit verify` found a sound log, `serve` stopped after a signal.',
  },
  failure: {
    code: 1,
    meaning:
      'The command ran and failed. For `verify` it means damage and nothing else; for `audit verify`, that the log is not sound; for `audit witness`, that it refused to cosign; for `lint`, that it found errors (with `--strict` also warnings); for `fmt --check`, that a file is not formatted.',
  },
  usage: {
    code: 2,
    meaning:
      'The command did not run: an unknown command or option, a missing or invalid value, an invalid setting. `verify` also has this code if it could not read a folder and found no damage in the others, and `audit verify` if it could not read the log.',
  },
} as const satisfies Record<string, ExitCode>
