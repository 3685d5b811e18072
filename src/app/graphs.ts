// Opens the catalog of graphs, and closes the graphs of removed projects.
import { join } from 'node:path'
import { locationsOf } from '../config/db-connection.ts'
import { projectsKind } from '../config/kind.ts'
import type { ConfigRepository } from '../config/repository.ts'
import { GRAPHS_COMMIT_FILE } from '../kernel/data-folder.ts'
import type { NameSource } from '../policy/name-warnings.ts'
import { GraphRegistry } from '../runtime/graph-registry.ts'
import { openSharedCounter } from '../store/process/shared-counter.ts'
import { type Catalog, type CatalogOptions, openCatalog } from '../store/tenancy/catalog.ts'

/** Opens the catalog of all graphs in the data folder. The caller closes it. */
export function openGraphCatalog(dataDir: string, options: CatalogOptions): Catalog {
  return openCatalog(dataDir, { ...options, commitCounter: openSharedCounter(join(dataDir, GRAPHS_COMMIT_FILE)) })
}

/** Creates the registry, and closes the graphs of projects that are removed. */
export function createGraphRegistry(
  catalog: Catalog,
  documents: ConfigRepository,
  report: (line: string) => void,
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
    exists: (projectId, constituent) => catalog.exists(projectId, constituent),
    openAll: (projectId) => catalog.openAll(projectId),
    onClosed: (listener) => catalog.onEvicted(listener),
    report,
  })
}

/** Gives the graphs of a project to the check of names in policies and queries. */
export function createNameSource(graphs: GraphRegistry, documents: ConfigRepository): NameSource {
  return {
    ready: (projectId) => graphs.ready(projectId),
    graphsOf: (projectId) => graphs.graphsOf(projectId),
    locationsOf(projectId) {
      const project = documents.get(projectsKind, projectId)
      return project === null ? [] : locationsOf(project).keys()
    },
  }
}
