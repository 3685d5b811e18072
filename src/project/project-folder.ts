// The types of a project folder: the configuration of one project as files, without ids and without secrets.
import type { DocumentFields } from '../config/kind.ts'

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

/** A document that a member of another document names. */
export interface DocumentReference {
  /** The member of the create body that holds the id, such as `policy_id`. */
  readonly member: string
  /** Kind of the named document, such as `authorization-policies`. */
  readonly kind: string
  readonly name: string
}

/** A secret of a document: the path in the create body, and the text with its references, such as `Bearer ${env:TOKEN}`. */
export interface SecretText {
  /** Of the value in the body: `['headers', 'Authorization']`. */
  readonly path: readonly (string | number)[]
  readonly text: string
}

/** One configuration document of a project folder. */
export interface ProjectDocument {
  /** Kind, such as `authorization-policies`; also the last segment of `/configs/v1/{kind}`. */
  readonly kind: string
  readonly name: string
  /** Path of the file, relative to the project folder, with `/`. */
  readonly file: string
  /**
   * The body of a create request without `project_id` and without the members of `references`. Secrets are as in the file: texts
   * with references.
   */
  readonly body: DocumentFields
  /** The members to be filled with ids. */
  readonly references: readonly DocumentReference[]
  readonly secrets: readonly SecretText[]
  /**
   * The place of a member of the body, for errors that are found later. `path`: as in messages of the configuration interface,
   * such as `policy.condition.cypher`. A member that is not in the file has the place of the nearest one around it.
   */
  locate(path: string): FilePosition
}

/** A project folder that was read without an error. */
export interface ProjectFolder {
  /** Absolute path. */
  readonly folder: string
  /** The members of the project itself: name, display_name, description, region, db_connection and others. */
  readonly project: ProjectDocument
  /** The documents of the project: each refers only to earlier ones. */
  readonly documents: readonly ProjectDocument[]
  /** Paths of the scenario files, relative to the project folder, with `/`, sorted. */
  readonly scenarios: readonly string[]
}
