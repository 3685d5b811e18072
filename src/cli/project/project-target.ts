// Where `apply`, `pull` and `plan` find a project: in the data folder, which may be served, or at the URL of a service.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { suggestion } from '../../../grammar/suggest.ts'
import { declaredKinds } from '../../app/kinds.ts'
import type { Authorizer, ComparisonInput, ComparisonOutput, GraphNamesOutput } from '../../authorizer/authorizer.ts'
import { AuthorizerError } from '../../authorizer/authorizer-error.ts'
import type { ApplyRequest } from '../../config/apply-documents.ts'
import { type DocumentFields, organizationsKind, projectsKind, type StoredDocument } from '../../config/kind.ts'
import type { AppliedProject } from '../../config/project-configuration.ts'
import { findProjectIn, type ProjectDocuments, readProjectDocuments } from '../../config/project-documents.ts'
import { ConfigRepository } from '../../config/repository.ts'
import { openSecret } from '../../config/secrets.ts'
import { openSealer } from '../../identity/folder-keys.ts'
import { CONFIGURATION_FOLDER, DATA_FILE } from '../../kernel/folder/data-folder.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import type { CurrentProject } from '../../project/current-project.ts'
import type { ProjectFolder } from '../../project/project-folder.ts'
import { currentProjectOf } from '../../project/read-project.ts'
import type { Settings } from '../../settings.ts'
import { openCollections } from '../../store/documents/collections.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../store/lmdb/open-lock.ts'
import { isFolderLocked } from '../../store/process/folder-lock.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { projectVariable } from '../settings/environment-variables.ts'
import { settingsFrom } from '../settings/flag-settings.ts'
import { InProcessClient } from '../target/in-process-client.ts'
import { ServiceClient, ServiceRefusalError } from '../target/service-client.ts'
import { placeOf, type TargetFlags } from '../target/target-place.ts'

const TOKEN_LIFETIME_S = 3600

/** The secrets of a document in a request. */
export interface SentSecrets {
  readonly kind: string
  /** Of the stored document. */
  readonly id: string
  readonly body: DocumentFields
  /** The paths of the secrets in the body; a list of secrets has one path. */
  readonly paths: readonly (readonly string[])[]
}

/** Reads and changes projects. */
export interface ProjectTarget {
  /** For messages: the URL or the folder. */
  readonly place: string
  /** True: this process writes to the folder itself, or has its service do it. */
  readonly isFolder: boolean
  /** Reads a project by id or name; null: it does not exist. Rejects with CliError. */
  read(project: string): Promise<CurrentProject | null>
  /** Names of the projects, for suggestions; empty if they cannot be read. */
  names(): Promise<readonly string[]>
  /** Compares the ACTIVE policies of a project with a proposal; null: the project has no graph yet. Rejects with CliError. */
  compare(projectId: string, proposal: ComparisonInput): Promise<ComparisonOutput | null>
  /** The labels and types of the graph of a project; empty if it has none or they cannot be read. */
  graphTypes(projectId: string): Promise<readonly string[]>
  /** Whether stored documents have these secrets; null: unknown, because a service never shows them. */
  hasSecrets(documents: readonly SentSecrets[]): Promise<boolean | null>
  /** Rejects with ServiceRefusalError if the service refuses the request. */
  apply(project: string, request: ApplyRequest): Promise<AppliedProject>
}

/** The project that a command is about. */
interface NamedProject {
  readonly target: ProjectTarget
  readonly settings: Settings
  /** Id or name; null: no option, variable or context names one. */
  readonly project: string | null
  /** For messages: what named the project, if it was not `--project`; else null. */
  readonly namedBy: string | null
}

/** The project that the flags, the environment or the current context name, as for commands that ask. Throws CliError. */
export function namedProject(flags: TargetFlags): NamedProject {
  const place = placeOf(flags, '--url, --data or --context')
  if (place.kind === 'memory') {
    throw new UsageError([
      'the context names a project folder with its graph in memory, and this command needs a service or a data folder: pass --data, --url or --context',
    ])
  }
  const { project } = place
  const variable = process.env[projectVariable] ?? ''
  const namedBy =
    flags.project !== undefined || project === null ? null : variable === '' ? 'the context' : projectVariable
  if (place.kind === 'data-folder')
    return { target: folderTarget(place.settings), settings: place.settings, project, namedBy }
  const settings = place.issuer ?? settingsFrom(flags)
  return { target: serviceTarget(new ServiceClient(settings, place.url, place.token())), settings, project, namedBy }
}

/**
 * Refuses a project that the environment or a context names if it is not the one of the folder, which would get the policies of
 * another project. Throws UsageError.
 */
export function refuseOtherProject(
  { namedBy }: NamedProject,
  folder: ProjectFolder,
  current: CurrentProject | null,
): void {
  if (namedBy === null || current === null || current.project.name === folder.project.name) return
  throw new UsageError([
    `${namedBy} names the project \`${current.project.name}\`, and verdigraph.yaml \`${folder.project.name}\`: pass --project to choose one`,
  ])
}

/** The error for a project that does not exist, with the nearest name. */
export async function unknownProjectError(target: ProjectTarget, project: string, hint = ''): Promise<CliError> {
  const nearest = suggestion(project, await target.names())
  const advice = hint === '' ? '' : `${nearest === '' ? ';' : ''} ${hint}`
  return new CliError([`${target.place} has no project \`${project}\`${nearest}${advice}`])
}

function documentsPath(project: string): string {
  return `projects/${segment(project)}/documents`
}

function segment(text: string): string {
  return encodeURIComponent(text).replaceAll('%3A', ':')
}

function serviceTarget(client: ServiceClient): ProjectTarget {
  return {
    place: client.url,
    isFolder: false,
    async read(project) {
      try {
        return currentProjectOf((await client.call('GET', documentsPath(project))) as ProjectDocuments)
      } catch (failure) {
        if (failure instanceof ServiceRefusalError && failure.status === 404) return null
        throw failure
      }
    },
    async names() {
      const listed = (await client.call('GET', projectsKind).catch(() => ({ data: [] }))) as ListedProjects
      return listed.data.map(({ name }) => name)
    },
    async compare(projectId, proposal) {
      const headers = { 'x-project-id': projectId }
      try {
        return (await client.request('POST', '/access/v1/compare', proposal, 'plain', headers)) as ComparisonOutput
      } catch (failure) {
        if (
          failure instanceof ServiceRefusalError &&
          failure.status === 404 &&
          failure.lines.some((line) => line.includes('knowledge graph'))
        )
          return null
        throw failure
      }
    },
    async graphTypes(projectId) {
      const headers = { 'x-project-id': projectId }
      try {
        const names = await client.request('GET', '/graph/v1/names', undefined, 'plain', headers)
        return ownLabels(names as GraphNamesOutput)
      } catch (failure) {
        if (failure instanceof ServiceRefusalError) return []
        throw failure
      }
    },
    hasSecrets: () => Promise.resolve(null),
    apply: async (project, request) =>
      (await client.call('POST', `projects/${segment(project)}/apply`, request)) as AppliedProject,
  }
}

interface ListedProjects {
  readonly data: readonly { readonly name: string }[]
}

function folderTarget(settings: Settings): ProjectTarget {
  const { dataDir } = settings
  const configuration = join(dataDir, CONFIGURATION_FOLDER)
  if (!existsSync(join(configuration, DATA_FILE)))
    throw new CliError([`the folder ${dataDir} has no organization; \`init\` creates one, and --url names a service`])
  return {
    place: dataDir,
    isFolder: true,
    read: (project) =>
      withDocuments(configuration, (documents) => {
        const found = findProjectIn(documents, organizationOf(documents), project)
        return found === null ? null : currentProjectOf(readProjectDocuments(documents, declaredKinds(settings), found))
      }),
    names: () => withDocuments(configuration, (documents) => documents.all(projectsKind).map(({ name }) => name)),
    compare: (projectId, proposal) => compareHere(settings, projectId, proposal),
    graphTypes: (projectId) =>
      withGraph(settings, projectId, (authorizer) => ownLabels(authorizer.names())).then((labels) => labels ?? []),
    hasSecrets: (sent) =>
      withDocuments(configuration, (documents) => {
        const sealer = openSealer(dataDir)
        return sent.every(({ kind, id, body, paths }) => {
          const stored = documents.get(kind, id)
          return stored !== null && paths.every((path) => isSameSecret(stored, path, body, sealer))
        })
      }),
    apply(project, request) {
      // A service has just started if the folder is locked by now; it then has the current configuration.
      const served = serviceTarget(new ServiceClient(settings, null))
      return isFolderLocked(dataDir) ? served.apply(project, request) : applyHere(settings, project, request)
    },
  }
}

/** Compares in this process. */
function compareHere(
  settings: Settings,
  projectId: string,
  proposal: ComparisonInput,
): Promise<ComparisonOutput | null> {
  // Nothing else waits for this process, so the budget of the request is the only limit of time.
  const batchTimeMs = Math.max(settings.batchTimeMs, 2 * (proposal.budget?.time_ms ?? 0))
  return withGraph({ ...settings, batchTimeMs }, projectId, (authorizer) => authorizer.compare(proposal))
}

/** Reads the graph in this process, also while the folder is served; null: the project has no graph yet. */
async function withGraph<T>(
  settings: Settings,
  projectName: string,
  read: (authorizer: Authorizer) => T,
): Promise<T | null> {
  const { openFolderAuthorizer } = await import('../../authorizer/folder-authorizer.ts')
  const options = { settings, secrets: () => undefined, report: () => undefined, projectName }
  const authorizer = await openFolderAuthorizer(settings.dataDir, null, options)
  try {
    return read(authorizer)
  } catch (failure) {
    if (failure instanceof AuthorizerError && failure.kind === 'not-found') return null
    if (failure instanceof AuthorizerError)
      throw new CliError(failure.issues.length > 0 ? failure.issues : [failure.message])
    throw failure
  } finally {
    await authorizer.close()
  }
}

/** Without those of the system. */
function ownLabels({ labels }: GraphNamesOutput): readonly string[] {
  return labels.filter((label) => !label.startsWith('_'))
}

/** Reads the folder without a lock: another process may be serving it. */
async function withDocuments<T>(configuration: string, read: (documents: ConfigRepository) => T): Promise<T> {
  const options = { readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS }
  const collections = openCollections(configuration, options)
  try {
    return read(new ConfigRepository(collections))
  } finally {
    await collections.close()
  }
}

function isSameSecret(
  stored: StoredDocument,
  path: readonly string[],
  body: DocumentFields,
  sealer: Parameters<typeof openSecret>[2],
): boolean {
  const sent = path.reduce<unknown>((value, step) => (isJsonObject(value) ? value[step] : undefined), body)
  return JSON.stringify(openSecret(stored, path, sealer)) === JSON.stringify(sent)
}

function organizationOf(documents: ConfigRepository): string {
  return documents.all(organizationsKind)[0]?.id ?? ''
}

/** Applies a request to a folder that is not served, through the same handler as a service. */
async function applyHere(settings: Settings, project: string, request: ApplyRequest): Promise<AppliedProject> {
  const { createApp } = await import('../../app.ts')
  const app = await createApp({ ...settings, lanes: 0 })
  try {
    const token = await app.issueAdminToken(TOKEN_LIFETIME_S)
    const client = new InProcessClient({ handle: app.handleInProcess, token })
    const { status, body } = await client.post(`projects/${segment(project)}/apply`, request)
    const answer = JSON.parse(body) as AppliedProject & { message?: string; errors?: string[] }
    if (status < 300) return answer
    const { errors = [], message = '' } = answer
    throw new ServiceRefusalError(status, errors.length > 0 ? errors : [message])
  } finally {
    await app.close()
  }
}
