// The terms by which an entry of a log is found: its type, its actors and its resource. The search index is built from it, and a
// reader filters with it, so both agree.
import { AUDIT_DIMENSION, type AuditDimension, type AuditTerm } from '../store/audit/audit-types.ts'

/** Time and terms of an entry. */
export interface EntryDescription {
  /** When it happened, in milliseconds since the epoch. */
  readonly timeMs: number
  readonly terms: readonly AuditTerm[]
}

/** The facts of an entry of which its terms are made. */
export interface EntryTermFacts {
  readonly type: string
  readonly subject: string
  /** When it happened, in milliseconds since the epoch. */
  readonly timeMs: number
  /** Null: the payload has no actor. Entries of one record share the object. */
  readonly actor: EntryActor | null
}

interface EntryMembers {
  readonly type?: string
  readonly subject?: string
  readonly time?: string
  readonly data?: { readonly actor?: EntryActor; readonly keyId?: string }
}

/** The members of an actor by which its entries are found. */
export interface EntryActor {
  readonly type?: string
  readonly id?: string
  readonly keyId?: string
  readonly applicationId?: string
  readonly user?: { readonly externalId?: string }
  readonly actedBy?: string
}

/**
 * Describes an entry. `body`: its payload, if it is stored next to the log. Actors are account or agent, its application, the
 * key of the caller, the user on whose behalf it acts, and who acts for the user. A resource is the subject of the event, and its last part.
 */
export function describeEntry(entry: Uint8Array, body: Uint8Array | null): EntryDescription {
  return describeFacts(factsOf(entry, body))
}

/** As `describeEntry`, for an entry whose facts are known. */
export function describeFacts({ type, subject, timeMs, actor }: EntryTermFacts): EntryDescription {
  const terms: AuditTerm[] = [{ dimension: AUDIT_DIMENSION.type, value: type }]
  const add = (dimension: AuditDimension, value: string): void => {
    terms.push({ dimension, value })
  }
  for (const value of actorValues(actor)) add(AUDIT_DIMENSION.actor, value)
  const name = subject.slice(subject.lastIndexOf('/') + 1)
  if (subject !== '') add(AUDIT_DIMENSION.resource, subject)
  if (name !== subject && name !== '') add(AUDIT_DIMENSION.resource, name)
  return { timeMs, terms }
}

/** Reads the facts of an entry. `body`: as of `describeEntry`. */
export function factsOf(entry: Uint8Array, body: Uint8Array | null): EntryTermFacts {
  const { type = '', subject = '', time = '', data = parse(body) } = parse(entry) as EntryMembers
  const { actor } = data as NonNullable<EntryMembers['data']>
  return { type, subject, timeMs: Date.parse(time), actor: actor ?? null }
}

/** The values by which the entries of an actor are found. */
export function actorValues(actor: EntryActor | null): readonly string[] {
  const { id, applicationId, keyId, user, actedBy } = actor ?? {}
  return [id, applicationId, keyId, user?.externalId, actedBy].filter((value): value is string => Boolean(value))
}

function parse(bytes: Uint8Array | null): object {
  return bytes === null
    ? {}
    : (JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()) as object)
}
