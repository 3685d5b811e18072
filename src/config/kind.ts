// What a configuration kind declares about itself, and the shapes that stored configuration is read and written by.
// The service has no switch over kinds: a new kind is one record of type ConfigKind.
import { z } from 'zod'
import type { ServiceError } from '../kernel/errors.ts'
import type { Result } from '../kernel/result.ts'

/** The five authorship fields that create and update answer (facts 1.7.1). */
export interface Authorship {
  readonly id: string
  readonly create_time: string
  readonly created_by: string
  readonly update_time: string
  readonly updated_by: string
}

/** The fields of a stored document that the kind owns, in wire names. */
export type DocumentFields = Readonly<Record<string, unknown>>

/** One stored configuration document, as the repository keeps it: frozen JSON. `revision` counts from 1. */
export interface StoredDocument extends Authorship {
  readonly kind: string
  readonly revision: number
  readonly organization_id: string
  /** Empty for what does not live in a project. */
  readonly project_id: string
  /** The id of the direct parent: the document goes when the parent goes. Empty for an organization. */
  readonly parent_id: string
  /** Empty for kinds without names. Unique among its kind within the project, or the organization where there is none. */
  readonly name: string
  readonly fields: DocumentFields
}

/** Where a document's name is unique, and what lists are filtered by. */
export function scopeOf(document: StoredDocument): string {
  return document.project_id === '' ? document.organization_id : document.project_id
}

/** Synchronous reads from one consistent snapshot. */
export interface ConfigReader {
  get(kind: string, id: string): StoredDocument | null
  /** `scopeId` is a project, or an organization for kinds that live in none. */
  getByName(kind: string, scopeId: string, name: string): StoredDocument | null
  /** In the order they were made. */
  children(kind: string, parentId: string): readonly StoredDocument[]
  inScope(kind: string, scopeId: string): readonly StoredDocument[]
  all(kind: string): readonly StoredDocument[]
}

export interface DocumentChange {
  /** Null: made by this change. */
  readonly before: StoredDocument | null
  /** Null: removed by this change. */
  readonly after: StoredDocument | null
}

/** The snapshot that moves on: what indexes are kept in step with. */
export interface ConfigSource extends ConfigReader {
  /** Called synchronously with each swap of the snapshot, before the write's promise resolves. */
  subscribe(listener: (changes: readonly DocumentChange[]) => void): void
}

/** A change in the making: reads see what it has written so far. */
export interface DocumentDraft extends ConfigReader {
  put(document: StoredDocument): void
  remove(kind: string, id: string): void
}

export interface ConfigWriter extends ConfigSource {
  /** Moves on to what any process has committed until now. */
  catchUp(): void
  /** What a document was before later revisions; null when there is no such revision of it. */
  pastRevision(kind: string, id: string, revision: number): StoredDocument | null
  /**
   * Runs `change` on the newest snapshot, one change at a time, then persists what it put and removed in one
   * transaction, then swaps the snapshot. Nothing happens when `change` or the store throws.
   */
  write<T>(change: (draft: DocumentDraft) => T): Promise<T>
}

/** Keeps a secret so that only the holder of the master key can read it back. `place` is bound into the result. */
export interface Sealer {
  seal(plain: string, place: string): string
  /** Throws when the key or the place is another one, or the text was changed. */
  open(sealed: string, place: string): string
}

/** The place of a secret field, for the Sealer. */
export function secretPath(kind: string, id: string, path: string): string {
  return `${kind}/${id}/${path}`
}

export interface CheckContext {
  readonly reader: ConfigReader
  /** Null on create. */
  readonly current: StoredDocument | null
  readonly parent: StoredDocument
  /** The members that the caller sent, where the merged fields do not tell. */
  readonly body: DocumentFields
}

/** What a check lets through: the fields to store, and what the create answer shows this once and nobody stores. */
export interface CheckedFields {
  readonly fields: DocumentFields
  readonly shown?: DocumentFields
}

export type ConfigOperation = 'created' | 'changed' | 'deleted'

export interface ConfigKind {
  /** The last segment of `/configs/v1/{path}`; also the name of the kind in the repository. */
  readonly path: string
  /** For messages: `application agent`. */
  readonly label: string
  /** Where it is not the label and an `s`. */
  readonly plural?: string
  /** Field of the create body that names the parent, and the parent's kind. */
  readonly parent: { readonly field: string; readonly kind: string }
  /** Its documents live in no project: names are unique in the organization, and lists are of it. */
  readonly inOrganization?: true
  readonly operations: {
    readonly create: boolean
    /** Kinds that cannot be updated answer no ETag. */
    readonly update: boolean
    readonly delete: boolean
    /** Also found by `/{name}?project_id=` or `?location=`. */
    readonly byName: boolean
  }
  /** The whole create body, envelope included; the single source of its validation. Refuses unknown members. */
  readonly createSchema: z.ZodObject
  readonly updateSchema: z.ZodObject | null
  /** The members of the read form beside the envelope, for the interface description; tests hold answers against it. */
  readonly readShape: z.ZodRawShape
  /** A second one in a project is a conflict. */
  readonly onePerProject?: true
  /**
   * Dotted paths of fields that are sealed at rest and never read back; a step `*` is every member. Absent in an update
   * keeps the stored one. A path that ends in `*` reads back its members as empty strings, and takes these for kept; a
   * member may be a list of strings there.
   */
  readonly secrets: readonly string[]
  /**
   * Where a secret is sent: by its path in `secrets`, the paths of the fields that say so; their steps `*` are those of the
   * secret. Who changes one of them gives the secret again, for an editor must not have a secret sent to where it can be read.
   */
  readonly secretDestinations?: Readonly<Record<string, readonly string[]>>
  /** Fields that are no secret and yet not read back. */
  readonly hiddenFields?: readonly string[]
  /** String fields that come back empty in a list without `full_fetch`. */
  readonly omittedInLists: readonly string[]
  /** Further query parameters of the list: name → allowed value → what it lets through. */
  readonly filters?: Readonly<Record<string, Readonly<Record<string, (document: StoredDocument) => boolean>>>>
  /** A body that may be spelled in several ways, in the one that is stored; before its secrets are sealed. */
  normaliseBody?(body: DocumentFields): DocumentFields
  /** Awaited before an update is checked: the check runs within a write, and may wait for nothing. */
  beforeUpdate?(document: StoredDocument, body: DocumentFields): Promise<void>
  /**
   * What the schema cannot say: references, compilation, rules between fields. `fields` is what would be stored, an
   * update already merged into the current document. Pure but for randomness.
   */
  check(fields: DocumentFields, context: CheckContext): Result<CheckedFields, ServiceError>
  /** The body of the create answer where it is not the five authorship fields. */
  readonly createResponse?: {
    readonly schema: z.ZodObject
    of(document: StoredDocument, shown: DocumentFields): DocumentFields
  }
  /** What members read back that the fields do not have (yet). */
  readonly defaults?: DocumentFields
  /** Members of the read form that the fields do not hold as they are. It sees a document without its secrets. */
  computedFields?(document: StoredDocument, reader: ConfigReader): DocumentFields
  /**
   * What must happen outside the configuration once the document is stored. Awaited before the caller is answered, one
   * at a time, in the order of the commits. A crash in between is made good at the next start: an effect may run twice,
   * so it is idempotent and looks at the present configuration first.
   */
  readonly effects?: Partial<Readonly<Record<ConfigOperation, (document: StoredDocument) => Promise<void>>>>
  /**
   * What stays of a document that goes because `removed`, which it lived in, was removed; null: nothing. Kept as a
   * document of `remainsKind`, for nobody to read but the feature that left it.
   */
  tombstone?(document: StoredDocument, removed: StoredDocument, reader: ConfigReader): Tombstone | null
  /** Why the document may not be removed; null when it may. `reader` still has it. */
  deletionBlocker?(document: StoredDocument, reader: ConfigReader): string | null
  /** A delete answers no body, where the interface says so. */
  readonly deleteReturnsNoBody?: true
}

/** The member, and the parameter of lists, that says where a document lives. */
export function scopeFieldOf({ inOrganization }: ConfigKind): 'organization_id' | 'project_id' {
  return inOrganization === true ? 'organization_id' : 'project_id'
}

export function pluralOf({ label, plural }: ConfigKind): string {
  return plural ?? `${label}s`
}

export function withArticle({ label }: ConfigKind): string {
  return /^[aeiou]/i.test(label) ? `an ${label}` : `a ${label}`
}

export interface Tombstone {
  readonly fields: DocumentFields
  /** RFC 3339; what stays beyond it is swept at a start. */
  readonly until: string
}

export function tombstoneKind(path: string): string {
  return `gone-${path}`
}

// -- the common envelope (facts 1.7.2)

const name = z
  .string()
  .min(2)
  .max(63)
  .regex(/^[a-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/, {
    error: 'expected a lower-case letter, then letters, digits and hyphens, and no hyphen at the end',
  })

/** Members of a create body. Null counts as absent. */
export const envelope = {
  name,
  display_name: z.string().min(2).max(254).nullish(),
  description: z.string().min(2).max(65_000).nullish(),
}

/** Members of an update body: null or absent keeps, an empty string removes. */
export const envelopeUpdate = {
  display_name: z.string().max(254).nullish(),
  description: z.string().max(65_000).nullish(),
}

/** Every member of a read form that holds a timestamp, or nothing yet. */
export const readTimestamp = z.iso.datetime()

/** What every kind reads back, by whether its documents have names and can be updated (facts 1.7.2). */
export function readSchemaOf(kind: ConfigKind): z.ZodObject {
  const named = Object.hasOwn(kind.createSchema.shape, 'name')
  return z.strictObject({
    id: z.string(),
    ...(named && { name: z.string() }),
    display_name: z.string(),
    ...(named && { description: z.string() }),
    organization_id: z.string(),
    ...(kind.inOrganization !== true && { project_id: z.string() }),
    ...kind.readShape,
    create_time: readTimestamp,
    created_by: z.string(),
    ...(kind.operations.update && { update_time: readTimestamp, updated_by: z.string() }),
  })
}

export const authorshipSchema = z.strictObject({
  id: z.string(),
  create_time: readTimestamp,
  created_by: z.string(),
  update_time: readTimestamp,
  updated_by: z.string(),
})

/** Words to choose documents by; each once. */
export const tagList = z
  .array(z.string().min(1).max(254))
  .max(100)
  .refine((tags) => new Set(tags).size === tags.length, { error: 'a tag is given twice' })

/** The type of a node, as those who configure it write it: a label in PascalCase. */
export const nodeTypeName = z
  .string()
  .min(2)
  .max(64)
  .regex(/^\p{Lu}[\p{L}\p{N}_]*$/u, { error: 'expected a capital letter, then letters, digits and `_`' })

/** A reference to another document; that it exists is checked later. */
export const reference = z.string().min(1).max(256)
