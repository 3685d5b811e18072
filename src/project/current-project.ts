// The configuration of a project as it is stored, in the terms of a project folder: names in place of ids, and no secrets.
import type { DocumentFields } from '../config/kind.ts'
import type { DocumentReference } from './project-folder.ts'

/** One stored document of a project. */
export interface CurrentDocument {
  /** Kind, such as `authorization-policies`. */
  readonly kind: string
  readonly id: string
  readonly name: string
  /** The body of a create request without the name, without `project_id`, the members of `references`, and secrets. */
  readonly body: DocumentFields
  readonly references: readonly DocumentReference[]
  /** The paths of its secrets in the body: `['headers', 'Authorization']`; a list of secrets has one path. */
  readonly secrets: readonly (readonly string[])[]
}

/** All documents of a project that a project folder can have, as of one commit. */
export interface CurrentProject {
  /** Differs between any two states of these documents. In quotes, as the header `If-Match` has it. */
  readonly etag: string
  /** The document of the project itself. */
  readonly project: CurrentDocument
  /** The others, in the order of `fileKinds` and of their names. */
  readonly documents: readonly CurrentDocument[]
  /** Number of credentials by the id of the application agent that has them. */
  readonly credentials: Readonly<Record<string, number>>
}
