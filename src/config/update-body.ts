// Reads the body of an update. A document can be sent back as it was read: read-only members are ignored, and members that
// cannot be changed are accepted with their own value (docs/decisions/0012-configuration-resources.md).
import { z } from 'zod'
import type { ServiceError } from '../kernel/errors.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { equalFields, withoutNulls } from './fields.ts'
import type { ConfigKind, ConfigReader, DocumentFields, StoredDocument } from './kind.ts'
import { representationOf } from './representation.ts'
import { normalisedBody } from './request-checks.ts'
import { validate } from './validate.ts'

/** The validated body of an update. */
export interface UpdateBody {
  /** The members to store. Members with the value that a read returns are not among them, so they keep what is stored. */
  readonly changes: DocumentFields
  /** All members that the caller sent, without those that are null. */
  readonly sent: DocumentFields
}

/**
 * Reads the body of an update of `current`.
 * Errors: `invalid` if a member is malformed or unknown, or if it cannot be changed and differs from what is stored.
 */
export function readUpdateBody(
  kind: ConfigKind,
  current: StoredDocument,
  reader: ConfigReader,
  body: unknown,
): Result<UpdateBody, ServiceError> {
  const schema = kind.updateSchema as z.ZodObject
  if (!isJsonObject(body)) return invalid(validate(schema, body))
  const shown = representationOf(current, kind, reader)
  const isShown = ([member, value]: [string, unknown]): boolean =>
    Object.hasOwn(shown, member) && equalFields(value, shown[member])
  const members = Object.entries(body)
  const fixed = members.filter((entry) => isImmutable(kind, entry[0]) && entry[1] !== null && !isShown(entry))
  if (fixed.length > 0) {
    return err({ kind: 'invalid', issues: fixed.map(([member]) => `${member}: cannot be changed after creation`) })
  }
  const updatable = members.filter(([member]) => !isImmutable(kind, member) && !isReadOnly(kind, member))
  // A value as it is read is not validated: the rules may have changed since it was stored.
  const given = updatable.filter((entry) => isRequired(schema, entry[0]) || !isShown(entry))
  const read = validate(schema, Object.fromEntries(given))
  if (!read.ok) return invalid(read)
  const changes = normalisedBody(kind, read.value)
  return ok({ changes, sent: { ...withoutNulls(Object.fromEntries(members.filter(isShown))), ...changes } })
}

/** The body of an update for the API description: with the members that are accepted but not changed. */
export function describedUpdateSchema(kind: ConfigKind): z.ZodObject | null {
  if (kind.updateSchema === null) return null
  const fixed = Object.entries(kind.createSchema.shape)
    .filter(([member]) => isImmutable(kind, member))
    .map(([member, schema]) => [
      member,
      (schema as z.ZodType).nullish().describe('cannot be changed: accepted with its stored value'),
    ])
  const readOnly = Object.keys(kind.readSchema.shape)
    .filter((member) => isReadOnly(kind, member))
    .map((member) => [member, z.unknown().optional().meta({ readOnly: true, description: 'ignored in a request' })])
  return kind.updateSchema.extend(Object.fromEntries([...fixed, ...readOnly]))
}

function isImmutable({ createSchema, updateSchema }: ConfigKind, member: string): boolean {
  return Object.hasOwn(createSchema.shape, member) && !Object.hasOwn(updateSchema?.shape ?? {}, member)
}

function isReadOnly(kind: ConfigKind, member: string): boolean {
  const inRequests = [kind.createSchema, kind.updateSchema].some((schema) => Object.hasOwn(schema?.shape ?? {}, member))
  return !inRequests && Object.hasOwn(kind.readSchema.shape, member)
}

/** Whether an update must have the member. */
function isRequired({ shape }: z.ZodObject, member: string): boolean {
  return Object.hasOwn(shape, member) && !(shape[member] as z.ZodType).safeParse(undefined).success
}

function invalid(read: Result<unknown, readonly string[]>): Result<never, ServiceError> {
  return err({ kind: 'invalid', issues: read.ok ? [] : read.error })
}
