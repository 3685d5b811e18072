// The types of a project folder: the configuration of one project as files, without ids and without secrets.
import type { DocumentFields } from '../config/kind.ts'
import type { FilePosition } from './file-diagnostic.ts'

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
export interface FolderDocument {
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
  /** The path in the file of a path in such messages: `cypher` for `policy.condition.cypher`. */
  pathInFile(path: string): string
}

/** A project folder that was read without an error. */
export interface ProjectFolder {
  /** Absolute path. */
  readonly folder: string
  /** The members of the project itself: name, display_name, description, region, db_connection and others. */
  readonly project: FolderDocument
  /** The documents of the project: each refers only to earlier ones. */
  readonly documents: readonly FolderDocument[]
  /** Paths of the scenario files, relative to the project folder, with `/`, sorted. */
  readonly scenarios: readonly string[]
}
