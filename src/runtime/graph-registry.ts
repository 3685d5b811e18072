// The graphs of projects as the features ask for them. A part that is damaged or missing answers 503 to those who need it,
// and its operator is told once; it is tried again with each request, so putting it right needs no restart.

import { layoutOf } from '../config/db-connection.ts'
import { type ConfigReader, projectsKind } from '../config/kind.ts'
import type { GraphStore } from '../engine/store.ts'
import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import type { Constituent, GraphLayout, ProjectGraphs } from '../store/tenancy/project-graphs.ts'

export interface GraphRegistryDeps {
  readonly documents: ConfigReader
  /** Null: it does not exist. Throws OperatorFault for one that cannot be opened. */
  graph(projectId: string, constituent: Constituent): GraphStore | null
  /** It may have to be opened yet. */
  exists(projectId: string, constituent: Constituent): boolean
  /** Rejects with OperatorFault when others keep it from being opened. */
  openAll(projectId: string): Promise<void>
  /** Calls the listener for each project whose graphs were closed to make way for others. */
  onClosed(listener: (projectId: string) => void): void
  readonly report: (line: string) => void
}

export class GraphRegistry {
  private readonly deps: GraphRegistryDeps
  private readonly unavailable = new Set<string>()
  private readonly graphsByLayout = new WeakMap<GraphLayout, ProjectGraphs>()
  /** All that they name has been opened, or cannot be. */
  private readonly opened = new WeakSet<GraphLayout>()
  private readonly opening = new Map<string, Promise<void>>()

  constructor(parts: GraphRegistryDeps) {
    this.deps = parts
    parts.onClosed((projectId) => {
      const project = parts.documents.get(projectsKind, projectId)
      if (project !== null) this.opened.delete(layoutOf(project))
    })
  }

  /** Null while the project has no graph: not provisioned yet, or deleted. Without its default graph it has none to use. */
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
   * Before the first question to a project: null where it has been opened already. To open is to wait until other processes
   * have written what they are writing, and whoever waits in the middle of its turn keeps those waiting that wait for it.
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
      // What the process that the mapping was changed at has yet to make is opened when it is there.
      const isWhole = constituentsOf(layout).every((part) => this.deps.exists(projectId, part))
      await this.deps.openAll(projectId)
      if (isWhole) this.opened.add(layout)
    } catch (fault) {
      throw this.unavailableError(projectId, 'default', fault)
    }
  }

  /** Of a project that is provisioned, or about to be. */
  provisioned(projectId: string, constituent: Constituent = 'default'): GraphStore {
    try {
      const graph = this.deps.graph(projectId, constituent)
      if (graph === null) throw new OperationalError('its database is missing')
      if (this.unavailable.size > 0) this.unavailable.delete(constituentName(projectId, constituent))
      return graph
    } catch (fault) {
      throw this.unavailableError(projectId, constituent, fault)
    }
  }

  /** Told to the operator once. */
  private unavailableError(projectId: string, constituent: Constituent, fault: unknown): unknown {
    if (!(fault instanceof OperationalError)) return fault
    const name = constituentName(projectId, constituent)
    if (!this.unavailable.has(name)) {
      this.deps.report(`the graph of project ${projectId} is unavailable: ${fault.message}`)
    }
    this.unavailable.add(name)
    return new ThrownServiceError({
      kind: 'unavailable',
      message: 'the knowledge graph of this project is unavailable',
    })
  }
}

function constituentsOf({ isComposite, locations }: GraphLayout): readonly Constituent[] {
  return ['default', ...(isComposite ? (['global'] as const) : []), ...locations.values()]
}

function constituentName(projectId: string, constituent: Constituent): string {
  return `${projectId} ${typeof constituent === 'string' ? constituent : `database ${constituent.database}`}`
}

/** Each part is opened when it is asked for: a damaged constituent does not keep the others from being read. */
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
