// What a configuration kind declares about itself. The service has no switch over kinds: a new kind is one such record.
import type { z } from 'zod'
import type { ServiceError } from '../kernel/errors.ts'
import type { Result } from '../kernel/result.ts'

/** The five authorship fields and the ETag that create and update answer (facts 1.7.1). */
export interface Authorship {
  readonly id: string
  readonly create_time: string
  readonly created_by: string
  readonly update_time: string
  readonly updated_by: string
}

/** The fields of a stored document that the kind owns, in wire names. */
export type Fields = Readonly<Record<string, unknown>>

/** One stored configuration document, as the repository keeps it. `revision` counts from 1; the ETag is made of it. */
export interface StoredDocument extends Authorship {
  readonly kind: string
  readonly revision: number
  readonly organization_id: string
  /** Empty for what does not live in a project. */
  readonly project_id: string
  /** The id of the direct parent, within which `name` is unique. */
  readonly parent_id: string
  /** Empty for kinds without names. */
  readonly name: string
  readonly fields: Fields
}

/** Read access to other documents, for checks. */
export interface ConfigReader {
  get(kind: string, id: string): StoredDocument | null
  getByName(kind: string, parentId: string, name: string): StoredDocument | null
  children(kind: string, parentId: string): readonly StoredDocument[]
}

/** What a hook may use; handed in by app.ts. Hooks run after the document is stored. */
export interface HookContext {
  readonly reader: ConfigReader
}

export interface ConfigKind {
  /** The last segment of `/configs/v1/{path}`; also the name of the kind in the repository. */
  readonly path: string
  /** For messages: `application agent`. */
  readonly label: string
  /** Field of the create body that names the parent, and the parent's kind. */
  readonly parent: { readonly field: string; readonly kind: string }
  readonly operations: {
    readonly create: boolean
    readonly update: boolean
    readonly delete: boolean
    /** Also found by `/{name}?project_id=` or `?location=`. */
    readonly byName: boolean
  }
  /** The whole create body, envelope included; the single source of its validation. Refuses unknown members. */
  readonly createSchema: z.ZodType<Record<string, unknown>>
  readonly updateSchema: z.ZodType<Record<string, unknown>> | null
  /** Create-body fields that are stored but never read back. */
  readonly secrets: readonly string[]
  /** Fields that come back empty in a list without `full_fetch`. */
  readonly heavy: readonly string[]
  /**
   * What the schema cannot say: references, compilation, rules between fields. Answers the fields to store.
   * `current` is null on create.
   */
  check(fields: Fields, current: StoredDocument | null, reader: ConfigReader): Result<Fields, ServiceError>
  /** Members of the create answer beside the authorship fields (an API key that is shown once). */
  created?(document: StoredDocument, context: HookContext): Promise<Fields>
  /** After an update or a deletion. */
  changed?(document: StoredDocument, context: HookContext): Promise<void>
  deleted?(document: StoredDocument, context: HookContext): Promise<void>
  /** Computed members of the read form (`ikg_status`). */
  present?(document: StoredDocument, context: HookContext): Fields
}
