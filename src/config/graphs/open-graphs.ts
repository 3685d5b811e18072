// Opens the catalog of graphs, and closes the graphs of removed projects.
import type { RemoteGraphAccess } from '../../bolt/projects/remote-graph-access.ts'
import type { GraphStore } from '../../engine/store.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { GRAPHS_COMMIT_FILE } from '../../kernel/folder/data-folder.ts'
import type { NameSource } from '../../policy/name-warnings.ts'
import { openCommitCounter } from '../../store/process/commit-counter.ts'
import { type Catalog, type CatalogOptions, openCatalog } from '../../store/tenancy/catalog.ts'
import type { Constituent } from '../../store/tenancy/project-graphs.ts'
import { graphsOfProject, layoutOf, locationsOf } from '../db-connection.ts'
import { type ConfigReader, projectsKind } from '../kind.ts'
import type { ConfigRepository } from '../repository.ts'
import { GraphRegistry } from './graph-registry.ts'

/** Opens the catalog of all graphs in the data folder. The caller closes it. */
export function openGraphCatalog(dataDir: string, options: CatalogOptions): Catalog {
  return openCatalog(dataDir, { ...options, commitCounter: openCommitCounter(dataDir, GRAPHS_COMMIT_FILE) })
}

/** Creates the registry, and closes the graphs of projects that are removed. */
export function createGraphRegistry(
  catalog: Catalog,
  documents: ConfigRepository,
  report: (line: string) => void,
  remote: Pick<RemoteGraphAccess, 'store'> = refusingRemote(documents),
  isShared = false,
): GraphRegistry {
  // Any process may have removed the project. The removing process deletes the files.
  documents.subscribe((changes) => {
    for (const { before, after } of changes) {
      if (after !== null || before?.kind !== projectsKind) continue
      catalog.closeProject(before.id).catch((failure: unknown) => {
        report(`the graph of the removed project ${before.id} could not be closed: ${String(failure)}`)
      })
    }
  })
  return new GraphRegistry({
    documents,
    graph: (projectId, constituent) => catalog.graph(projectId, constituent),
    remote: (projectId, constituent) => remote.store(projectId, constituent),
    exists: (projectId, constituent) => catalog.exists(projectId, constituent),
    openAll: (projectId) => catalog.openAll(projectId),
    ...(isShared && { createEvents: (projectId: string) => catalog.create(projectId) }),
    onClosed: (listener) => catalog.onEvicted(listener),
    report,
  })
}

/** For a process that only reads data folders: a graph that is not in one is refused. */
function refusingRemote(documents: ConfigReader): Pick<RemoteGraphAccess, 'store'> {
  return {
    store(projectId) {
      const project = documents.get(projectsKind, projectId)
      if (project === null || layoutOf(project).isInServer !== true) return null
      throw new OperationalError(
        `the graph of project ${projectId} is in a database server, which only a running service reads`,
      )
    },
  }
}

/** Gives the graphs of a project to the check of names in policies and queries. */
export function createNameSource(graphs: GraphRegistry, documents: ConfigRepository): NameSource {
  return {
    ready: (projectId) => graphs.ready(projectId),
    storesOf(projectId) {
      const all = graphs.graphsOf(projectId)
      const project = documents.get(projectsKind, projectId)
      if (all === null || project === null) return []
      return graphsOfProject(all, project)
    },
  }
}

/**
 * As `createNameSource`, for a folder that is not served: also the graphs of a project that the next start provisions, as far
 * as they exist. Their use throws OperationalError if one cannot be opened.
 */
export function createOfflineNameSource(catalog: Catalog, documents: ConfigReader): NameSource {
  return {
    ready: () => null,
    storesOf(projectId) {
      const project = documents.get(projectsKind, projectId)
      if (project === null) return []
      const parts: readonly Constituent[] = ['default', 'global', ...locationsOf(project).values()]
      return distinct(parts.map((part) => catalog.graph(projectId, part)))
    },
  }
}

function distinct(stores: readonly (GraphStore | null)[]): Iterable<GraphStore> {
  return new Set(stores.filter((store) => store !== null))
}
