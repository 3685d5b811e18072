// The graphs of all projects, closed again when their project is removed.
import type { Repository } from '../config/repository.ts'
import type { Catalog } from '../store/catalog.ts'
import { GraphsOfProjects } from './project-graphs.ts'

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
    report,
  })
}
