// The declaration of a configuration kind: each field once. The bodies of create and update, responses, defaults, secrets with their
// destinations, the API description and the file schema of the project folder follow from it.
import { z } from 'zod'
import {
  type ConfigKind,
  type DocumentFields,
  envelope,
  envelopeUpdate,
  projectsKind,
  readTimestamp,
  reference,
} from './kind.ts'

/** Where a field appears, and how. Null schemas: it is not there. */
interface FieldParts {
  readonly create: z.ZodType | null
  readonly update: z.ZodType | null
  readonly read: z.ZodType | null
  readonly isRequired?: true
  /** An update must have it, too. */
  readonly isInEveryUpdate?: true
  /** `update` and `read` say themselves whether the member is optional. */
  readonly isUpdateExact?: true
  readonly isReadExact?: true
  /** Of the member in both bodies. */
  readonly description?: string
  readonly default?: unknown
  readonly storedDefault?: unknown
  /** By the path below the field, which is empty for the field itself: the destinations. */
  readonly secrets?: Readonly<Record<string, readonly string[]>>
  readonly isHidden?: true
  readonly isJsonText?: true
  readonly isEmptyInLists?: true
}

/**
 * One field of a kind. `field`, `shown` and `hidden` make one; each method returns a changed copy. A field is optional in both bodies
 * and in responses unless a method changes that; null is an absent member.
 */
export class KindField {
  readonly parts: FieldParts

  constructor(parts: FieldParts) {
    this.parts = parts
  }

  /** A create must have the field; an update may. */
  required(): KindField {
    return this.with({ isRequired: true })
  }

  /** As `required`, and an update must have it, too. */
  requiredInUpdates(): KindField {
    return this.with({ isRequired: true, isInEveryUpdate: true })
  }

  /** The field cannot be changed after creation. */
  fixed(): KindField {
    return this.with({ update: null })
  }

  /** Describes the member of both bodies. A description of `schema` itself is in responses, too, if the schema is named. */
  describe(description: string): KindField {
    return this.with({ description })
  }

  /** Responses show `value` if the field is not stored. */
  default(value: unknown): KindField {
    return this.with({ default: value })
  }

  /** The check of the kind stores `value` if a create has no such member. Files leave it out. */
  storedDefault(value: unknown): KindField {
    return this.with({ storedDefault: value })
  }

  /** The member of an update, if it differs, with `nullish`: for example where an empty string removes the value. */
  update(schema: z.ZodType): KindField {
    return this.with({ update: schema, isUpdateExact: true })
  }

  /** The member of a response, if it is not `readForm` of that of a create: required unless optional. Null: no response has it. */
  read(schema: z.ZodType | null): KindField {
    return this.with({ read: schema, isReadExact: true })
  }

  /**
   * The field, or what is at `at` below it, is secret (`ConfigKind.secrets`). `sentTo`: the dotted paths of the fields that name its
   * destination (`ConfigKind.secretDestinations`). `at: '*'`: the field is a map, whose values responses mask.
   */
  secret({ at = '', sentTo = [] }: { readonly at?: string; readonly sentTo?: readonly string[] } = {}): KindField {
    const { create, update, read, secrets } = this.parts
    const sealed = { secrets: { ...secrets, [at]: sentTo } }
    if (at === '') return this.with({ ...sealed, read: null })
    if (at !== '*' || !(create instanceof z.ZodRecord)) return this.with({ ...sealed, create, update, read })
    return this.with({ ...sealed, update: withMasks(create), read: masked(create) })
  }

  /** The field is a JSON text: texts of equal values mean the same. */
  jsonText(): KindField {
    return this.with({ isJsonText: true })
  }

  /** Lists without `full_fetch` have an empty string in place of the text. */
  emptyInLists(): KindField {
    return this.with({ isEmptyInLists: true })
  }

  private with(parts: Partial<FieldParts>): KindField {
    return new KindField({ ...this.parts, ...parts })
  }
}

/** A field of create and update bodies and of responses. `schema`: the member of a create body, without `nullish`. */
export function field(schema: z.ZodType): KindField {
  return new KindField({ create: schema, update: schema, read: readForm(schema) })
}

/** A field of responses that no body has: computed, or written by the service. Required unless `schema` is optional. */
export function shown(schema: z.ZodType): KindField {
  return new KindField({ create: null, update: null, read: schema, isReadExact: true })
}

/** A stored field that no body and no response has. */
export function hidden(): KindField {
  return new KindField({ create: null, update: null, read: null, isHidden: true })
}

/** The members of `ConfigKind` that `defineKind` derives. */
type Derived =
  | 'createSchema'
  | 'updateSchema'
  | 'readSchema'
  | 'secrets'
  | 'secretDestinations'
  | 'hiddenFields'
  | 'omittedInLists'
  | 'defaults'
  | 'storedDefaults'
  | 'jsonTexts'

/** A kind as its author writes it: its fields in the order of bodies and responses, and the parts that are not derived. */
type KindDefinition = Omit<ConfigKind, Derived | 'parent' | 'operations' | 'isNamed'> & {
  /** Absent: the project. */
  readonly parent?: ConfigKind['parent']
  /** Absent: all. */
  readonly operations?: ConfigKind['operations']
  /** Absent: documents have a name and a description. */
  readonly isNamed?: false
  readonly fields: Readonly<Record<string, KindField>>
}

const inProject = { field: 'project_id', kind: projectsKind } as const
const scopes = ['organization_id', 'project_id']
const allOperations = { create: true, update: true, delete: true, byName: true } as const

/**
 * Derives a kind from its fields. A new field of a kind is one line in `fields`:
 *
 *     defineKind({
 *       path: 'couriers',
 *       label: 'courier',
 *       fields: {
 *         url: field(z.url()).required(),
 *         token: field(z.string().min(1)).secret({ sentTo: ['url'] }),
 *         retries: field(z.int().min(0)).default(3),
 *       },
 *       check: (fields) => ok({ fields }),
 *     })
 */
export function defineKind({ fields, ...definition }: KindDefinition): ConfigKind {
  const { parent = inProject, operations = allOperations, isNamed = true } = definition
  const entries = Object.entries(fields).map(([name, { parts }]) => [name, parts] as const)
  const namesOf = (has: (parts: FieldParts) => boolean): string[] =>
    entries.filter(([, parts]) => has(parts)).map(([name]) => name)
  const secrets = entries.flatMap(([name, parts]) =>
    Object.entries(parts.secrets ?? {}).map(([at, sentTo]) => [at === '' ? name : `${name}.${at}`, sentTo] as const),
  )
  // `organization_id` and `project_id` are in all responses. A kind can give another parent's id a place among its fields.
  const isPlaced = [...scopes, ...Object.keys(fields)].includes(parent.field)
  return {
    ...definition,
    parent,
    operations,
    isNamed,
    createSchema: z.strictObject({
      ...(isNamed && envelope),
      [parent.field]: reference,
      ...(!isNamed && { display_name: envelope.display_name }),
      ...shapeOf(entries, createMember),
    }),
    updateSchema: operations.update
      ? z.strictObject({
          ...envelopeUpdate,
          ...shapeOf(entries, updateMember),
        })
      : null,
    readSchema: z.strictObject({
      id: z.string(),
      ...(isNamed && { name: z.string() }),
      display_name: z.string(),
      ...(isNamed && { description: z.string() }),
      organization_id: z.string(),
      ...(definition.inOrganization !== true && { project_id: z.string() }),
      ...(!isPlaced && { [parent.field]: z.string() }),
      ...shapeOf(entries, readMember),
      create_time: readTimestamp,
      created_by: z.string(),
      ...(operations.update && { update_time: readTimestamp, updated_by: z.string() }),
    }),
    secrets: secrets.map(([path]) => path),
    secretDestinations: Object.fromEntries(secrets),
    hiddenFields: namesOf(({ isHidden }) => isHidden === true),
    omittedInLists: namesOf(({ isEmptyInLists }) => isEmptyInLists === true),
    jsonTexts: namesOf(({ isJsonText }) => isJsonText === true),
    defaults: valuesOf(entries, 'default'),
    storedDefaults: valuesOf(entries, 'storedDefault'),
  }
}

type Entries = readonly (readonly [string, FieldParts])[]

function shapeOf(entries: Entries, member: (parts: FieldParts) => z.ZodType | null | undefined): z.ZodRawShape {
  return Object.fromEntries(
    entries.flatMap(([name, parts]) => {
      const schema = member(parts)
      return schema == null ? [] : [[name, schema]]
    }),
  )
}

function createMember({ create, isRequired, description }: FieldParts): z.ZodType | null {
  return described(isRequired ? create : (create?.nullish() ?? null), description)
}

function updateMember({ update, isUpdateExact, isInEveryUpdate, description }: FieldParts): z.ZodType | null {
  if (isUpdateExact) return update
  return described(isInEveryUpdate ? update : (update?.nullish() ?? null), description)
}

function described(schema: z.ZodType | null, description: string | undefined): z.ZodType | null {
  return description === undefined ? schema : (schema?.describe(description) ?? null)
}

function readMember({ read, isReadExact, isRequired, ...parts }: FieldParts): z.ZodType | null {
  const isAlways = isReadExact || isRequired || 'default' in parts || 'storedDefault' in parts
  return isAlways ? read : (read?.optional() ?? null)
}

function valuesOf(entries: Entries, part: 'default' | 'storedDefault'): DocumentFields {
  return Object.fromEntries(
    entries.flatMap(([name, parts]) => (Object.hasOwn(parts, part) ? [[name, parts[part]]] : [])),
  )
}

// -- schemas of responses and of masks

/**
 * The schema of a value in a response: its type without limits, because a stored value may be from a release with other limits. A
 * named schema is the same everywhere.
 */
function readForm(schema: z.ZodType): z.ZodType {
  const { id, documentedAs } = schema.meta() ?? {}
  if (id !== undefined) return schema
  if (documentedAs instanceof z.ZodType) return documentedAs
  if (schema instanceof z.ZodString) return z.string()
  if (schema instanceof z.ZodNumber) return z.number()
  if (schema instanceof z.ZodBoolean) return z.boolean()
  return schema instanceof z.ZodArray ? z.array(readForm(schema.element as z.ZodType)) : schema
}

/** A masked value: an empty string, or as many as the stored list has items. */
const mask = z.union([z.literal(''), z.array(z.literal('')).min(1)])

/** A map in a response: each value is a mask. */
function masked(map: z.ZodRecord): z.ZodType {
  return z.record(z.string(), mask).meta({ documentedAs: documentedForm(map) })
}

/** A map in an update, in which a mask keeps the stored value. */
function withMasks(map: z.ZodRecord): z.ZodType {
  const value = map.valueType as z.ZodType
  if (value.safeParse('').success) return map
  const kept = z.union([value, mask], {
    error: ({ errors }) => {
      const [first] = errors?.[0] ?? []
      return first === undefined ? undefined : `${first.message}, or empty strings to keep the stored value`
    },
  })
  return z.record(map.keyType as z.ZodString, kept).meta({ documentedAs: documentedForm(map) })
}

function documentedForm(map: z.ZodRecord): unknown {
  return map.meta()?.documentedAs ?? map
}
