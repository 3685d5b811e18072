// Stores the policies, queries and resolvers of a project folder as configuration in memory, by the checks of the configuration
// interface: policies and queries are compiled. Their errors get the places in the files.
import { newDocument } from '../config/compose-document.ts'
import { layoutOf, locationsOf } from '../config/db-connection.ts'
import {
  applicationAgentsKind,
  applicationsKind,
  type ConfigKind,
  type ConfigReader,
  type DocumentFields,
  organizationsKind,
  projectsKind,
  queriesKind,
  type Sealer,
  type StoredDocument,
} from '../config/kind.ts'
import { ConfigRepository } from '../config/repository.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { mintGid } from '../kernel/ids.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import { models } from '../model/model-kind.ts'
import { modelsKind } from '../model/stored-model.ts'
import { authorizationPolicies, policiesKind } from '../policy/authorization-policy.ts'
import { MemoryDocuments } from '../store/documents/memory-documents.ts'
import type { GraphLayout } from '../store/tenancy/project-graphs.ts'
import { type FileDiagnostic, ProjectFolderError } from './file-diagnostic.ts'
import { createBody } from './load-project.ts'
import type { FolderDocument, ProjectFolder } from './project-folder.ts'

/** A project folder as stored configuration. */
export interface StoredProject {
  readonly documents: ConfigRepository
  readonly projectId: string
  readonly applicationId: string
  readonly agentId: string
  /** The graphs that the project has. */
  readonly layout: GraphLayout
}

/** The inputs of storing a project. */
interface StoreProjectOptions {
  readonly clock: Clock
  /** Maximum characters of the document of a policy or a query. */
  readonly policyTextMax: number
  /** The kind of resolvers, which is loaded only for a project with resolvers; null: the project has none. */
  readonly resolvers: ConfigKind | null
}

/** Secrets stay the references that the files contain. `SecretLookup` replaces them when a resolver is called. */
const references: Sealer = { seal: (text) => text, open: (text) => text }

/** The kinds that decide and answer; documents of other kinds have no effect without the service. */
const checkedKinds: readonly string[] = [policiesKind, queriesKind]

/** Stores the documents of a project in memory. Rejects with ProjectFolderError for all documents that fail a check. */
export async function storeProject(project: ProjectFolder, options: StoreProjectOptions): Promise<StoredProject> {
  const { clock, policyTextMax, resolvers } = options
  const documents = new ConfigRepository(new MemoryDocuments(), undefined, clock)
  const kinds = new Map<string, ConfigKind>(
    [
      // A folder has no former model, so there are no uses that a change could break.
      models(policyTextMax, () => []),
      authorizationPolicies(policyTextMax, (stored) => locationsOf(stored).keys()),
      ...(await queryKinds(project, policyTextMax)),
      ...(resolvers === null ? [] : [resolvers]),
    ].map((kind) => [kind.path, kind]),
  )
  const nowMs = clock.now()
  const surroundings = surroundingDocuments(project.project, nowMs)
  const errors: FileDiagnostic[] = []
  const modelFile = project.documents.find(({ kind }) => kind === modelsKind)?.file
  await documents.write((draft) => {
    for (const document of surroundings.all) draft.put(document)
    const { projectId } = surroundings
    const idOf = idsIn(draft, projectId)
    for (const document of project.documents) {
      // Without the definitions, a policy could mean another thing.
      if (errors.some(({ file }) => file === modelFile)) break
      const kind = kinds.get(document.kind)
      if (kind === undefined || isDependentOnFailed(document, draft, projectId)) continue
      const body = { project_id: projectId, ...createBody(document, idOf) }
      const composed = newDocument({ kind, draft, sealer: references }, surroundings.caller, body, nowMs)
      if (composed.ok) draft.put(composed.value.document)
      else errors.push(...diagnosticsOf(document, composed.error))
    }
  })
  if (errors.length > 0) throw new ProjectFolderError(errors)
  const { projectId, applicationId, agentId } = surroundings
  const stored = documents.get(projectsKind, projectId) as StoredDocument
  return { documents, projectId, applicationId, agentId, layout: layoutOf(stored) }
}

/** Most programs ask no knowledge queries, so that their kind is loaded only for a project with some. */
async function queryKinds({ documents }: ProjectFolder, textMax: number): Promise<readonly ConfigKind[]> {
  if (!documents.some(({ kind }) => kind === queriesKind)) return []
  const { queryKind } = await import('./query-files.ts')
  return [queryKind(textMax)]
}

/** Whether the document names one whose check failed: the error of that one is enough. */
function isDependentOnFailed({ references: named }: FolderDocument, reader: ConfigReader, projectId: string): boolean {
  return named.some(({ kind, name }) => checkedKinds.includes(kind) && reader.getByName(kind, projectId, name) === null)
}

function idsIn(reader: ConfigReader, projectId: string): (kind: string, name: string) => string {
  return (kind, name) => reader.getByName(kind, projectId, name)?.id ?? ''
}

/** The errors of the configuration interface about a document, with places in its file. */
export function diagnosticsOf(document: FolderDocument, error: ServiceError): readonly FileDiagnostic[] {
  const issues = 'issues' in error ? error.issues : ['message' in error ? error.message : error.kind]
  return issues.map((issue) => {
    // Further lines show the text around the place.
    const [line = ''] = issue.split('\n')
    const [, path, place, rest] = /^([\w.[\]-]+): (line \d+, column \d+: )?(.*)$/.exec(line) ?? []
    if (path === undefined || rest === undefined) return { ...document.locate(''), message: line }
    const member = document.pathInFile(path)
    const message = place !== undefined || member === '' ? rest : `${member}: ${rest}`
    return { ...document.locate(place === undefined ? path : `${path}: ${place}`), message }
  })
}

interface ProjectSurroundings {
  readonly all: readonly StoredDocument[]
  readonly caller: ServiceAccountCaller
  readonly projectId: string
  readonly applicationId: string
  readonly agentId: string
}

/** The documents that a project has around it in a data folder: its organization, and the agent that calls. */
function surroundingDocuments(project: FolderDocument, nowMs: number): ProjectSurroundings {
  const [organizationId, projectId, applicationId, agentId] = Array.from({ length: 4 }, () => mintGid(nowMs)) as [
    string,
    string,
    string,
    string,
  ]
  const time = timestamp(nowMs)
  const of = (kind: string, id: string, name: string, parent_id: string, fields: DocumentFields): StoredDocument => ({
    kind,
    id,
    revision: 1,
    organization_id: organizationId,
    project_id: kind === organizationsKind || kind === projectsKind ? '' : projectId,
    parent_id,
    name,
    create_time: time,
    created_by: '',
    update_time: time,
    updated_by: '',
    fields,
  })
  return {
    all: [
      of(organizationsKind, organizationId, 'memory', '', {}),
      of(projectsKind, projectId, project.name, organizationId, { ...project.body, ikg_status: 'ACTIVE' }),
      of(applicationsKind, applicationId, 'authorizer', projectId, {}),
      of(applicationAgentsKind, agentId, 'authorizer', applicationId, { api_permissions: [] }),
    ],
    caller: { kind: 'service-account', serviceAccountId: '', organizationId, role: 'all_editor' },
    projectId,
    applicationId,
    agentId,
  }
}
