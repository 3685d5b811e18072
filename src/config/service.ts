// Create, read, list, update and remove: once, for all kinds.

import { assert } from '../kernel/assert.ts'
import type { ServiceAccountCaller } from '../kernel/caller.ts'
import { type Clock, timestamp } from '../kernel/clock.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { isGid } from '../kernel/ids.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { expiredTombstones, tombstoneOf, withDescendants } from './cascade-delete.ts'
import { newDocument, updatedFields } from './compose-document.ts'
import { etagOf, matchesIfMatch } from './etag.ts'
import { equalFields, withoutNulls } from './fields.ts'
import { findById, findByName, findRevision, notFoundError } from './find-document.ts'
import {
  type ConfigKind,
  type ConfigWriter,
  type DocumentFields,
  pluralOf,
  type Sealer,
  type StoredDocument,
} from './kind.ts'
import { listDocuments } from './list-documents.ts'
import { Outbox } from './outbox.ts'
import { authorshipOf, listItemOf, representationOf } from './representation.ts'
import { validate } from './validate.ts'

export interface ConfigResponse {
  readonly body: DocumentFields
  /** Quoted, for the header; null for kinds that have none. */
  readonly etag: string | null
}

export interface ConfigServiceDeps {
  readonly kinds: readonly ConfigKind[]
  readonly documents: ConfigWriter
  readonly sealer: Sealer
  readonly clock: Clock
  /** One line for the operator's log. */
  readonly report: (line: string) => void
  /** Of this process among those that serve the data folder: one that takes the place of another gets its number. */
  readonly processNumber?: number
}

/** Everything that a caller sees or changes is of the caller's own organization; the rest does not exist for it. */
export class ConfigService {
  readonly kinds: readonly ConfigKind[]
  private readonly documents: ConfigWriter
  private readonly sealer: Sealer
  private readonly clock: Clock
  private readonly outbox: Outbox

  constructor(parts: ConfigServiceDeps) {
    this.kinds = parts.kinds
    this.documents = parts.documents
    this.sealer = parts.sealer
    this.clock = parts.clock
    this.outbox = new Outbox(parts.documents, parts.kinds, parts.report, parts.processNumber ?? 0)
  }

  /** `body` as parsed from JSON: its validation is the service's (422), not the route's. */
  async create(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    body: unknown,
  ): Promise<Result<ConfigResponse, ServiceError>> {
    const refusal = permissionError(caller, kind, kind.operations.create)
    if (refusal !== null) return err(refusal)
    const read = validate(kind.createSchema, body)
    if (!read.ok) return err({ kind: 'invalid', issues: read.error })
    const nowMs = this.clock.now()
    const stored = await this.documents.write((draft) => {
      const made = newDocument({ kind, draft, sealer: this.sealer }, caller, normalisedBody(kind, read.value), nowMs)
      if (!made.ok) return made
      draft.put(made.value.document)
      return ok({ ...made.value, notes: this.outbox.record(draft, 'created', made.value.document, nowMs) })
    })
    if (!stored.ok) return stored
    const { document, shown, notes } = stored.value
    await this.outbox.run(notes)
    return ok({
      body: kind.createResponse?.of(document, shown) ?? authorshipOf(document),
      etag: etagFor(kind, document),
    })
  }

  /** `key` is an id, or a name with `project_id` or `location` (`organization_id` for what lives in no project). */
  read(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    key: string,
    query: URLSearchParams = new URLSearchParams(),
  ): Result<ConfigResponse, ServiceError> {
    const found = isGid(key)
      ? this.find(caller, kind, key)
      : findByName(this.documents, caller.organizationId, kind, key, query)
    if (!found.ok) return found
    const asked = findRevision(this.documents, kind, found.value, query.get('version') ?? '')
    if (!asked.ok) return asked
    return ok({ body: representationOf(asked.value, kind, this.documents), etag: etagFor(kind, asked.value) })
  }

  /** The only organization that a caller sees is its own. */
  organization(caller: ServiceAccountCaller): ConfigResponse {
    const organization = this.documents.get('organizations', caller.organizationId)
    assert(organization !== null, 'a caller is of an organization')
    const { name, fields } = organization
    const display_name = fields.display_name ?? name
    const { id, ...times } = authorshipOf(organization)
    return { body: { id, name, display_name, description: fields.description ?? '', ...times }, etag: null }
  }

  list(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    query: URLSearchParams,
  ): Result<{ readonly data: readonly DocumentFields[] }, ServiceError> {
    const listing = listDocuments(this.documents, kind, caller.organizationId, query)
    if (!listing.ok) return listing
    const { documents, full } = listing.value
    return ok({ data: documents.map((document) => listItemOf(document, kind, this.documents, full)) })
  }

  async update(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    id: string,
    body: unknown,
    ifMatch: string | null,
  ): Promise<Result<ConfigResponse, ServiceError>> {
    const refusal = permissionError(caller, kind, kind.operations.update)
    if (refusal !== null || kind.updateSchema === null) return err(refusal ?? methodNotAllowedError(kind))
    const there = this.find(caller, kind, id)
    if (!there.ok) return there
    const fixed = immutableMemberErrors(body, kind)
    if (fixed.length > 0) return err({ kind: 'invalid', issues: fixed })
    const read = validate(kind.updateSchema, body)
    if (!read.ok) return err({ kind: 'invalid', issues: read.error })
    await kind.beforeUpdate?.(there.value, read.value)
    const nowMs = this.clock.now()
    const stored = await this.documents.write((draft) => {
      const current = draft.get(kind.path, id)
      if (current === null) return err(notFoundError(kind, id))
      if (!matchesIfMatch(ifMatch, current)) return err<ServiceError>({ kind: 'stale-etag' })
      const checked = updatedFields({ kind, draft, sealer: this.sealer }, current, normalisedBody(kind, read.value))
      if (!checked.ok) return checked
      // What says the same again is no revision: whoever provisions twice finds every ETag as it was.
      if (equalFields(checked.value.fields, current.fields)) return ok({ document: current, notes: [] })
      const document: StoredDocument = {
        ...current,
        revision: current.revision + 1,
        update_time: timestamp(nowMs),
        updated_by: caller.serviceAccountId,
        fields: checked.value.fields,
      }
      draft.put(document)
      return ok({ document, notes: this.outbox.record(draft, 'changed', document, nowMs) })
    })
    if (!stored.ok) return stored
    await this.outbox.run(stored.value.notes)
    return ok({ body: authorshipOf(stored.value.document), etag: etagFor(kind, stored.value.document) })
  }

  /** What lives in the document goes with it. */
  async remove(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    id: string,
    ifMatch: string | null,
  ): Promise<Result<{ readonly id: string }, ServiceError>> {
    const refusal = permissionError(caller, kind, kind.operations.delete)
    if (refusal !== null) return err(refusal)
    const there = this.find(caller, kind, id)
    if (!there.ok) return there
    const removed = await this.documents.write((draft) => {
      const current = draft.get(kind.path, id)
      if (current === null) return err(notFoundError(kind, id))
      if (!matchesIfMatch(ifMatch, current)) return err<ServiceError>({ kind: 'stale-etag' })
      const keeper = kind.deletionBlocker?.(current, draft) ?? null
      if (keeper !== null) return err<ServiceError>({ kind: 'conflict', message: keeper })
      const notes: StoredDocument[] = []
      for (const document of withDescendants(this.kinds, draft, current)) {
        draft.remove(document.kind, document.id)
        const remains = tombstoneOf(this.kinds, draft, document, current, this.clock.now())
        if (remains !== null) draft.put(remains)
        notes.push(...this.outbox.record(draft, 'deleted', document, this.clock.now()))
      }
      return ok(notes)
    })
    if (!removed.ok) return removed
    await this.outbox.run(removed.value)
    return ok({ id })
  }

  /**
   * At start: does what a crash kept from following a change of the process that had this place before, or of any where
   * this one is `alone` on the data folder.
   */
  async resume(alone = true): Promise<void> {
    await this.outbox.resume(alone)
  }

  /** Takes away remains whose time is over. */
  async deleteExpiredTombstones(): Promise<void> {
    const over = expiredTombstones(this.kinds, this.documents, this.clock.now())
    if (over.length === 0) return
    await this.documents.write((draft) => {
      for (const { kind, id } of over) draft.remove(kind, id)
    })
  }

  private find(caller: ServiceAccountCaller, kind: ConfigKind, id: string): Result<StoredDocument, ServiceError> {
    return findById(this.documents, caller.organizationId, kind, id)
  }
}

function permissionError(caller: ServiceAccountCaller, kind: ConfigKind, offered: boolean): ServiceError | null {
  if (!offered) return methodNotAllowedError(kind)
  if (caller.role === 'all_editor') return null
  return { kind: 'forbidden', message: `the role \`${caller.role}\` may not change ${pluralOf(kind)}` }
}

function methodNotAllowedError(kind: ConfigKind): ServiceError {
  const { operations } = kind
  const allow = ['GET', ...(operations.update ? ['PUT'] : []), ...(operations.delete ? ['DELETE'] : [])]
  return { kind: 'method-not-allowed', allow }
}

function normalisedBody(kind: ConfigKind, read: DocumentFields): DocumentFields {
  const body = withoutNulls(read)
  return kind.normaliseBody?.(body) ?? body
}

function etagFor(kind: ConfigKind, document: StoredDocument): string | null {
  return kind.operations.update ? etagOf(document) : null
}

/** Members that a create takes and an update does not are told apart from members that nobody knows. */
function immutableMemberErrors(body: unknown, kind: ConfigKind): string[] {
  if (typeof body !== 'object' || body === null) return []
  const after = kind.updateSchema?.shape ?? {}
  return Object.keys(body)
    .filter((member) => Object.hasOwn(kind.createSchema.shape, member) && !Object.hasOwn(after, member))
    .map((member) => `${member}: cannot be changed after creation`)
}
