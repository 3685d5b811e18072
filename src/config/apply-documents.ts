// Works out, on a draft, what a request to apply the documents of a project changes. It runs twice: on a copy of the snapshot,
// which reports errors without the lock of writes, and in the transaction.
import { z } from 'zod'
import type { ServiceError } from '../kernel/errors.ts'
import { canonicalJson } from '../kernel/json/canonical-json.ts'
import { parseJson } from '../kernel/json/json.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { removeDocument } from './cascade-delete.ts'
import { newDocument, replacedFields } from './compose-document.ts'
import { withoutNulls } from './fields.ts'
import { jsonObject } from './json-schema.ts'
import {
  type ConfigKind,
  type DocumentDraft,
  type DocumentFields,
  organizationsKind,
  projectsKind,
  type Sealer,
  type StoredDocument,
} from './kind.ts'
import { findProjectIn, projectEtag } from './project-documents.ts'
import { normalisedBody } from './request-checks.ts'
import { validate } from './validate.ts'

const documentName = z.string().min(1).max(256)
const createMembers = jsonObject.describe(
  'the members of the body of a create request without `name`, the project, and the members of `references`',
)

const namedReference = z
  .strictObject({
    member: z.string().min(1).max(64).describe('the member that holds the id, such as `policy_id`'),
    kind: z.string().min(1).max(64).describe('the kind of the named document, such as `authorization-policies`'),
    name: documentName,
  })
  .meta({ id: 'NamedReference' })

/** The body of a request to apply the documents of a project. */
export const applyRequest = z
  .strictObject({
    expected: z
      .string()
      .max(64)
      .nullish()
      .describe(
        'the `etag` of the documents as they were read; if it differs, the response is 412 and nothing is stored; an empty string: the project must not exist',
      ),
    create: z.boolean().nullish().describe('true: creates the project if it does not exist'),
    project: z
      .strictObject({ body: createMembers })
      .meta({ id: 'AppliedProject' })
      .describe('the project itself; its name is that of the path'),
    documents: z
      .array(
        z
          .strictObject({
            kind: z.string().min(1).max(64).describe('such as `authorization-policies`'),
            name: documentName,
            body: createMembers,
            references: z.array(namedReference).max(16).nullish(),
          })
          .meta({ id: 'AppliedDocument' }),
      )
      .max(100_000),
    delete: z
      .array(z.strictObject({ kind: z.string().min(1).max(64), name: documentName }).meta({ id: 'DeletedName' }))
      .max(100_000)
      .nullish(),
  })
  .meta({ id: 'ApplyRequest' })

/** A validated request. */
export type ApplyRequest = z.infer<typeof applyRequest>
type RequestedDocument = Pick<ApplyRequest['documents'][number], 'kind' | 'name' | 'body' | 'references'>

/** The action on one document. */
export const appliedAction = z.enum(['created', 'updated', 'unchanged', 'deleted']).meta({ id: 'AppliedAction' })

/** One document of a request, as it is to be stored. */
export interface AppliedChange {
  readonly kind: ConfigKind
  readonly action: z.infer<typeof appliedAction>
  /** Null: the document is created. */
  readonly before: StoredDocument | null
  /** Null: the document is deleted. */
  readonly after: StoredDocument | null
  /** The validated body; empty for a deletion. */
  readonly body: DocumentFields
}

/** The changes of a request. */
export interface ProjectChange {
  readonly project: StoredDocument
  /** The project, the documents of the request in their order, and the deletions; a deletion has those below it too. */
  readonly changes: readonly AppliedChange[]
}

/** Inputs of `changeProject` that do not depend on the request. */
export interface ApplyContext {
  readonly kinds: readonly ConfigKind[]
  readonly sealer: Sealer
  readonly caller: ServiceAccountCaller
  readonly nowMs: number
  /** Fields that the trial of a document gave, by `changeKey`. */
  readonly trialFields: ReadonlyMap<string, DocumentFields>
}

/** Identifies a document of a request. */
export function changeKey({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind} ${name}`
}

/**
 * Applies a request to a draft: deletions first, because names and node types that they release may be used again, then the
 * documents, each after those that it refers to. `key`: id or name of the project.
 * Errors: `not-found`, `stale-etag`, `invalid` with all issues, each after kind and name of its document. The draft is then
 * incomplete and must not be written.
 */
export function changeProject(
  context: ApplyContext,
  draft: DocumentDraft,
  key: string,
  request: ApplyRequest,
): Result<ProjectChange, ServiceError> {
  const { kinds, caller } = context
  const before = findProjectIn(draft, caller.organizationId, key)
  if (before === null && request.create !== true) return err({ kind: 'not-found', message: `no project \`${key}\`` })
  const expected = request.expected ?? null
  if (expected !== null && expected !== (before === null ? '' : projectEtag(draft, kinds, before)))
    return err({ kind: 'stale-etag' })
  const issues = duplicateIssues(request)
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  const application = new DocumentApplication(context, draft)
  const project = application.putProject(before, key, request.project.body)
  if (project === null) return err({ kind: 'invalid', issues: application.issues })
  application.deleteAll(project.id, request.delete ?? [])
  application.putAll(project.id, request.documents)
  if (application.issues.length === 0) application.checkConsequences(project.id)
  if (application.issues.length > 0) return err({ kind: 'invalid', issues: application.issues })
  return ok({ project, changes: application.changes() })
}

function duplicateIssues({ documents, delete: deleted }: ApplyRequest): string[] {
  const seen = new Set<string>()
  return [...documents, ...(deleted ?? [])].flatMap((document) => {
    const key = changeKey(document)
    if (seen.has(key)) return [`${key}: given twice`]
    seen.add(key)
    return []
  })
}

/** Why a document is not stored: an error, or documents of the request that must be stored first. */
type DocumentRefusal = { readonly issues: readonly string[]; readonly mayWait: boolean }

class DocumentApplication {
  readonly issues: string[] = []
  private readonly context: ApplyContext
  private readonly draft: DocumentDraft
  private readonly kinds: ReadonlyMap<string, ConfigKind>
  private readonly done = new Map<string, AppliedChange>()
  private readonly deleted: AppliedChange[] = []
  private own: AppliedChange[] = []
  private order: readonly string[] = []

  constructor(context: ApplyContext, draft: DocumentDraft) {
    this.context = context
    this.draft = draft
    this.kinds = new Map(context.kinds.map((kind) => [kind.path, kind]))
  }

  changes(): readonly AppliedChange[] {
    const inOrder = this.order.flatMap((key) => this.done.get(key) ?? [])
    return [...this.own, ...inOrder, ...this.deleted]
  }

  /** Returns null if the project cannot be stored; `issues` has the reasons. */
  putProject(before: StoredDocument | null, key: string, body: DocumentFields): StoredDocument | null {
    const name = before?.name ?? key
    const scope = { organization_id: this.context.caller.organizationId }
    const put = this.put(this.kinds.get(projectsKind) as ConfigKind, null, name, body, scope, before)
    if (!put.ok) {
      this.issues.push(...put.error.issues.map((issue) => `${changeKey({ kind: projectsKind, name })}: ${issue}`))
      return null
    }
    this.own = [put.value]
    return put.value.after
  }

  deleteAll(projectId: string, requested: readonly { readonly kind: string; readonly name: string }[]): void {
    const { draft, context } = this
    for (const { kind: path, name } of requested) {
      const at = changeKey({ kind: path, name })
      const kind = this.kindOf(path)
      // One of the documents above it may have been deleted with it.
      const isGone = this.deleted.some(({ before }) => before?.kind === path && before.name === name)
      if (isGone) continue
      const document = kind === null ? null : draft.getByName(path, projectId, name)
      if (kind === null || document === null) {
        this.issues.push(kind === null ? `${at}: ${unknownKindMessage(path)}` : `${at}: no such ${kind.label}`)
        continue
      }
      const blocker = kind.deletionBlocker?.(document, draft) ?? null
      if (blocker !== null) this.issues.push(`${at}: ${blocker}`)
      else
        for (const before of removeDocument(context.kinds, draft, document, context.nowMs)) {
          const itsKind = this.kinds.get(before.kind)
          if (itsKind !== undefined)
            this.deleted.push({ kind: itsKind, action: 'deleted', before, after: null, body: {} })
        }
    }
  }

  putAll(projectId: string, requested: readonly RequestedDocument[]): void {
    this.order = requested.map(changeKey)
    // A kind that others are compiled with is stored before them.
    const isFirst = ({ kind }: RequestedDocument): boolean => this.kinds.get(kind)?.consequences !== undefined
    let left: readonly RequestedDocument[] = [...requested.filter(isFirst), ...requested.filter((one) => !isFirst(one))]
    for (;;) {
      const waiting = new Map<RequestedDocument, DocumentRefusal>()
      const pending = new Set(left.map(changeKey))
      for (const document of left) {
        const put = this.putDocument(projectId, document, pending)
        if (put.ok) {
          this.done.set(changeKey(document), put.value)
          pending.delete(changeKey(document))
        } else if (put.error.mayWait) waiting.set(document, put.error)
        else this.refuse(document, put.error)
      }
      if (waiting.size === 0) return
      if (waiting.size < left.length) left = [...waiting.keys()]
      else {
        for (const [document, refusal] of waiting) this.refuse(document, refusal)
        // Documents that wait for a refused one have no issues of their own.
        const [first] = waiting.keys()
        if (this.issues.length === 0 && first !== undefined)
          this.refuse(first, { issues: ['references: the documents refer to each other'], mayWait: false })
        return
      }
    }
  }

  /** Adds an issue for each document that a change of another one makes invalid. */
  checkConsequences(projectId: string): void {
    for (const { kind, action, before, after } of this.changes()) {
      if (kind.consequences === undefined || action === 'unchanged') continue
      const broken = kind.consequences(this.draft, projectId, before?.fields ?? null, after?.fields ?? null)
      const at = changeKey((after ?? before) as StoredDocument)
      this.issues.push(...broken.map((issue) => `${at}: ${issue}`))
    }
  }

  private refuse(document: RequestedDocument, { issues }: DocumentRefusal): void {
    this.issues.push(...issues.map((issue) => `${changeKey(document)}: ${issue}`))
  }

  private kindOf(path: string): ConfigKind | null {
    const kind = this.kinds.get(path)
    const isNamed = kind !== undefined && kind.inOrganization !== true && kind.isNamed
    return isNamed ? kind : null
  }

  private putDocument(
    projectId: string,
    { kind: path, name, body, references }: RequestedDocument,
    pending: ReadonlySet<string>,
  ): Result<AppliedChange, DocumentRefusal> {
    const kind = this.kindOf(path)
    if (kind === null) return err({ issues: [unknownKindMessage(path)], mayWait: false })
    const ids: Record<string, string> = {}
    const missing: string[] = []
    for (const named of references ?? []) {
      const found = this.draft.getByName(named.kind, projectId, named.name)
      // A document of the request may have failed, or may be stored later.
      if (pending.has(changeKey(named))) return err({ issues: [], mayWait: true })
      if (found !== null) ids[named.member] = found.id
      else if (!this.order.includes(changeKey(named)))
        missing.push(`${named.member}: no ${this.kindOf(named.kind)?.label ?? named.kind} is named \`${named.name}\``)
    }
    if (missing.length > 0) return err({ issues: missing, mayWait: false })
    if (Object.keys(ids).length < (references ?? []).length) return err({ issues: [], mayWait: false })
    const scope = kind.parent.kind === projectsKind ? { project_id: projectId } : {}
    return this.put(kind, projectId, name, { ...body, ...ids }, scope, this.draft.getByName(path, projectId, name))
  }

  /** `projectId`: that of the request; null for the project itself. */
  private put(
    kind: ConfigKind,
    projectId: string | null,
    name: string,
    given: DocumentFields,
    scope: DocumentFields,
    before: StoredDocument | null,
  ): Result<AppliedChange, DocumentRefusal> {
    const { context, draft } = this
    const { sealer, caller, nowMs } = context
    const own = ['name', 'project_id', 'organization_id'].filter((member) => Object.hasOwn(given, member))
    if (own.length > 0)
      return err({ issues: own.map((member) => `${member}: expected no such member in \`body\``), mayWait: false })
    const read = validate(kind.createSchema, { ...given, name, ...scope })
    if (!read.ok) return err({ issues: read.error, mayWait: false })
    const body = normalisedBody(kind, read.value)
    const foreign = projectId === null ? null : this.foreignParent(kind, projectId, body)
    if (foreign !== null) return err({ issues: [foreign], mayWait: false })
    if (before === null) {
      const composed = newDocument({ kind, draft, sealer }, caller, body, nowMs)
      if (!composed.ok) return err(refusalOf(composed.error))
      const after = this.withTrial(composed.value.document)
      draft.put(after)
      return ok({ kind, action: 'created', before: null, after, body })
    }
    const replaced = replacedFields({ kind, draft, sealer }, before, body)
    if (!replaced.ok) return err(refusalOf(replaced.error))
    if (isSameContent(kind, replaced.value.fields, before.fields))
      return ok({ kind, action: 'unchanged', before, after: before, body })
    const time = new Date(nowMs).toISOString()
    const after = this.withTrial({
      ...before,
      revision: before.revision + 1,
      update_time: time,
      updated_by: caller.serviceAccountId,
      fields: replaced.value.fields,
    })
    draft.put(after)
    return ok({ kind, action: 'updated', before, after, body })
  }

  /** The error of a body whose document would be below a document of another project; null: it is below this one. */
  private foreignParent({ parent }: ConfigKind, projectId: string, body: DocumentFields): string | null {
    const id = String(body[parent.field])
    const isOwn =
      parent.kind === projectsKind ? id === projectId : this.draft.get(parent.kind, id)?.project_id === projectId
    return isOwn
      ? null
      : `${parent.field}: no ${this.kinds.get(parent.kind)?.label ?? parent.kind} \`${id}\` in the project`
  }

  private withTrial(document: StoredDocument): StoredDocument {
    const fields = this.context.trialFields.get(changeKey(document))
    return fields === undefined ? document : { ...document, fields: { ...document.fields, ...fields } }
  }
}

/** A conflict is with another document, which a later one of the request may change. */
function refusalOf(error: ServiceError): DocumentRefusal {
  const issues = 'issues' in error ? error.issues : ['message' in error ? error.message : error.kind]
  return { issues, mayWait: error.kind === 'conflict' }
}

function unknownKindMessage(path: string): string {
  return path === projectsKind || path === organizationsKind
    ? `documents of the kind \`${path}\` are not part of a project`
    : `unknown kind \`${path.slice(0, 64)}\``
}

/** Whether stored fields mean the same: members that have their default, and the spelling of JSON texts, are no difference. */
function isSameContent(kind: ConfigKind, after: DocumentFields, before: DocumentFields): boolean {
  return canonicalJson(contentOf(kind, after)) === canonicalJson(contentOf(kind, before))
}

function contentOf(kind: ConfigKind, fields: DocumentFields): DocumentFields {
  const entries = Object.entries(withoutNulls(fields)).flatMap(([name, value]) => {
    const standard = kind.defaults[name]
    if (value === '' || (standard !== undefined && canonicalJson(standard) === canonicalJson(value))) return []
    if (!kind.jsonTexts.includes(name)) return [[name, value] as const]
    const parsed = parseJson(value as string)
    return [[name, parsed.ok ? parsed.value : value] as const]
  })
  return Object.fromEntries(entries)
}
