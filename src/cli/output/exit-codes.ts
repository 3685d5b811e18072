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
      'The command succeeded: `verify` found no damage, `audit verify` found a sound log, `serve` stopped after a signal, `doctor` found nothing that has to be mended, `health` found the service alive and ready, `check` and `why` found the request granted, `who`, `what` and `actions` found results.',
  },
  failure: {
    code: 1,
    meaning:
      'The command ran and failed. For `verify` it means damage and nothing else; for `audit verify`, that the log is not sound; for `audit witness`, that it refused to cosign; for `lint`, that it found errors (with `--strict` also warnings); for `copy`, that the graphs differ; for `fmt --check`, that a file is not formatted; for `test`, that a check failed or the coverage is below the minimum; for `bench`, that an answer was wrong or an error, or that the rate of `--rate` was not reached; for `replay`, that the decision changed; for `check` and `why`, that the request is denied; for `health`, that the service does not answer or is not ready; for `doctor`, that a check failed; for `migrate --check`, that a migration is needed or cannot be done; for `who`, `what` and `actions`, that there are no results.',
  },
  usage: {
    code: 2,
    meaning:
      'The command did not run: an unknown command or option, a missing or invalid value, an invalid setting. `verify` also has this code if it could not read a folder and found no damage in the others, and `audit verify` if it could not read the log; `test` has it if a scenario file, its project or its graph is not valid, and `apply`, `plan` and `pull` if the project folder cannot be read; `check`, `why`, `who`, `what`, `actions`, `query`, `policy`, `shell`, `context` and `bench` have it for every error.',
  },
  changes: {
    code: 3,
    meaning: '`plan --exit-code` found documents or decisions that would change, or could not compare all of them.',
  },
} as const satisfies Record<string, ExitCode>
