// Create, read, list, update and remove: once, for all kinds.
import type { ServiceAccountCaller } from '../identity/caller.ts'
import { assert } from '../kernel/assert.ts'
import { type Clock, timestamp } from '../kernel/clock.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { isGid, mintGid } from '../kernel/ids.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { Effects } from './effects.ts'
import { etagOf, ifMatchHolds } from './etag.ts'
import { given, sameFields } from './fields.ts'
import {
  type Checked,
  type ConfigKind,
  type ConfigWriter,
  type DocumentDraft,
  type Fields,
  pluralOf,
  remainsKind,
  type Sealer,
  type StoredDocument,
} from './kind.ts'
import { listDocuments } from './list.ts'
import { authorship, listForm, readForm } from './read-form.ts'
import { dropEmptySecrets, keepSecrets, sealSecrets, strandedSecrets } from './secrets.ts'
import { validate } from './validate.ts'

export interface ConfigAnswer {
  readonly body: Fields
  /** Quoted, for the header; null for kinds that have none. */
  readonly etag: string | null
}

export interface ConfigParts {
  readonly kinds: readonly ConfigKind[]
  readonly documents: ConfigWriter
  readonly sealer: Sealer
  readonly clock: Clock
  /** One line for the operator's log. */
  readonly report: (line: string) => void
  /** Of this process among those that serve the data folder: one that takes the place of another gets its number. */
  readonly place?: number
}

/** Everything that a caller sees or changes is of the caller's own organization; the rest does not exist for it. */
export class ConfigService {
  readonly kinds: readonly ConfigKind[]
  private readonly documents: ConfigWriter
  private readonly sealer: Sealer
  private readonly clock: Clock
  private readonly effects: Effects

  constructor(parts: ConfigParts) {
    this.kinds = parts.kinds
    this.documents = parts.documents
    this.sealer = parts.sealer
    this.clock = parts.clock
    this.effects = new Effects(parts.documents, parts.kinds, parts.report, parts.place ?? 0)
  }

  /** `body` as parsed from JSON: its validation is the service's (422), not the route's. */
  async create(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    body: unknown,
  ): Promise<Result<ConfigAnswer, ServiceError>> {
    const refusal = refusalOf(caller, kind, kind.operations.create)
    if (refusal !== null) return err(refusal)
    const read = validate(kind.createSchema, body)
    if (!read.ok) return err({ kind: 'invalid', issues: read.error })
    const nowMs = this.clock.now()
    const stored = await this.documents.write((draft) => {
      const made = this.make(draft, caller, kind, bodyOf(kind, read.value), nowMs)
      if (!made.ok) return made
      draft.put(made.value.document)
      return ok({ ...made.value, notes: this.effects.note(draft, 'created', made.value.document, nowMs) })
    })
    if (!stored.ok) return stored
    const { document, shown, notes } = stored.value
    await this.effects.run(notes)
    return ok({ body: kind.answer?.of(document, shown) ?? authorship(document), etag: etagFor(kind, document) })
  }

  /** `key` is an id, or a name with `project_id` or `location` (`organization_id` for what lives in no project). */
  read(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    key: string,
    query: URLSearchParams = new URLSearchParams(),
  ): Result<ConfigAnswer, ServiceError> {
    const found = isGid(key) ? this.find(caller, kind, key) : this.findByName(caller, kind, key, query)
    if (!found.ok) return found
    const asked = this.revisionOf(kind, found.value, query.get('version') ?? '')
    if (!asked.ok) return asked
    return ok({ body: readForm(asked.value, kind, this.documents), etag: etagFor(kind, asked.value) })
  }

  /** The only organization that a caller sees is its own. */
  organization(caller: ServiceAccountCaller): ConfigAnswer {
    const organization = this.documents.get('organizations', caller.organizationId)
    assert(organization !== null, 'a caller is of an organization')
    const { name, fields } = organization
    const display_name = fields.display_name ?? name
    const { id, ...times } = authorship(organization)
    return { body: { id, name, display_name, description: fields.description ?? '', ...times }, etag: null }
  }

  list(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    query: URLSearchParams,
  ): Result<{ readonly data: readonly Fields[] }, ServiceError> {
    const listing = listDocuments(this.documents, kind, caller.organizationId, query)
    if (!listing.ok) return listing
    const { documents, full } = listing.value
    return ok({ data: documents.map((document) => listForm(document, kind, this.documents, full)) })
  }

  async update(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    id: string,
    body: unknown,
    ifMatch: string | null,
  ): Promise<Result<ConfigAnswer, ServiceError>> {
    const refusal = refusalOf(caller, kind, kind.operations.update)
    if (refusal !== null || kind.updateSchema === null) return err(refusal ?? notAllowed(kind))
    const there = this.find(caller, kind, id)
    if (!there.ok) return there
    const fixed = fixedMembers(body, kind)
    if (fixed.length > 0) return err({ kind: 'invalid', issues: fixed })
    const read = validate(kind.updateSchema, body)
    if (!read.ok) return err({ kind: 'invalid', issues: read.error })
    const nowMs = this.clock.now()
    const stored = await this.documents.write((draft) => {
      const current = draft.get(kind.path, id)
      if (current === null) return err(absent(kind, id))
      if (!ifMatchHolds(ifMatch, current)) return err<ServiceError>({ kind: 'stale-etag' })
      const checked = this.revise(draft, kind, current, bodyOf(kind, read.value))
      if (!checked.ok) return checked
      // What says the same again is no revision: whoever provisions twice finds every ETag as it was.
      if (sameFields(checked.value.fields, current.fields)) return ok({ document: current, notes: [] })
      const document: StoredDocument = {
        ...current,
        revision: current.revision + 1,
        update_time: timestamp(nowMs),
        updated_by: caller.serviceAccountId,
        fields: checked.value.fields,
      }
      draft.put(document)
      return ok({ document, notes: this.effects.note(draft, 'changed', document, nowMs) })
    })
    if (!stored.ok) return stored
    await this.effects.run(stored.value.notes)
    return ok({ body: authorship(stored.value.document), etag: etagFor(kind, stored.value.document) })
  }

  /** What lives in the document goes with it. */
  async remove(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    id: string,
    ifMatch: string | null,
  ): Promise<Result<{ readonly id: string }, ServiceError>> {
    const refusal = refusalOf(caller, kind, kind.operations.delete)
    if (refusal !== null) return err(refusal)
    const there = this.find(caller, kind, id)
    if (!there.ok) return there
    const removed = await this.documents.write((draft) => {
      const current = draft.get(kind.path, id)
      if (current === null) return err(absent(kind, id))
      if (!ifMatchHolds(ifMatch, current)) return err<ServiceError>({ kind: 'stale-etag' })
      const keeper = kind.keptBy?.(current, draft) ?? null
      if (keeper !== null) return err<ServiceError>({ kind: 'conflict', message: keeper })
      const notes: StoredDocument[] = []
      for (const document of this.withDescendants(draft, current)) {
        draft.remove(document.kind, document.id)
        this.leaveRemains(draft, document, current)
        notes.push(...this.effects.note(draft, 'deleted', document, this.clock.now()))
      }
      return ok(notes)
    })
    if (!removed.ok) return removed
    await this.effects.run(removed.value)
    return ok({ id })
  }

  /**
   * At start: does what a crash kept from following a change of the process that had this place before, or of any where
   * this one is `alone` on the data folder.
   */
  async resume(alone = true): Promise<void> {
    await this.effects.resume(alone)
  }

  /** Takes away remains whose time is over. */
  async sweep(): Promise<void> {
    const now = this.clock.now()
    const over = this.kinds
      .flatMap((kind) => this.documents.all(remainsKind(kind.path)))
      .filter(({ fields }) => !(Date.parse(fields.until as string) > now))
    if (over.length === 0) return
    await this.documents.write((draft) => {
      for (const { kind, id } of over) draft.remove(kind, id)
    })
  }

  private leaveRemains(draft: DocumentDraft, document: StoredDocument, removed: StoredDocument): void {
    if (document === removed) return
    const left = this.kinds.find(({ path }) => path === document.kind)?.remains?.(document, removed, draft)
    if (left === null || left === undefined) return
    draft.put({
      ...document,
      kind: remainsKind(document.kind),
      id: mintGid(this.clock.now()),
      parent_id: '',
      name: '',
      fields: { ...left.fields, until: left.until },
    })
  }

  private make(
    draft: DocumentDraft,
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    body: Fields,
    nowMs: number,
  ): Result<{ document: StoredDocument; shown: Fields }, ServiceError> {
    const parentId = body[kind.parent.field] as string
    const parent = draft.get(kind.parent.kind, parentId)
    if (parent === null || parent.organization_id !== caller.organizationId) {
      const what = kind.parent.field.replace(/_id$/, '').replaceAll('_', ' ')
      return err({ kind: 'invalid', issues: [`${kind.parent.field}: no ${what} \`${parentId}\``] })
    }
    const projectId = parent.kind === 'projects' ? parent.id : parent.project_id
    const {
      name = '',
      project_id: _project,
      organization_id: _organization,
      ...own
    } = body as { name?: string } & Fields
    const scopeId = projectId === '' ? parent.organization_id : projectId
    if (name !== '' && draft.getByName(kind.path, scopeId, name) !== null) {
      const where = projectId === '' ? 'organization' : 'project'
      return err({ kind: 'conflict', message: `the ${where} has another ${kind.label} named \`${name}\`` })
    }
    const [other] = kind.onePerProject === true ? draft.inScope(kind.path, projectId) : []
    if (other !== undefined) {
      return err({
        kind: 'conflict',
        message: `the project has ${article(kind.label)} already, named \`${other.name}\``,
      })
    }
    const id = mintGid(nowMs)
    const sealed = dropEmptySecrets(sealSecrets(own, kind, id, this.sealer), kind)
    const checked = kind.check(sealed, { reader: draft, current: null, parent, given: own })
    if (!checked.ok) return checked
    const document: StoredDocument = {
      kind: kind.path,
      id,
      revision: 1,
      organization_id: parent.organization_id,
      project_id: projectId,
      parent_id: parent.id,
      name,
      create_time: timestamp(nowMs),
      created_by: caller.serviceAccountId,
      update_time: timestamp(nowMs),
      updated_by: caller.serviceAccountId,
      fields: checked.value.fields,
    }
    return ok({ document, shown: checked.value.shown ?? {} })
  }

  /** Facts 1.7.2: absent and null keep, an empty string removes. */
  private revise(
    draft: DocumentDraft,
    kind: ConfigKind,
    current: StoredDocument,
    body: Fields,
  ): Result<Checked, ServiceError> {
    const sealed = sealSecrets(body, kind, current.id, this.sealer, current.fields)
    const kept = Object.entries({ ...current.fields, ...sealed }).filter(([, value]) => value !== '')
    const parent = draft.get(kind.parent.kind, current.parent_id)
    assert(parent !== null, 'a document goes when its parent goes')
    const fields = dropEmptySecrets(keepSecrets(Object.fromEntries(kept), current.fields, kind), kind)
    const checked = kind.check(fields, { reader: draft, current, parent, given: body })
    if (!checked.ok) return checked
    // Of what would be stored: a secret that the change itself takes away goes nowhere.
    const stranded = strandedSecrets(checked.value.fields, current.fields, body, kind)
    return stranded.length === 0 ? checked : err({ kind: 'invalid', issues: stranded })
  }

  private revisionOf(kind: ConfigKind, present: StoredDocument, version: string): Result<StoredDocument, ServiceError> {
    if (version === '') return ok(present)
    const revision = /^[1-9]\d{0,15}$/.test(version) ? Number(version) : null
    if (revision === null) {
      const issue = `version: expected the number of a revision, from 1, found \`${version.slice(0, 64)}\``
      return err({ kind: 'invalid', issues: [issue] })
    }
    if (revision === present.revision) return ok(present)
    const past = this.documents.pastRevision(kind.path, present.id, revision)
    const message = `the ${kind.label} \`${present.id}\` has no revision ${revision}`
    return past === null ? err({ kind: 'not-found', message }) : ok(past)
  }

  private find(caller: ServiceAccountCaller, kind: ConfigKind, id: string): Result<StoredDocument, ServiceError> {
    const document = this.documents.get(kind.path, id)
    return document === null || document.organization_id !== caller.organizationId
      ? err(absent(kind, id))
      : ok(document)
  }

  private findByName(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    name: string,
    query: URLSearchParams,
  ): Result<StoredDocument, ServiceError> {
    if (!kind.operations.byName) return err(absent(kind, name))
    const inOrganization = kind.inOrganization === true
    const scopeId = inOrganization
      ? (query.get('organization_id') ?? query.get('location') ?? caller.organizationId)
      : (query.get('project_id') ?? query.get('location'))
    if (scopeId === null) {
      return err({ kind: 'invalid', issues: [`project_id: required to read ${article(kind.label)} by name`] })
    }
    const document = this.documents.getByName(kind.path, scopeId, name)
    return document === null || document.organization_id !== caller.organizationId
      ? err({ kind: 'not-found', message: `no ${kind.label} named \`${name}\` in \`${scopeId}\`` })
      : ok(document)
  }

  /** Children before their parents. */
  private withDescendants(draft: DocumentDraft, document: StoredDocument): StoredDocument[] {
    const below = this.kinds
      .filter((kind) => kind.parent.kind === document.kind)
      .flatMap((kind) => draft.children(kind.path, document.id))
    return [...below.flatMap((child) => this.withDescendants(draft, child)), document]
  }
}

function refusalOf(caller: ServiceAccountCaller, kind: ConfigKind, offered: boolean): ServiceError | null {
  if (!offered) return notAllowed(kind)
  if (caller.role === 'all_editor') return null
  return { kind: 'forbidden', message: `the role \`${caller.role}\` may not change ${pluralOf(kind)}` }
}

function notAllowed(kind: ConfigKind): ServiceError {
  const { operations } = kind
  const allow = ['GET', ...(operations.update ? ['PUT'] : []), ...(operations.delete ? ['DELETE'] : [])]
  return { kind: 'method-not-allowed', allow }
}

function bodyOf(kind: ConfigKind, read: Fields): Fields {
  const body = given(read)
  return kind.normalise?.(body) ?? body
}

function absent(kind: ConfigKind, key: string): ServiceError {
  return { kind: 'not-found', message: `no ${kind.label} \`${key}\`` }
}

function etagFor(kind: ConfigKind, document: StoredDocument): string | null {
  return kind.operations.update ? etagOf(document) : null
}

/** Members that a create takes and an update does not are told apart from members that nobody knows. */
function fixedMembers(body: unknown, kind: ConfigKind): string[] {
  if (typeof body !== 'object' || body === null) return []
  const after = kind.updateSchema?.shape ?? {}
  return Object.keys(body)
    .filter((member) => Object.hasOwn(kind.createSchema.shape, member) && !Object.hasOwn(after, member))
    .map((member) => `${member}: cannot be changed after creation`)
}

function article(label: string): string {
  return /^[aeiou]/i.test(label) ? `an ${label}` : `a ${label}`
}
