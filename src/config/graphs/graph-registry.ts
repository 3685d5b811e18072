// Provides the features with the graphs of projects. A damaged or missing constituent answers 503 to requests that need it
// and is logged once. Each request tries to open it again, so a repair needs no restart.

import type { GraphStore } from '../../engine/store.ts'
import { OperationalError, ThrownServiceError } from '../../kernel/errors.ts'
import type { Constituent, GraphLayout, ProjectGraphs } from '../../store/tenancy/project-graphs.ts'
import { layoutOf } from '../db-connection.ts'
import { type ConfigReader, projectsKind } from '../kind.ts'

/** Collaborators of the registry: the configuration, and the catalog of graphs. */
export interface GraphRegistryDeps {
  readonly documents: ConfigReader
  /** Returns an open constituent, or null if it does not exist. Throws OperationalError if it cannot be opened. */
  graph(projectId: string, constituent: Constituent): GraphStore | null
  /** A constituent of a project whose graph is in a database server; null: its graph is in this process. */
  remote(projectId: string, constituent: Constituent): GraphStore | null
  /** True if the constituent exists, open or not. */
  exists(projectId: string, constituent: Constituent): boolean
  /** Opens all constituents of a project. Rejects with OperationalError if another process holds the open lock too long. */
  openAll(projectId: string): Promise<void>
  /** Creates the folder of the events of a project that another instance has created. Absent: there is no other instance. */
  createEvents?(projectId: string): Promise<void>
  /** Calls the listener for each project whose graphs were evicted by the limit of open graphs. */
  onClosed(listener: (projectId: string) => void): void
  readonly report: (line: string) => void
}

/** The graphs of all projects. */
export class GraphRegistry {
  private readonly deps: GraphRegistryDeps
  private readonly unavailable = new Set<string>()
  private readonly graphsByLayout = new WeakMap<GraphLayout, ProjectGraphs>()
  /** Layouts whose constituents were all opened, or cannot be. */
  private readonly opened = new WeakSet<GraphLayout>()
  private readonly opening = new Map<string, Promise<void>>()

  constructor(deps: GraphRegistryDeps) {
    this.deps = deps
    deps.onClosed((projectId) => {
      const project = deps.documents.get(projectsKind, projectId)
      if (project !== null) this.opened.delete(layoutOf(project))
    })
  }

  /**
   * The graphs of a project; null if it is not provisioned yet, or deleted.
   * Throws ThrownServiceError (503) if the default constituent is unavailable.
   */
  graphsOf(projectId: string): ProjectGraphs | null {
    const project = this.deps.documents.get(projectsKind, projectId)
    if (project === null || project.fields.ikg_status !== 'ACTIVE') return null
    this.provisioned(projectId)
    const layout = layoutOf(project)
    let graphs = this.graphsByLayout.get(layout)
    if (graphs === undefined) {
      graphs = new LazyProjectGraphs(layout, (constituent) => this.provisioned(projectId, constituent))
      this.graphsByLayout.set(layout, graphs)
    }
    return graphs
  }

  /**
   * Opens the graphs of a project before its first request; null if they are open. Opening waits until other processes have
   * finished writing. Doing it here keeps a handler from blocking the event loop.
   */
  ready(projectId: string): Promise<void> | null {
    const project = this.deps.documents.get(projectsKind, projectId)
    if (project === null || project.fields.ikg_status !== 'ACTIVE') return null
    const layout = layoutOf(project)
    if (this.opened.has(layout)) return null
    let opening = this.opening.get(projectId)
    if (opening === undefined) {
      opening = this.openAll(projectId, layout).finally(() => this.opening.delete(projectId))
      this.opening.set(projectId, opening)
    }
    return opening
  }

  private async openAll(projectId: string, layout: GraphLayout): Promise<void> {
    try {
      if (layout.isInServer === true && !this.deps.exists(projectId, 'default'))
        await this.deps.createEvents?.(projectId)
      // A constituent that another process has still to create is opened by a later request.
      const isWhole = constituentsOf(layout).every((part) => this.deps.exists(projectId, part))
      await this.deps.openAll(projectId)
      if (isWhole) this.opened.add(layout)
    } catch (error) {
      throw this.unavailableError(projectId, 'default', error)
    }
  }

  /** A constituent of a project that is provisioned or being provisioned. Throws ThrownServiceError (503) if it is unavailable. */
  provisioned(projectId: string, constituent: Constituent = 'default'): GraphStore {
    try {
      const graph = this.deps.remote(projectId, constituent) ?? this.deps.graph(projectId, constituent)
      if (graph === null) throw new OperationalError('its database is missing')
      if (this.unavailable.size > 0) this.unavailable.delete(constituentName(projectId, constituent))
      return graph
    } catch (error) {
      throw this.unavailableError(projectId, constituent, error)
    }
  }

  /** Reports an unavailable constituent once, and returns the error for the request. */
  private unavailableError(projectId: string, constituent: Constituent, error: unknown): unknown {
    if (!(error instanceof OperationalError)) return error
    const name = constituentName(projectId, constituent)
    if (!this.unavailable.has(name)) {
      this.deps.report(`the graph of project ${projectId} is unavailable: ${error.message}`)
    }
    this.unavailable.add(name)
    return new ThrownServiceError({
      kind: 'unavailable',
      message: 'the knowledge graph of this project is unavailable',
    })
  }
}

function constituentsOf({ isComposite, locations, isInServer }: GraphLayout): readonly Constituent[] {
  // Of a graph in a database server, this process has the events only.
  if (isInServer === true) return ['default']
  return ['default', ...(isComposite ? (['global'] as const) : []), ...locations.values()]
}

function constituentName(projectId: string, constituent: Constituent): string {
  return `${projectId} ${typeof constituent === 'string' ? constituent : `database ${constituent.database}`}`
}

/** Opens each constituent when it is first used, so that a damaged one does not affect the others. */
class LazyProjectGraphs implements ProjectGraphs {
  private readonly layout: GraphLayout
  private readonly open: (constituent: Constituent) => GraphStore

  constructor(layout: GraphLayout, open: (constituent: Constituent) => GraphStore) {
    this.layout = layout
    this.open = open
  }

  get default(): GraphStore {
    return this.open('default')
  }

  get global(): GraphStore | null {
    return this.layout.isComposite ? this.open('global') : null
  }

  at(location: string): GraphStore | null {
    const constituent = this.layout.locations.get(location)
    return constituent === undefined ? null : this.open(constituent)
  }
}
