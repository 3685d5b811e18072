// Declarations of configuration kinds, and the shapes in which stored configuration is read and written. The service
// has no switch over kinds: a new kind is one record of type ConfigKind, which `defineKind` derives from its fields.
import { z } from 'zod'
import type { ServiceError } from '../kernel/errors.ts'
import type { Result } from '../kernel/result.ts'

/** Kind name of organizations. Kinds that several features refer to have their names here, the others next to the kind. */
export const organizationsKind = 'organizations'
/** Kind name of projects. */
export const projectsKind = 'projects'
/** Kind name of applications. */
export const applicationsKind = 'applications'
/** Kind name of application agents. */
export const applicationAgentsKind = 'application-agents'
/** Kind name of knowledge queries. */
export const queriesKind = 'knowledge-queries'
/** Kind name of external data resolvers. */
export const resolversKind = 'external-data-resolvers'

/** The five authorship members that create and update return (docs/decisions/0012-configuration-resources.md). */
export interface Authorship {
  readonly id: string
  /** RFC 3339, like `update_time`. */
  readonly create_time: string
  /** Id of the service account. */
  readonly created_by: string
  readonly update_time: string
  /** Id of the service account. */
  readonly updated_by: string
}

/** The fields of a stored document that its kind defines, under their wire names. */
export type DocumentFields = Readonly<Record<string, unknown>>

/** A stored configuration document: frozen JSON. `revision` counts from 1. */
export interface StoredDocument extends Authorship {
  /** The kind name, such as `projects`. */
  readonly kind: string
  readonly revision: number
  /** The organization that owns the document. */
  readonly organization_id: string
  /** Empty for a document outside of projects. */
  readonly project_id: string
  /** The id of the direct parent; deleting the parent deletes this document. Empty for an organization. */
  readonly parent_id: string
  /** Empty for kinds without names. Unique within the kind and the scope (`scopeOf`). */
  readonly name: string
  readonly fields: DocumentFields
}

/**
 * The scope of a document: its project, or its organization if it is in no project. Names are unique within a scope,
 * and lists filter by it.
 */
export function scopeOf(document: StoredDocument): string {
  return document.project_id === '' ? document.organization_id : document.project_id
}

/** Synchronous reads of one consistent snapshot. */
export interface ConfigReader {
  /** Returns null if there is no document of this kind with this id. */
  get(kind: string, id: string): StoredDocument | null
  /** `scopeId`: a project id, or an organization id for kinds outside of projects. */
  getByName(kind: string, scopeId: string, name: string): StoredDocument | null
  /** The documents below a parent, in order of creation. */
  children(kind: string, parentId: string): readonly StoredDocument[]
  /** The documents of a scope, in order of creation. */
  inScope(kind: string, scopeId: string): readonly StoredDocument[]
  /** All documents of a kind, in order of creation. */
  all(kind: string): readonly StoredDocument[]
}

/** One created, updated or deleted document. */
export interface DocumentChange {
  /** Null: created by this change. */
  readonly before: StoredDocument | null
  /** Null: deleted by this change. */
  readonly after: StoredDocument | null
}

/** Reads of the current snapshot, and notification of each new one. Indexes subscribe to it. */
export interface ConfigSource extends ConfigReader {
  /** Calls `listener` synchronously with each new snapshot, before the promise of the write resolves. */
  subscribe(listener: (changes: readonly DocumentChange[]) => void): void
}

/** A change in progress: reads return what it has written so far. */
export interface DocumentDraft extends ConfigReader {
  /** Creates or replaces a document. */
  put(document: StoredDocument): void
  /** Deletes a document; no effect if none exists. */
  remove(kind: string, id: string): void
  /** Appends a record of `count` events to a stream of the outbox, in the transaction of the change. */
  appendEvents(stream: string, record: Uint8Array, count: number): void
}

/** Reads and writes of the configuration. */
export interface ConfigWriter extends ConfigSource {
  /** Moves the snapshot to the last commit of any process. */
  catchUp(): void
  /** A past revision of a document, or null if there is no such revision. */
  pastRevision(kind: string, id: string, revision: number): StoredDocument | null
  /**
   * Runs `change` on the newest snapshot, one change at a time. Then persists its writes in one transaction and
   * replaces the snapshot. Resolves with what `change` returned. If `change` or the store throws, nothing is written
   * and the promise rejects.
   */
  write<T>(change: (draft: DocumentDraft) => T): Promise<T>
  /** As `write` on the current snapshot, without writing anything. Returns what `change` returned. */
  rehearse<T>(change: (draft: DocumentDraft) => T): T
}

/**
 * Encrypts secrets so that only the holder of the master key can read them. `path` (see `secretPath`) is authenticated
 * with the ciphertext.
 */
export interface Sealer {
  /** Encrypts `plain` for `path`. */
  seal(plain: string, path: string): string
  /** Decrypts. Throws if the key or the path differs, or if the text was changed. */
  open(sealed: string, path: string): string
}

/** The path of a secret field, for `Sealer`. */
export function secretPath(kind: string, id: string, path: string): string {
  return `${kind}/${id}/${path}`
}

/** Inputs of a kind's check. */
export interface CheckContext {
  readonly reader: ConfigReader
  /** Null on create. */
  readonly current: StoredDocument | null
  /** The parent of the document. */
  readonly parent: StoredDocument
  /** The request body without null members, for checks that depend on which members the caller sent. */
  readonly body: DocumentFields
}

/**
 * The result of a check: the fields to store, and members that only the create response contains and that are not
 * stored.
 */
export interface CheckedFields {
  readonly fields: DocumentFields
  readonly shown?: DocumentFields
}

/** See `ConfigKind.trial`. */
interface DocumentTrial {
  /** The body of the response to a dry run. */
  readonly schema: z.ZodObject
  /**
   * Tests the document, which has passed the check and may be stored. `current`: null on create. `body`: the request body.
   * Returns fields to store in addition. Errors: `invalid`.
   */
  run(
    document: StoredDocument,
    current: StoredDocument | null,
    body: DocumentFields,
  ): Promise<Result<DocumentFields, ServiceError>>
  /** The response to a dry run. */
  describe(document: StoredDocument): DocumentFields
}

/** The operations that side effects follow. */
export type ConfigOperation = 'created' | 'changed' | 'deleted'

/** One configuration kind. `defineKind` (define-kind.ts) derives the schemas and lists of fields from one declaration of each field. */
export interface ConfigKind {
  /** The last segment of `/configs/v1/{path}`; also the name of the kind in the repository. */
  readonly path: string
  /** Singular name for messages, such as `application agent`. */
  readonly label: string
  /** Plural name, if it is not the label with an `s`. */
  readonly plural?: string
  /** The create member that holds the parent's id, and the parent's kind. */
  readonly parent: { readonly field: string; readonly kind: string }
  /** The documents are outside of projects: names are unique in the organization, and a list covers the organization. */
  readonly inOrganization?: true
  /** Documents have a name, and a description. */
  readonly isNamed: boolean
  /** The operations that the interface offers for this kind. */
  readonly operations: {
    readonly create: boolean
    /** Responses of kinds without update have no time and author of an update. */
    readonly update: boolean
    readonly delete: boolean
    /** Documents are also found by `/{name}?project_id=` or `?location=`. */
    readonly byName: boolean
  }
  /** The whole create body with the envelope: the single source of its validation. Rejects unknown members. */
  readonly createSchema: z.ZodObject
  /** The whole update body; null if the kind has no update. */
  readonly updateSchema: z.ZodObject | null
  /** The whole body of a read response, for the OpenAPI description. Tests validate responses against it. */
  readonly readSchema: z.ZodObject
  /** A project has at most one document of this kind; creating a second is a conflict. */
  readonly onePerProject?: true
  /**
   * Dotted paths of fields that are encrypted at rest and never returned; a step `*` means every member. If an update
   * omits one, the stored secret stays. Members of a path that ends in `*` are returned as empty strings, and an empty
   * string in an update keeps the stored secret; such a member may be a list of strings.
   */
  readonly secrets: readonly string[]
  /**
   * Where each secret is sent: by its path in `secrets`, the paths of the fields that name the destination. Their `*`
   * steps are those of the secret. A change of a destination requires the secret again; otherwise an editor could have
   * it sent to a server of their own.
   */
  readonly secretDestinations: Readonly<Record<string, readonly string[]>>
  /** Fields that responses omit although they are not secret. */
  readonly hiddenFields: readonly string[]
  /** String fields that are empty in lists without `full_fetch`. */
  readonly omittedInLists: readonly string[]
  /** Additional query parameters of the list: name → allowed value → predicate. */
  readonly filters?: Readonly<Record<string, Readonly<Record<string, (document: StoredDocument) => boolean>>>>
  /** Converts alternative spellings of a body into the stored one, before its secrets are encrypted. */
  normaliseBody?(body: DocumentFields): DocumentFields
  /** Awaited before an update is checked. The check itself runs within a write and is synchronous. */
  beforeUpdate?(document: StoredDocument, body: DocumentFields): Promise<void>
  /**
   * Checks what the schema cannot express: references, compilation, rules between fields. `fields` are the fields to
   * store; an update is already merged into the current document. No side effects except drawing random numbers.
   * Errors: `invalid`, `conflict`.
   */
  check(fields: DocumentFields, context: CheckContext): Result<CheckedFields, ServiceError>
  /**
   * A test of what the document refers to outside of the service. It runs before the write, which is synchronous, and may take
   * seconds. `?dry_run=true` runs it and stores nothing.
   */
  readonly trial?: DocumentTrial
  /** The body of the create response, if it is not the five authorship members. */
  readonly createResponse?: {
    readonly schema: z.ZodObject
    of(document: StoredDocument, shown: DocumentFields): DocumentFields
  }
  /** Values that responses contain for members that are not stored. */
  readonly defaults: DocumentFields
  /** What the check stores for members that a create body does not have. */
  readonly storedDefaults: DocumentFields
  /** Members that are JSON texts: texts of equal values mean the same. */
  readonly jsonTexts: readonly string[]
  /** Members of responses that are computed from the document. `document` contains no secrets. */
  computedFields?(document: StoredDocument, reader: ConfigReader): DocumentFields
  /**
   * Warnings about a document that was stored, for the response of the create or update. The document is valid, so this never
   * rejects.
   */
  warnings?(document: StoredDocument, reader: ConfigReader): Promise<readonly string[]>
  /**
   * Adds to a response what is not configuration, such as counts. `response`: the body without it. A past revision has the
   * present state.
   */
  withState?(document: StoredDocument, response: DocumentFields): Promise<DocumentFields>
  /**
   * Side effects outside of the configuration. Awaited before the response, one at a time, in commit order. After a
   * crash the next start repeats an effect that may not have finished, so each is idempotent and reads the current
   * configuration first.
   */
  readonly effects?: Partial<Readonly<Record<ConfigOperation, (document: StoredDocument) => Promise<void>>>>
  /**
   * The tombstone that remains of a document that is deleted because `removed`, one of its ancestors, is deleted; null:
   * none. Stored as a document of kind `tombstoneKind(path)` for this feature alone.
   */
  tombstone?(document: StoredDocument, removed: StoredDocument, reader: ConfigReader): Tombstone | null
  /**
   * Finds other documents of the project that would no longer be valid if `before` became `after`, for a kind that others are compiled with.
   * Returns an issue for each; empty: the change may be stored. Null: no document. `reader` has the other documents as they will be.
   */
  consequences?(
    reader: ConfigReader,
    projectId: string,
    before: DocumentFields | null,
    after: DocumentFields | null,
  ): readonly string[]
  /** The reason why the document cannot be deleted, or null. `reader` still contains it. */
  deletionBlocker?(document: StoredDocument, reader: ConfigReader): string | null
  /** The delete response has no body. */
  readonly deleteReturnsNoBody?: true
}

/** The member and list parameter that names the scope of a document. */
export function scopeFieldOf({ inOrganization }: ConfigKind): 'organization_id' | 'project_id' {
  return inOrganization === true ? 'organization_id' : 'project_id'
}

/** The plural name of a kind, for messages. */
export function pluralOf({ label, plural }: ConfigKind): string {
  return plural ?? `${label}s`
}

/** The label with `a` or `an`. */
export function withArticle({ label }: ConfigKind): string {
  return /^(?:[aeiou]|MCP)/i.test(label) ? `an ${label}` : `a ${label}`
}

/** The remains of a deleted document. */
export interface Tombstone {
  readonly fields: DocumentFields
  /** RFC 3339. Expired tombstones are deleted at each start. */
  readonly until: string
}

/** The kind under which the tombstones of the kind `path` are stored. */
export function tombstoneKind(path: string): string {
  return `gone-${path}`
}

// -- schemas that all kinds share

const name = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/, {
    error: 'expected a lower-case letter, then letters, digits and hyphens, and no hyphen at the end',
  })

/** The envelope of a create body. Null means absent. */
export const envelope = {
  name,
  display_name: z.string().min(2).max(254).nullish(),
  description: z.string().min(2).max(65_000).nullish(),
}

/** The envelope of an update body. Null or absent keeps the value; an empty string removes it. */
export const envelopeUpdate = {
  display_name: z.string().max(254).nullish(),
  description: z.string().max(65_000).nullish(),
}

/** A timestamp in responses. */
export const readTimestamp = z.iso.datetime()

/** The create and update response of a kind that declares no other. */
export function authorshipSchemaOf({ warnings }: ConfigKind): z.ZodObject {
  return warnings === undefined ? authorshipSchema : authorshipWithWarnings
}

const readWarnings = z
  .array(z.string())
  .optional()
  .describe('what is probably a mistake in the stored document, such as names that no capture has ever used')

/** The five authorship members. */
export const authorshipSchema = z
  .strictObject({
    id: z.string(),
    create_time: readTimestamp,
    created_by: z.string(),
    update_time: readTimestamp,
    updated_by: z.string(),
  })
  .meta({ id: 'Authorship' })

const authorshipWithWarnings = authorshipSchema
  .extend({ warnings: readWarnings })
  .meta({ id: 'AuthorshipWithWarnings' })

/** The id of another document; its existence is checked later. */
export const reference = z.string().min(1).max(256)

/** Tags for filtering documents, without duplicates. */
export const tagList = z
  .array(z.string().min(1).max(254))
  .max(100)
  .refine((tags) => new Set(tags).size === tags.length, { error: 'duplicate tag' })
