// Tests documents of kinds with a trial (`ConfigKind.trial`) before they are stored.

import type { ServiceError } from '../kernel/errors.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { newDocument, updatedFields } from './compose-document.ts'
import { matchesIfMatch } from './etag.ts'
import type { ConfigKind, ConfigReader, DocumentFields, Sealer, StoredDocument } from './kind.ts'
import type { UpdateBody } from './update-body.ts'

const nothing: DocumentFields = Object.freeze({})

/** Runs the trials of documents. */
export class DocumentTrials {
  private readonly documents: ConfigReader
  private readonly sealer: Sealer
  private readonly clock: Clock

  constructor({
    documents,
    sealer,
    clock,
  }: {
    readonly documents: ConfigReader
    readonly sealer: Sealer
    readonly clock: Clock
  }) {
    this.documents = documents
    this.sealer = sealer
    this.clock = clock
  }

  /** Resolves with the fields that a new document gets in addition. Errors: those of the check and of the trial. */
  async create(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    body: DocumentFields,
  ): Promise<Result<DocumentFields, ServiceError>> {
    const { trial } = kind
    if (trial === undefined) return ok(nothing)
    const draft = this.newDocument(caller, kind, body)
    return draft.ok ? trial.run(draft.value, null, body) : draft
  }

  /** As `create`, for an update. Errors: also `stale-etag`. */
  async update(
    kind: ConfigKind,
    current: StoredDocument,
    body: UpdateBody,
    ifMatch: string | null,
  ): Promise<Result<DocumentFields, ServiceError>> {
    const { trial } = kind
    if (trial === undefined) return ok(nothing)
    const draft = this.updatedDocument(kind, current, body, ifMatch)
    return draft.ok ? trial.run(draft.value, current, body.sent) : draft
  }

  /** Resolves with the response to a dry run of a create request. */
  async describeCreate(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    body: DocumentFields,
  ): Promise<Result<DocumentFields, ServiceError>> {
    const draft = this.newDocument(caller, kind, body)
    return draft.ok ? described(kind, draft.value, null, body) : draft
  }

  /** Resolves with the response to a dry run of an update request. */
  async describeUpdate(
    kind: ConfigKind,
    current: StoredDocument,
    body: UpdateBody,
    ifMatch: string | null,
  ): Promise<Result<DocumentFields, ServiceError>> {
    const draft = this.updatedDocument(kind, current, body, ifMatch)
    return draft.ok ? described(kind, draft.value, current, body.sent) : draft
  }

  private newDocument(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    body: DocumentFields,
  ): Result<StoredDocument, ServiceError> {
    const composed = newDocument({ kind, draft: this.documents, sealer: this.sealer }, caller, body, this.clock.now())
    return composed.ok ? ok(composed.value.document) : composed
  }

  private updatedDocument(
    kind: ConfigKind,
    current: StoredDocument,
    body: UpdateBody,
    ifMatch: string | null,
  ): Result<StoredDocument, ServiceError> {
    if (!matchesIfMatch(ifMatch, current)) return err({ kind: 'stale-etag' })
    const checked = updatedFields({ kind, draft: this.documents, sealer: this.sealer }, current, body)
    return checked.ok ? ok({ ...current, fields: checked.value.fields }) : checked
  }
}

/** A document with fields of its trial. */
export function withFields(document: StoredDocument, fields: DocumentFields): StoredDocument {
  return { ...document, fields: { ...document.fields, ...fields } }
}

/** The error if a document was changed while it was tested, so that the test is of another document. */
export function changedDuringTrial({ label }: ConfigKind): ServiceError {
  return { kind: 'conflict', message: `the ${label} was changed while it was tested; repeat the request` }
}

async function described(
  { trial }: ConfigKind,
  draft: StoredDocument,
  current: StoredDocument | null,
  body: DocumentFields,
): Promise<Result<DocumentFields, ServiceError>> {
  if (trial === undefined) return ok(nothing)
  const tested = await trial.run(draft, current, body)
  return tested.ok ? ok(trial.describe(withFields(draft, tested.value))) : tested
}
