// Creates, reads, lists, updates and deletes documents of all configuration kinds.

import { assert } from '../kernel/assert.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { isGid } from '../kernel/ids.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import { noOrigin, type RequestOrigin } from '../kernel/request/request-origin.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import { expiredTombstones, removeDocument } from './cascade-delete.ts'
import { newDocument, updatedFields } from './compose-document.ts'
import type { ConfigChange, ConfigEvents } from './config-events.ts'
import { EffectOutbox } from './effect-outbox.ts'
import { etagOf, matchesIfMatch } from './etag.ts'
import { equalFields } from './fields.ts'
import { findById, findByName, findRevision, notFoundError } from './find-document.ts'
import {
  type ConfigKind,
  type ConfigWriter,
  type DocumentFields,
  organizationsKind,
  type Sealer,
  type StoredDocument,
} from './kind.ts'
import { listDocuments } from './list-documents.ts'
import { ProjectConfiguration } from './project-configuration.ts'
import { authorshipOf, listItemOf, representationOf } from './representation.ts'
import { methodNotAllowedError, normalisedBody, permissionError } from './request-checks.ts'
import { changedDuringTrial, DocumentTrials, withFields } from './trials.ts'
import { readUpdateBody } from './update-body.ts'
import { validate } from './validate.ts'

/** A response body with its ETag. */
export interface ConfigResponse {
  /** The JSON body. */
  readonly body: DocumentFields
  /** In quotes, for the header; null for the organization. */
  readonly etag: string | null
  /** Of the document, from 1; absent for the organization. */
  readonly revision?: number
}

/** Collaborators of the configuration service. */
export interface ConfigServiceDeps {
  readonly kinds: readonly ConfigKind[]
  /** The stored configuration. */
  readonly documents: ConfigWriter
  /** Encrypts secret fields. */
  readonly sealer: Sealer
  readonly clock: Clock
  /** Writes one line to the operator's log. */
  readonly report: (line: string) => void
  /**
   * Number of this process among those that serve the data folder. A process that replaces another has its number.
   * Default 0.
   */
  readonly processNumber?: number
  /** This instance among those that share the configuration. Absent or null: there is no other. */
  readonly instance?: string | null
  /** Records the events of changes and reads. Absent: no events are recorded. */
  readonly events?: ConfigEvents
}

/**
 * The configuration service. A caller reads and changes its own organization only; documents of others are not found.
 */
export class ConfigService {
  readonly kinds: readonly ConfigKind[]
  /** Reads and applies the documents of a project as a whole. */
  readonly projects: ProjectConfiguration
  private readonly documents: ConfigWriter
  private readonly sealer: Sealer
  private readonly clock: Clock
  private readonly effects: EffectOutbox
  private readonly trials: DocumentTrials
  private readonly events: ConfigEvents | null

  constructor(deps: ConfigServiceDeps) {
    this.kinds = deps.kinds
    this.documents = deps.documents
    this.sealer = deps.sealer
    this.clock = deps.clock
    this.events = deps.events ?? null
    this.trials = new DocumentTrials(deps)
    this.effects = new EffectOutbox(
      deps.documents,
      deps.kinds,
      deps.report,
      deps.processNumber ?? 0,
      deps.instance ?? null,
    )
    this.projects = new ProjectConfiguration(deps, this.effects)
  }

  /**
   * Creates a document. `body`: parsed JSON, validated here.
   * Errors: `forbidden`, `method-not-allowed`, `invalid`, `conflict`. Rejects if a side effect fails; the document is
   * stored then.
   */
  async create(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    body: unknown,
    origin: RequestOrigin = noOrigin,
  ): Promise<Result<ConfigResponse, ServiceError>> {
    const refused = permissionError(caller, kind, kind.operations.create)
    if (refused !== null) return err(refused)
    const read = validate(kind.createSchema, body)
    if (!read.ok) return err({ kind: 'invalid', issues: read.error })
    const given = normalisedBody(kind, read.value)
    const tried = await this.trials.create(caller, kind, given)
    if (!tried.ok) return tried
    const nowMs = this.clock.now()
    const stored = await this.documents.write((draft) => {
      const composed = newDocument({ kind, draft, sealer: this.sealer }, caller, given, nowMs)
      if (!composed.ok) return composed
      const document = withFields(composed.value.document, tried.value)
      const broken = kind.consequences?.(draft, document.project_id, null, document.fields) ?? []
      if (broken.length > 0) return err<ServiceError>({ kind: 'invalid', issues: broken })
      draft.put(document)
      this.events?.changed({ caller, origin }, draft, [{ kind, before: null, after: document }])
      const intents = this.effects.record(draft, 'created', document, nowMs)
      return ok({ ...composed.value, document, intents })
    })
    if (!stored.ok) return stored
    const { document, shown, intents } = stored.value
    await this.effects.run(intents)
    return ok({
      body: kind.createResponse?.of(document, shown) ?? (await this.storedBody(kind, document)),
      etag: etagOf(document),
      revision: document.revision,
    })
  }

  /**
   * Reads a document. `key`: an id, or a name with the query parameter `project_id` or `location` (`organization_id`
   * outside of projects). The query parameter `version` selects a past revision.
   * Errors: `not-found`, `invalid`.
   */
  read(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    key: string,
    query: URLSearchParams = new URLSearchParams(),
    origin: RequestOrigin = noOrigin,
  ): Result<ConfigResponse, ServiceError> {
    const read = this.readDocument(caller, kind, key, query, origin)
    if (!read.ok) return read
    const document = read.value
    return ok({
      body: representationOf(document, kind, this.documents),
      etag: etagOf(document),
      revision: document.revision,
    })
  }

  /** As `read`, with what is not configuration (`ConfigKind.withState`). */
  async readWithState(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    key: string,
    query: URLSearchParams,
    origin: RequestOrigin,
  ): Promise<Result<ConfigResponse, ServiceError>> {
    const read = this.readDocument(caller, kind, key, query, origin)
    if (!read.ok) return read
    const document = read.value
    const body = representationOf(document, kind, this.documents)
    return ok({ body: await bodyWithState(kind, document, body), etag: etagOf(document), revision: document.revision })
  }

  private readDocument(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    key: string,
    query: URLSearchParams,
    origin: RequestOrigin,
  ): Result<StoredDocument, ServiceError> {
    const found = isGid(key)
      ? this.find(caller, kind, key)
      : findByName(this.documents, caller.organizationId, kind, key, query)
    if (!found.ok) return found
    const revision = findRevision(this.documents, kind, found.value, query.get('version') ?? '')
    if (!revision.ok) return revision
    const location = query.get('location')
    const identifier = isGid(key) ? { id: key } : { name: key, ...(location !== null && { location }) }
    this.events?.read({ caller, origin }, kind, identifier, [revision.value])
    return revision
  }

  /** The caller's own organization. */
  organization(caller: ServiceAccountCaller): ConfigResponse {
    const organization = this.documents.get(organizationsKind, caller.organizationId)
    assert(organization !== null, 'the organization of a caller exists')
    const { name, fields } = organization
    const display_name = fields.display_name ?? name
    const { id, ...times } = authorshipOf(organization)
    return { body: { id, name, display_name, description: fields.description ?? '', ...times }, etag: null }
  }

  /** Lists the documents that the query selects. Errors: `invalid`. */
  list(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    query: URLSearchParams,
    origin: RequestOrigin = noOrigin,
  ): Result<{ readonly data: readonly DocumentFields[] }, ServiceError> {
    const listing = this.listDocuments(caller, kind, query, origin)
    return listing.ok ? ok({ data: listing.value.map(({ item }) => item) }) : listing
  }

  /** As `list`, with what is not configuration (`ConfigKind.withState`). */
  async listWithState(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    query: URLSearchParams,
    origin: RequestOrigin,
  ): Promise<Result<{ readonly data: readonly DocumentFields[] }, ServiceError>> {
    const listing = this.listDocuments(caller, kind, query, origin)
    if (!listing.ok) return listing
    return ok({
      data: await Promise.all(listing.value.map(({ document, item }) => bodyWithState(kind, document, item))),
    })
  }

  private listDocuments(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    query: URLSearchParams,
    origin: RequestOrigin,
  ): Result<readonly { readonly document: StoredDocument; readonly item: DocumentFields }[], ServiceError> {
    const listing = listDocuments(this.documents, kind, caller.organizationId, query)
    if (!listing.ok) return listing
    const { documents, full } = listing.value
    this.events?.read({ caller, origin }, kind, {}, documents)
    return ok(documents.map((document) => ({ document, item: listItemOf(document, kind, this.documents, full) })))
  }

  /**
   * Updates a document if `ifMatch` matches its ETag. Absent and null members keep their values, as do members with the value that
   * a read returns.
   * Errors: `forbidden`, `method-not-allowed`, `not-found`, `invalid`, `stale-etag`, `conflict`. Rejects if a side
   * effect fails; the update is stored then.
   */
  async update(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    id: string,
    body: unknown,
    ifMatch: string | null,
    origin: RequestOrigin = noOrigin,
  ): Promise<Result<ConfigResponse, ServiceError>> {
    const refused = permissionError(caller, kind, kind.operations.update)
    if (refused !== null || kind.updateSchema === null) return err(refused ?? methodNotAllowedError(kind))
    const found = this.find(caller, kind, id)
    if (!found.ok) return found
    const read = readUpdateBody(kind, found.value, this.documents, body)
    if (!read.ok) return read
    const given = read.value
    await kind.beforeUpdate?.(found.value, given.changes)
    const tried = await this.trials.update(kind, found.value, given, ifMatch)
    if (!tried.ok) return tried
    const nowMs = this.clock.now()
    const stored = await this.documents.write((draft) => {
      const current = draft.get(kind.path, id)
      if (current === null) return err(notFoundError(kind, id))
      if (!matchesIfMatch(ifMatch, current)) return err<ServiceError>({ kind: 'stale-etag' })
      // The body was compared with another revision.
      if (current.revision !== found.value.revision)
        return kind.trial === undefined ? null : err(changedDuringTrial(kind))
      const checked = updatedFields({ kind, draft, sealer: this.sealer }, current, given)
      if (!checked.ok) return checked
      const fields = { ...checked.value.fields, ...tried.value }
      // An update without a change creates no revision: a repeated deployment keeps every ETag.
      if (equalFields(fields, current.fields)) return ok({ document: current, intents: [] })
      const broken = kind.consequences?.(draft, current.project_id, current.fields, fields) ?? []
      if (broken.length > 0) return err<ServiceError>({ kind: 'invalid', issues: broken })
      const document: StoredDocument = {
        ...current,
        revision: current.revision + 1,
        update_time: timestamp(nowMs),
        updated_by: caller.serviceAccountId,
        fields,
      }
      draft.put(document)
      this.events?.changed({ caller, origin }, draft, [{ kind, before: current, after: document }])
      return ok({ document, intents: this.effects.record(draft, 'changed', document, nowMs) })
    })
    if (stored === null) return this.update(caller, kind, id, body, ifMatch, origin)
    if (!stored.ok) return stored
    await this.effects.run(stored.value.intents)
    const { document } = stored.value
    return ok({ body: await this.storedBody(kind, document), etag: etagOf(document), revision: document.revision })
  }

  /** Tests a document as `create` would store it (`ConfigKind.trial`), and stores nothing. Errors: as `create`. */
  async tryCreate(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    body: unknown,
  ): Promise<Result<DocumentFields, ServiceError>> {
    const refused = permissionError(caller, kind, kind.operations.create)
    if (refused !== null) return err(refused)
    const read = validate(kind.createSchema, body)
    if (!read.ok) return err({ kind: 'invalid', issues: read.error })
    return this.trials.describeCreate(caller, kind, normalisedBody(kind, read.value))
  }

  /** Tests a document as `update` would store it, and stores nothing. Errors: as `update`. */
  async tryUpdate(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    id: string,
    body: unknown,
    ifMatch: string | null,
  ): Promise<Result<DocumentFields, ServiceError>> {
    const refused = permissionError(caller, kind, kind.operations.update)
    if (refused !== null || kind.updateSchema === null) return err(refused ?? methodNotAllowedError(kind))
    const found = this.find(caller, kind, id)
    if (!found.ok) return found
    const read = readUpdateBody(kind, found.value, this.documents, body)
    return read.ok ? this.trials.describeUpdate(kind, found.value, read.value, ifMatch) : read
  }

  /**
   * Deletes a document and everything below it, if `ifMatch` matches its ETag.
   * Errors: `forbidden`, `method-not-allowed`, `not-found`, `stale-etag`, `conflict` if the kind blocks the deletion.
   */
  async remove(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    id: string,
    ifMatch: string | null,
    origin: RequestOrigin = noOrigin,
  ): Promise<Result<{ readonly id: string }, ServiceError>> {
    const refused = permissionError(caller, kind, kind.operations.delete)
    if (refused !== null) return err(refused)
    const found = this.find(caller, kind, id)
    if (!found.ok) return found
    const removed = await this.documents.write((draft) => {
      const current = draft.get(kind.path, id)
      if (current === null) return err(notFoundError(kind, id))
      if (!matchesIfMatch(ifMatch, current)) return err<ServiceError>({ kind: 'stale-etag' })
      const blocker = kind.deletionBlocker?.(current, draft) ?? null
      if (blocker !== null) return err<ServiceError>({ kind: 'conflict', message: blocker })
      const broken = kind.consequences?.(draft, current.project_id, current.fields, null) ?? []
      if (broken.length > 0) return err<ServiceError>({ kind: 'conflict', message: broken.join('; ') })
      const intents: StoredDocument[] = []
      const changes: ConfigChange[] = []
      for (const document of removeDocument(this.kinds, draft, current, this.clock.now())) {
        intents.push(...this.effects.record(draft, 'deleted', document, this.clock.now()))
        const itsKind = this.kinds.find(({ path }) => path === document.kind)
        if (itsKind !== undefined) changes.push({ kind: itsKind, before: document, after: null })
      }
      this.events?.changed({ caller, origin }, draft, changes)
      return ok(intents)
    })
    if (!removed.ok) return removed
    await this.effects.run(removed.value)
    return ok({ id })
  }

  /**
   * At start: runs the side effects that a crash interrupted: of this process number, of all processes on the data folder if no other
   * serves it, or of all instances.
   */
  async resume(of: 'process' | 'instance' | 'all' = 'all'): Promise<void> {
    await this.effects.resume(of)
  }

  /** Deletes expired tombstones. */
  async deleteExpiredTombstones(): Promise<void> {
    const expired = expiredTombstones(this.kinds, this.documents, this.clock.now())
    if (expired.length === 0) return
    await this.documents.write((draft) => {
      for (const { kind, id } of expired) draft.remove(kind, id)
    })
  }

  /** The body of a create or update response. */
  private async storedBody(kind: ConfigKind, document: StoredDocument): Promise<DocumentFields> {
    const warnings = (await kind.warnings?.(document, this.documents)) ?? []
    return warnings.length === 0 ? authorshipOf(document) : { ...authorshipOf(document), warnings }
  }

  private find(caller: ServiceAccountCaller, kind: ConfigKind, id: string): Result<StoredDocument, ServiceError> {
    return findById(this.documents, caller.organizationId, kind, id)
  }
}

function bodyWithState(
  kind: ConfigKind,
  document: StoredDocument,
  body: DocumentFields,
): DocumentFields | Promise<DocumentFields> {
  return kind.withState?.(document, body) ?? body
}
