// The command `apply`: makes the stored configuration of a project that of a project folder, in one transaction.
import { createInterface } from 'node:readline/promises'
import type { ApplyRequest } from '../../config/apply-documents.ts'
import { envelope, projectsKind, resolversKind } from '../../config/kind.ts'
import type { AppliedProject } from '../../config/project-configuration.ts'
import { validate } from '../../config/validate.ts'
import { secretParametersOf } from '../../kernel/text/url-secrets.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import { urlSecretMessage } from '../../language/lint/url-secrets.ts'
import type { CurrentProject } from '../../project/current-project.ts'
import { type DocumentDifference, differenceOf, hasChanges, type ProjectDifference } from '../../project/difference.ts'
import { type FileDiagnostic, formatFileDiagnostic, ProjectFolderError } from '../../project/file-diagnostic.ts'
import { loadProject } from '../../project/load-project.ts'
import type { FolderDocument, ProjectFolder } from '../../project/project-folder.ts'
import { bodyWithSecrets } from '../../project/resolve-secrets.ts'
import { defaultSecretLookup } from '../../project/secret-references.ts'
import { diagnosticsOf, storeProject } from '../../project/stored-project.ts'
import type { Settings } from '../../settings.ts'
import { recordOperation } from '../folder/record-operation.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printJson, printLine, printNotice } from '../output/print.ts'
import { ServiceRefusalError } from '../target/service-client.ts'
import type { TargetFlags } from '../target/target-place.ts'
import { countsLine, differenceJson, differenceLines, keptLines } from './print-difference.ts'
import {
  namedProject,
  type ProjectTarget,
  refuseOtherProject,
  type SentSecrets,
  unknownProjectError,
} from './project-target.ts'
import { modelNotices, proposalOf } from './proposal.ts'

const OPERATION = 'svc.audit.operations.project.apply'

/** The options of `apply`. */
export interface ApplyFlags extends TargetFlags {
  readonly create: boolean
  readonly prune: boolean
  readonly yes: boolean
  readonly dryRun: boolean
  readonly json: boolean
}

/** Runs `apply`. Rejects with CliError if the folder or a document is refused; nothing is stored then. */
export async function applyFolder(path: string, flags: ApplyFlags): Promise<void> {
  const { prune, yes, dryRun, json } = flags
  const folder = await readFolder(path)
  printUrlSecrets(folder)
  const named = namedProject(flags)
  const { target, settings } = named
  const key = named.project ?? folder.project.name
  const current = await target.read(key)
  refuseOtherProject(named, folder, current)
  if (current === null) await refuseUnknown(target, key, flags)
  const difference = differenceOf(folder, current)
  const deletions = prune ? difference.documents.filter(({ action }) => action === 'delete') : []
  if (!json) for (const line of differenceLines(difference, prune)) printLine(line)
  if (dryRun) {
    await checkFolder(folder, settings)
    for (const line of await dryRunNotices(target, folder, current, difference, prune)) printNotice(line)
    print(difference, flags, 'planned')
    return
  }
  const request = requestOf(folder, current, deletions, flags)
  const isNeeded =
    hasChanges(difference) || deletions.length > 0 || (await differsInSecrets(target, difference, request))
  if (!isNeeded) {
    print(difference, flags, 'done')
    return
  }
  if (deletions.length > 0 && !yes) await confirm(deletions)
  const applied = await send(settings, target, key, request, folder)
  const done = resultOf(difference, applied, prune)
  for (const { kind, name, warnings } of applied.documents)
    for (const warning of warnings ?? []) printNotice(`warning: ${kind} ${name}: ${warning}`)
  if (!json) for (const line of secretLines(difference, done)) printLine(line)
  print({ ...done, projectId: applied.project_id }, flags, 'done')
}

/** The stored data that a changed model would not fit. The decisions are compared by `plan`. */
async function dryRunNotices(
  target: ProjectTarget,
  folder: ProjectFolder,
  current: CurrentProject | null,
  difference: ProjectDifference,
  prune: boolean,
): Promise<readonly string[]> {
  const proposal = current === null ? null : proposalOf(folder, current, difference, prune)
  if (current === null || typeof proposal?.model !== 'string') return []
  try {
    return modelNotices(folder, await target.compare(current.project.id, { ...proposal, sample: 0 }))
  } catch (failure) {
    if (!(failure instanceof ServiceRefusalError) || failure.status !== 403) throw failure
    return ['warning: stored data is not compared with the changed model: the service refused it', ...failure.lines]
  }
}

/** Reads a project folder. `isPulled`: as in `loadProject`. Rejects with CliError: one line for each error. */
export async function readFolder(path: string, isPulled = false): Promise<ProjectFolder> {
  try {
    return await loadProject(path, isPulled)
  } catch (failure) {
    // The command does not run with such a folder.
    throw fileErrors(failure, exitCodes.usage.code)
  }
}

/** Prints a warning for each value in a URL that looks like a secret, without the value. */
export function printUrlSecrets({ documents }: ProjectFolder): void {
  for (const { kind, body, locate } of documents) {
    if (kind !== resolversKind) continue
    for (const name of secretParametersOf(String(body.url)))
      printNotice(`warning: ${formatFileDiagnostic({ ...locate('url'), message: urlSecretMessage(name) })}`)
  }
}

/** A CliError for errors in files; any other failure is returned. */
function fileErrors(failure: unknown, exitCode: number = exitCodes.failure.code): unknown {
  if (!(failure instanceof ProjectFolderError)) return failure
  return new CliError(failure.diagnostics.map(formatFileDiagnostic), exitCode)
}

async function refuseUnknown(target: ProjectTarget, key: string, { create, project }: ApplyFlags): Promise<void> {
  if (!create) throw await unknownProjectError(target, key, '--create creates it')
  if (project?.startsWith('gid:') === true)
    throw new UsageError(['--create: a new project has the name of --project or of verdigraph.yaml, not an id'])
  const read = validate(envelope.name, key, '--project')
  if (!read.ok) throw new UsageError(read.error)
}

/** Whether secrets may differ from the stored ones. A service compares them itself. */
async function differsInSecrets(
  target: ProjectTarget,
  { documents }: ProjectDifference,
  { project, documents: sent }: ApplyRequest,
): Promise<boolean> {
  const compared = documents.flatMap(({ kind, name, id, comparedLater }): SentSecrets[] => {
    if (id === null || comparedLater.length === 0) return []
    const body =
      (kind === projectsKind ? project : sent.find((one) => one.kind === kind && one.name === name))?.body ?? {}
    return [{ kind, id, body, paths: comparedLater }]
  })
  return compared.length > 0 && (await target.hasSecrets(compared)) !== true
}

/** The checks of policies and queries that need no service. Rejects with CliError: one line for each error. */
export async function checkFolder(folder: ProjectFolder, { policyTextMax }: Settings): Promise<void> {
  try {
    const documents = folder.documents.filter(({ kind }) => kind !== resolversKind)
    await storeProject({ ...folder, documents }, { clock: systemClock, policyTextMax, resolvers: null })
  } catch (failure) {
    throw fileErrors(failure)
  }
}

function requestOf(
  folder: ProjectFolder,
  current: CurrentProject | null,
  deletions: readonly DocumentDifference[],
  { create }: ApplyFlags,
): ApplyRequest {
  const lookup = defaultSecretLookup()
  const missing: FileDiagnostic[] = []
  const bodyOf = (document: FolderDocument) => bodyWithSecrets(document, lookup, missing)
  const request: ApplyRequest = {
    expected: current?.etag ?? '',
    ...(create && { create }),
    project: { body: bodyOf(folder.project) },
    documents: folder.documents.map((document) => ({
      kind: document.kind,
      name: document.name,
      body: bodyOf(document),
      ...(document.references.length > 0 && { references: [...document.references] }),
    })),
    delete: deletions.map(({ kind, name }) => ({ kind, name })),
  }
  if (missing.length > 0) throw new CliError(missing.map(formatFileDiagnostic))
  return request
}

async function confirm(deletions: readonly DocumentDifference[]): Promise<void> {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true)
    throw new UsageError(['--prune: expected --yes, because there is no terminal to ask'])
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const count = deletions.length === 1 ? 'this document' : `these ${deletions.length} documents`
    const answer = await terminal.question(`delete ${count}? [y/N] `)
    if (!/^y(?:es)?$/i.test(answer.trim())) throw new CliError(['stopped: nothing was changed'])
  } finally {
    terminal.close()
  }
}

async function send(
  settings: Settings,
  target: ProjectTarget,
  key: string,
  request: ApplyRequest,
  folder: ProjectFolder,
): Promise<AppliedProject> {
  try {
    const applied = await target.apply(key, request)
    if (target.isFolder) await recordApplied(settings, applied)
    return applied
  } catch (failure) {
    if (target.isFolder) await recordFailure(settings, key, failure)
    if (!(failure instanceof ServiceRefusalError)) throw failure
    if (failure.status === 412)
      throw new CliError([
        'the configuration was changed at the same time, and nothing was stored: run the command again',
      ])
    throw new CliError(failure.lines.flatMap((line) => placed(line, folder)))
  }
}

/** Records who changed the folder; the service records each change as one of its administrator. */
async function recordApplied(settings: Settings, { project_id, documents }: AppliedProject): Promise<void> {
  const count = (wanted: string): number => documents.filter(({ action }) => action === wanted).length
  const counts = { created: count('created'), updated: count('updated'), deleted: count('deleted') }
  if (counts.created + counts.updated + counts.deleted === 0) return
  await recordOperation(settings, OPERATION, { outcome: 'ok', project: project_id, ...counts })
}

async function recordFailure(settings: Settings, project: string, failure: unknown): Promise<void> {
  const error = failure instanceof Error ? failure.message : String(failure)
  // The cause of the failure may prevent the record too, and it is the error to report.
  await recordOperation(settings, OPERATION, { outcome: 'failed', error, project }).catch(() => undefined)
}

/** Puts the place in the file before an issue, which begins with kind and name of its document. */
function placed(issue: string, folder: ProjectFolder): readonly string[] {
  const [, kind = '', name = ''] = /^([\w-]+) ([\w-]+): /.exec(issue) ?? []
  const document =
    kind === folder.project.kind
      ? folder.project
      : folder.documents.find((one) => one.kind === kind && one.name === name)
  if (document === undefined) return [issue]
  const text = issue.slice(`${kind} ${name}: `.length)
  return diagnosticsOf(document, { kind: 'invalid', issues: [text] }).map(formatFileDiagnostic)
}

/** The documents of which only secrets differ. */
function secretLines(planned: ProjectDifference, done: ProjectDifference): readonly string[] {
  return done.documents
    .filter(({ action }, at) => action === 'update' && planned.documents[at]?.action === 'unchanged')
    .flatMap((document) => [
      ...differenceLines({ projectId: null, documents: [document] }, false),
      '    secrets differ',
    ])
}

/** The difference with what the service did, which has also compared secrets. */
function resultOf(
  { projectId, documents }: ProjectDifference,
  applied: AppliedProject,
  prune: boolean,
): ProjectDifference {
  const actions = new Map(applied.documents.map(({ kind, name, action, id }) => [`${kind} ${name}`, { action, id }]))
  const done = { created: 'create', updated: 'update', unchanged: 'unchanged', deleted: 'delete' } as const
  const results = documents.map((document): DocumentDifference => {
    const isKept = document.action === 'delete' && !prune
    const result = isKept ? undefined : actions.get(`${document.kind} ${document.name}`)
    return result === undefined ? document : { ...document, action: done[result.action], id: result.id }
  })
  return { projectId, documents: results }
}

function print(difference: ProjectDifference, { prune, json, dryRun }: ApplyFlags, verbs: 'planned' | 'done'): void {
  if (json) {
    printJson({ ...differenceJson(difference), dry_run: dryRun })
    return
  }
  for (const line of keptLines(difference, prune)) printLine(line)
  printLine(countsLine(difference, prune, verbs))
}
