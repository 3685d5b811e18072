// An authorizer over an existing data folder, which a service may be serving. It only reads: a write would not be in the events and
// in the audit log that the service records.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { suggestion } from '../../grammar/suggest.ts'
import { createGraphRegistry } from '../config/graphs/open-graphs.ts'
import { applicationAgentsKind, applicationsKind, projectsKind, type StoredDocument } from '../config/kind.ts'
import { ConfigRepository } from '../config/repository.ts'
import { openSecret } from '../config/secrets.ts'
import { openSealer } from '../identity/folder-keys.ts'
import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import { CONFIGURATION_FOLDER, DATA_FILE } from '../kernel/folder/data-folder.ts'
import { systemClock } from '../kernel/time/clock.ts'
import { ExternalDataResolvers } from '../pip/resolution.ts'
import type { ProjectFolder } from '../project/project-folder.ts'
import { defaultSettings } from '../settings.ts'
import { openCollections } from '../store/documents/collections.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../store/lmdb/open-lock.ts'
import { openCatalog } from '../store/tenancy/catalog.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { Authorizer } from './authorizer.ts'
import { createAuthorizer } from './create-authorizer.ts'
import { openProjectAuthorizer, type ProjectAuthorizerOptions } from './memory-authorizer.ts'
import { lazyUpstream, resolverLimits } from './outgoing.ts'

const READ_ONLY =
  'an authorizer over a data folder only reads: write through the service, which records events and the audit log'

/** Options of an authorizer over a data folder. */
export interface FolderAuthorizerOptions extends ProjectAuthorizerOptions {
  /** Name or id of the project; null: the only one. */
  readonly projectName: string | null
}

/** A counter that differs from every commit, so that each request reads the newest one. Other processes write to the folder. */
const alwaysBehind = { load: () => -1, store: () => undefined }

/**
 * Opens an authorizer over the graph of a project in a data folder. `project`: policies in place of those of the data folder;
 * null: those of the data folder. Rejects with OperationalError if the folder or its project cannot be read.
 */
export async function openFolderAuthorizer(
  dataDir: string,
  project: ProjectFolder | null,
  options: FolderAuthorizerOptions,
): Promise<Authorizer> {
  const { settings = defaultSettings, report } = options
  const configuration = join(dataDir, CONFIGURATION_FOLDER)
  if (!existsSync(join(configuration, DATA_FILE))) {
    throw new OperationalError(`the folder ${dataDir} is no data folder: it has no configuration`)
  }
  const stack: (() => Promise<void>)[] = []
  const close = async (): Promise<void> => {
    for (const end of stack.reverse()) await end()
  }
  try {
    const collections = openCollections(configuration, { readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS })
    stack.push(() => collections.close())
    const documents = new ConfigRepository(collections, alwaysBehind)
    const catalog = openCatalog(dataDir, { clock: systemClock, readOnly: true })
    stack.push(() => catalog.close())
    const { id: projectId } = findProject(documents, options.projectName)
    const registry = createGraphRegistry(catalog, documents, report)
    await registry.ready(projectId)
    const graphs = (): ProjectGraphs => {
      const found = registry.graphsOf(projectId)
      if (found !== null) return found
      throw new ThrownServiceError({ kind: 'not-found', message: 'knowledge graph not found for this project' })
    }
    if (project !== null) {
      return await openProjectAuthorizer(project, { graphs, readOnlyReason: READ_ONLY, close }, options)
    }
    const { applicationId, agentId } = callerIn(documents, projectId)
    return createAuthorizer({
      settings,
      clock: systemClock,
      documents,
      projectId,
      applicationId,
      agentId,
      graphs,
      resolvers: new ExternalDataResolvers({
        documents,
        openSecret: (document, path) => openSecret(document, path, openSealer(dataDir)),
        upstream: lazyUpstream(settings),
        clock: systemClock,
        report,
        limits: resolverLimits(settings),
      }),
      readOnlyReason: READ_ONLY,
      catchUp: () => documents.catchUp(),
      report,
      close,
    })
  } catch (error) {
    await close()
    throw error
  }
}

function findProject(documents: ConfigRepository, name: string | null): StoredDocument {
  const all = documents.all(projectsKind)
  const names = all.map((project) => project.name)
  if (name !== null) {
    const found = all.filter((project) => project.name === name || project.id === name)
    if (found.length === 1 && found[0] !== undefined) return found[0]
    throw new OperationalError(`no project is named \`${name}\`${suggestion(name, names)}`)
  }
  if (all.length === 1 && all[0] !== undefined) return all[0]
  throw new OperationalError(
    all.length === 0
      ? 'the data folder has no project'
      : `the data folder has several projects: give the name of one of ${names.join(', ')}`,
  )
}

/** The agent as which requests are made: the first of the project. */
function callerIn(documents: ConfigRepository, projectId: string): { applicationId: string; agentId: string } {
  const [agent] = documents.inScope(applicationAgentsKind, projectId)
  const [application] = documents.inScope(applicationsKind, projectId)
  return { applicationId: agent?.parent_id ?? application?.id ?? '', agentId: agent?.id ?? '' }
}
