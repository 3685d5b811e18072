// Reads and applies the documents of a project as a whole: one request changes all of them in one transaction, or nothing
// (docs/decisions/0047-projects-as-files.md).

import type { ServiceError } from '../kernel/errors.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import { noOrigin, type RequestOrigin } from '../kernel/request/request-origin.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Clock } from '../kernel/time/clock.ts'
import {
  type AppliedChange,
  type ApplyContext,
  type ApplyRequest,
  changeKey,
  changeProject,
  type ProjectChange,
} from './apply-documents.ts'
import type { ConfigEvents } from './config-events.ts'
import type { EffectOutbox } from './effect-outbox.ts'
import { equalFields } from './fields.ts'
import { notFoundError } from './find-document.ts'
import {
  type ConfigKind,
  type ConfigReader,
  type ConfigWriter,
  type DocumentDraft,
  type DocumentFields,
  projectsKind,
  type Sealer,
  type StoredDocument,
  scopeOf,
} from './kind.ts'
import { findProjectIn, type ProjectDocuments, projectEtag, readProjectDocuments } from './project-documents.ts'
import { permissionError } from './request-checks.ts'
import { changedDuringTrial } from './trials.ts'

/** Collaborators, which the configuration service has too. */
interface ProjectConfigurationDeps {
  readonly kinds: readonly ConfigKind[]
  readonly documents: ConfigWriter
  readonly sealer: Sealer
  readonly clock: Clock
  readonly events?: ConfigEvents
}

/** The result for one document. */
export interface AppliedDocument {
  readonly kind: string
  readonly name: string
  readonly id: string
  readonly action: AppliedChange['action']
  /** Probable mistakes in the stored document. */
  readonly warnings?: readonly string[]
}

/** The result of an apply. */
export interface AppliedProject {
  readonly project_id: string
  /** Of the documents after the change; empty for a project that a dry run would create. */
  readonly etag: string
  readonly documents: readonly AppliedDocument[]
}

/** Ends a transaction without writing. */
class Refused extends Error {
  readonly error: ServiceError
  constructor(error: ServiceError) {
    super(error.kind)
    this.error = error
  }
}

/** Reads and applies whole projects. */
export class ProjectConfiguration {
  private readonly deps: ProjectConfigurationDeps
  private readonly effects: EffectOutbox

  constructor(deps: ProjectConfigurationDeps, effects: EffectOutbox) {
    this.deps = deps
    this.effects = effects
  }

  /** Reads the documents of a project. `key`: id or name. Errors: `not-found`. */
  read(
    caller: ServiceAccountCaller,
    key: string,
    origin: RequestOrigin = noOrigin,
  ): Result<ProjectDocuments, ServiceError> {
    const { documents, kinds, events } = this.deps
    const project = findProjectIn(documents, caller.organizationId, key)
    if (project === null) return err(notFoundError(this.projectKind(), key))
    events?.read({ caller, origin }, this.projectKind(), { id: project.id }, [project])
    for (const kind of kinds) {
      const read = kind.inOrganization === true ? [] : documents.inScope(kind.path, project.id)
      if (read.length > 0 && kind.isNamed) events?.read({ caller, origin }, kind, {}, read)
    }
    return ok(readProjectDocuments(documents, kinds, project))
  }

  /**
   * Makes the documents of a project those of the request. All changes are in one transaction; documents that are the same already
   * keep their revisions, and without a change nothing is written. `dryRun`: nothing is written in any case. `key`: id or name of the
   * project.
   * Errors: `forbidden`, `not-found`, `stale-etag`, `invalid` with the issues of all documents, `conflict`. Rejects if a side effect
   * fails; the change is stored then.
   */
  async apply(
    caller: ServiceAccountCaller,
    key: string,
    request: ApplyRequest,
    dryRun: boolean,
    origin: RequestOrigin = noOrigin,
  ): Promise<Result<AppliedProject, ServiceError>> {
    const { documents, clock, kinds, sealer } = this.deps
    const refused = permissionError(caller, this.projectKind(), true)
    if (refused !== null) return err(refused)
    await this.prepare(caller, key, request)
    const context: ApplyContext = { kinds, sealer, caller, nowMs: clock.now(), trialFields: new Map() }
    const planned = documents.rehearse((draft) => changeProject(context, draft, key, request))
    if (!planned.ok) return planned
    const tried = await this.runTrials(planned.value)
    if (!tried.ok) return tried
    const isChanged = planned.value.changes.some(({ action }) => action !== 'unchanged')
    if (dryRun || !isChanged) return ok(await this.answer(planned.value, dryRun))
    const stored = await this.write({ ...context, trialFields: tried.value }, key, request, planned.value, origin)
    if (!stored.ok) return stored
    await this.effects.run(stored.value.intents)
    return ok(await this.answer(stored.value.change, false))
  }

  /** Opens what the check of a changed project needs. */
  private async prepare(caller: ServiceAccountCaller, key: string, { project }: ApplyRequest): Promise<void> {
    const kind = this.projectKind()
    const current = findProjectIn(this.deps.documents, caller.organizationId, key)
    if (current === null) return
    const changed = Object.keys(kind.updateSchema?.shape ?? {}).filter(
      (member) => !equalFields(project.body[member] ?? null, current.fields[member] ?? null),
    )
    if (changed.length > 0)
      await kind.beforeUpdate?.(
        current,
        Object.fromEntries(changed.map((member) => [member, project.body[member] ?? null])),
      )
  }

  private async runTrials({
    changes,
  }: ProjectChange): Promise<Result<ReadonlyMap<string, DocumentFields>, ServiceError>> {
    const fields = new Map<string, DocumentFields>()
    const issues: string[] = []
    for (const { kind, action, before, after, body } of changes) {
      if (kind.trial === undefined || after === null || action === 'unchanged') continue
      const tried = await kind.trial.run(after, before, body)
      if (tried.ok) fields.set(changeKey(after), tried.value)
      else if ('issues' in tried.error)
        issues.push(...tried.error.issues.map((issue) => `${changeKey(after)}: ${issue}`))
      else return tried
    }
    return issues.length === 0 ? ok(fields) : err({ kind: 'invalid', issues })
  }

  private async write(
    context: ApplyContext,
    key: string,
    request: ApplyRequest,
    planned: ProjectChange,
    origin: RequestOrigin,
  ): Promise<Result<{ change: ProjectChange; intents: readonly StoredDocument[] }, ServiceError>> {
    const { documents, events } = this.deps
    try {
      return ok(
        await documents.write((draft) => {
          const worked = changeProject(context, draft, key, request)
          if (!worked.ok) throw new Refused(worked.error)
          const change = worked.value
          const changed = change.changes.filter(({ action }) => action !== 'unchanged')
          const untested = changed.find((one) => isTestedAnew(one, planned))
          if (untested !== undefined) throw new Refused(changedDuringTrial(untested.kind))
          events?.changed({ caller: context.caller, origin }, draft, changed)
          return { change, intents: changed.flatMap((one) => this.intentsOf(draft, one, context.nowMs)) }
        }),
      )
    } catch (failure) {
      if (failure instanceof Refused) return err(failure.error)
      throw failure
    }
  }

  private intentsOf(draft: DocumentDraft, { before, after }: AppliedChange, nowMs: number): readonly StoredDocument[] {
    if (after === null) return this.effects.record(draft, 'deleted', before as StoredDocument, nowMs)
    return this.effects.record(draft, before === null ? 'created' : 'changed', after, nowMs)
  }

  private async answer({ project, changes }: ProjectChange, dryRun: boolean): Promise<AppliedProject> {
    const { documents, kinds } = this.deps
    const reader = dryRun ? plannedReader(documents, changes) : documents
    const results: AppliedDocument[] = []
    for (const { kind, action, before, after } of changes) {
      const { kind: path, name, id } = (after ?? before) as StoredDocument
      // Credentials go with their agents.
      if (name === '') continue
      const isChanged = after !== null && action !== 'unchanged'
      const warnings = isChanged ? ((await kind.warnings?.(after, reader)) ?? []) : []
      results.push({ kind: path, name, id, action, ...(warnings.length > 0 && { warnings }) })
    }
    const stored = documents.get(projectsKind, project.id)
    return {
      project_id: stored === null ? '' : project.id,
      etag: stored === null ? '' : projectEtag(documents, kinds, stored),
      documents: results,
    }
  }

  private projectKind(): ConfigKind {
    return this.deps.kinds.find(({ path }) => path === projectsKind) as ConfigKind
  }
}

/** The documents as a change would leave those of its project, for the warnings of a dry run. */
function plannedReader(documents: ConfigReader, changes: readonly AppliedChange[]): ConfigReader {
  const changed = new Map(changes.map(({ before, after }) => [((after ?? before) as StoredDocument).id, after]))
  const planned = (
    kind: string,
    isListed: (document: StoredDocument) => boolean,
    stored: readonly StoredDocument[],
  ) => [
    ...stored.filter(({ id }) => !changed.has(id)),
    ...[...changed.values()].filter((one): one is StoredDocument => one?.kind === kind && isListed(one)),
  ]
  return {
    get: (kind, id) => (changed.has(id) ? (changed.get(id) ?? null) : documents.get(kind, id)),
    getByName(kind, scopeId, name) {
      const isNamed = (one: StoredDocument): boolean => one.name === name && scopeOf(one) === scopeId
      const stored = documents.getByName(kind, scopeId, name)
      return planned(kind, isNamed, stored === null ? [] : [stored])[0] ?? null
    },
    children: (kind, parent) => planned(kind, (one) => one.parent_id === parent, documents.children(kind, parent)),
    inScope: (kind, scope) => planned(kind, (one) => scopeOf(one) === scope, documents.inScope(kind, scope)),
    all: (kind) => planned(kind, () => true, documents.all(kind)),
  }
}

/** Whether a document with a trial differs from the one that was tested. */
function isTestedAnew({ kind, before, after }: AppliedChange, planned: ProjectChange): boolean {
  if (kind.trial === undefined || after === null) return false
  const tested = planned.changes.find((one) => one.after !== null && changeKey(one.after) === changeKey(after))
  return tested === undefined || tested.before?.revision !== before?.revision
}
