// The graphs of all projects, closed again when their project is removed.
import { join } from 'node:path'
import type { Repository } from '../config/repository.ts'
import { type Catalog, type CatalogOptions, openCatalog } from '../store/catalog.ts'
import { openSharedNumber } from '../store/shared-number.ts'
import { GraphsOfProjects } from './project-graphs.ts'

/** Another number after each commit to a graph, for all processes to see. */
const COMMITS = 'graphs.commit'

export function catalogIn(dataDir: string, options: CatalogOptions): Catalog {
  return openCatalog(dataDir, { ...options, commits: openSharedNumber(join(dataDir, COMMITS)) })
}

export function graphsIn(catalog: Catalog, documents: Repository, report: (line: string) => void): GraphsOfProjects {
  // Whichever process removed it. Its own effect, or that of the other process, takes the files away.
  documents.subscribe((changes) => {
    for (const { before, after } of changes) {
      if (after !== null || before?.kind !== 'projects') continue
      catalog.forget(before.id).catch((failure: unknown) => {
        report(`the graph of the removed project ${before.id} could not be closed: ${String(failure)}`)
      })
    }
  })
  return new GraphsOfProjects({
    documents,
    graph: (projectId, constituent) => catalog.graph(projectId, constituent),
    isThere: (projectId, constituent) => catalog.isThere(projectId, constituent),
    openAll: (projectId) => catalog.openAll(projectId),
    onClosed: (listener) => catalog.onClosed(listener),
    report,
  })
}
