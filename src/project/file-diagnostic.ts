// Errors in the files of a project folder, each with its place. No imports, because the declarations of the package contain these types.

/** A place in a file, for messages. */
export interface FilePosition {
  /** Path of the file, relative to the project folder, with `/`. */
  readonly file: string
  /** 1-based. */
  readonly line: number
  /** 1-based, in UTF-16 code units. */
  readonly column: number
}

/** An error in a file. */
export interface FileDiagnostic extends FilePosition {
  /** Lower case, no full stop; text of the author in back-ticks. */
  readonly message: string
}

/** Formats an error as `policies/drive.policy.yaml:3:5: …`. */
export function formatFileDiagnostic({ file, line, column, message }: FileDiagnostic): string {
  return `${file}:${line}:${column}: ${message}`
}

/** A project folder or a scenario that cannot be used. The message has one line for each error. */
export class ProjectFolderError extends Error {
  override readonly name = 'ProjectFolderError'
  /** At least one, in the order of files and lines. */
  readonly diagnostics: readonly FileDiagnostic[]

  constructor(diagnostics: readonly FileDiagnostic[]) {
    super(diagnostics.map(formatFileDiagnostic).join('\n'))
    this.diagnostics = diagnostics
  }
}
