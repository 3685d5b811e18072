// Connects the projects whose graph is in a database server: their configuration, their events, and the creation of what the service
// needs in their databases.

import { layoutOf, parseLayout } from '../../config/db-connection.ts'
import {
  type ConfigSource,
  type DocumentFields,
  projectsKind,
  type Sealer,
  type StoredDocument,
} from '../../config/kind.ts'
import type { Provisioner } from '../../config/provisioning.ts'
import { openSecret } from '../../config/secrets.ts'
import type { GraphStore } from '../../engine/store.ts'
import { boltHost, isVerified } from '../../kernel/bolt-address.ts'
import { OperationalError } from '../../kernel/errors.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { Settings } from '../../settings.ts'
import type { Catalog } from '../../store/tenancy/catalog.ts'
import type { Constituent, GraphLayout } from '../../store/tenancy/project-graphs.ts'
import type { Destinations } from '../../upstream/destinations.ts'
import { loadBoltDriver } from '../bolt-server.ts'
import type { CommitMark } from '../graph-state.ts'
import { RemoteGraphs, type RemoteProject, type RemoteTotals } from '../remote-graphs.ts'

/** Time between two questions to a server whether a write was committed. */
const SETTLE_MS = 1_000

/** Collaborators of the remote graphs of a process. */
interface RemoteGraphAccessDeps {
  readonly documents: ConfigSource
  readonly sealer: Pick<Sealer, 'open'>
  readonly catalog: Catalog
  readonly clock: Clock
  readonly destinations: Destinations
  readonly report: (line: string) => void
  readonly settings: Pick<
    Settings,
    'databaseConnectionsMax' | 'databaseConnectTimeMs' | 'databaseTimeMs' | 'databaseRetryMs'
  >
}

/** The remote graphs of a process. The driver is loaded when a project first needs it. */
export class RemoteGraphAccess {
  private readonly deps: RemoteGraphAccessDeps
  private readonly graphs: RemoteGraphs
  private readonly projects = new WeakMap<StoredDocument, RemoteProject>()
  /** Whether constituents hold data, as it was when `open` last looked. */
  private readonly filled = new WeakMap<StoredDocument, ReadonlyMap<string, boolean>>()
  /** Projects with writes of which it is not known whether they were committed. */
  private readonly unsettled = new Map<string, NodeJS.Timeout>()
  private isClosed = false

  constructor(deps: RemoteGraphAccessDeps) {
    this.deps = deps
    const { catalog, clock, settings, destinations, report } = deps
    this.graphs = new RemoteGraphs({
      clock,
      limits: {
        connectionsMax: settings.databaseConnectionsMax,
        connectTimeMs: settings.databaseConnectTimeMs,
        queryTimeMs: settings.databaseTimeMs,
        retryTimeMs: settings.databaseRetryMs,
      },
      report,
      async permit(url) {
        const found = await destinations.addressesOf(boltHost(url), isVerified(url))
        if (!found.ok) throw new OperationalError(`${url}: ${found.error.message}`)
      },
      events: {
        prepare: async (projectId, constituent, batch, events, mark) => {
          const isCommitted = (earlier: CommitMark): Promise<boolean> =>
            this.isCommitted(projectId, constituent, earlier)
          const report = await catalog.prepareRemote(projectId, constituent, batch, events, { mark, isCommitted })
          return {
            committed: async () => {
              if ((await report.committed()) === 'stored') this.settleLater(projectId)
            },
            dropped: report.dropped,
            undecided: () => this.settleLater(projectId),
          }
        },
      },
    })
    deps.documents.subscribe((changes) => {
      const isLeft = changes.some(
        ({ before, after }) => before !== null && isInServer(before) && !hasConnectionOf(before, after),
      )
      if (isLeft) this.closeUnused()
    })
    // At start, and not with the first request: all others would wait for it. A failure is reported when it is used.
    const isUsed = deps.documents.all(projectsKind).some(isInServer)
    if (isUsed) loadBoltDriver().catch(() => undefined)
  }

  /** Null: the graph of the project is in this process. */
  private project(projectId: string): RemoteProject | null {
    const document = this.deps.documents.get(projectsKind, projectId)
    if (document === null || layoutOf(document).isInServer !== true) return null
    let project = this.projects.get(document)
    if (project === undefined) {
      const password = openSecret(document, ['db_connection', 'password'], this.deps.sealer)
      project = remoteProject(projectId, document.fields, typeof password === 'string' ? password : null)
      this.projects.set(document, project)
    }
    return project
  }

  /** Projects were deleted, or have other connections. */
  private closeUnused(): void {
    const projects = this.deps.documents.all(projectsKind).map(({ id }) => this.project(id))
    this.graphs.keepOnly(projects.filter((project) => project !== null))
  }

  /** A constituent; null: the graph of the project is in this process. */
  store(projectId: string, constituent: Constituent): GraphStore | null {
    const project = this.project(projectId)
    return project === null ? null : this.graphs.store(project, constituent)
  }

  private async create(projectId: string, layout: GraphLayout): Promise<void> {
    const project = this.project(projectId)
    if (project !== null) await this.graphs.provision(project, constituentsOf(layout))
  }

  private async open(projectId: string, next: DocumentFields | null): Promise<void> {
    const project = this.project(projectId)
    const document = this.deps.documents.get(projectsKind, projectId)
    if (project === null || document === null) return
    const filled = new Map<string, boolean>()
    for (const constituent of constituentsOf(layoutOf(document))) {
      const holds = await this.graphs.holdsData(project, constituent)
      const hasMoved = holds && next !== null && (await this.hasMoved(project, document, constituent, next))
      filled.set(keyOf(constituent), holds && !hasMoved)
    }
    this.filled.set(document, filled)
  }

  /** Whether the databases of a changed project that take over from a constituent are copies of it. */
  private async hasMoved(
    project: RemoteProject,
    document: StoredDocument,
    constituent: Constituent,
    fields: DocumentFields,
  ): Promise<boolean> {
    const [before, after] = [layoutOf(document), parseLayout(fields)]
    if (after.isInServer !== true || before.isComposite !== after.isComposite) return false
    const password = (fields.db_connection as { readonly password?: string | null }).password ?? project.password
    const next = remoteProject(project.id, fields, password)
    const successors: Constituent[] = typeof constituent === 'string' ? [constituent] : []
    for (const [location, of] of before.locations) {
      if (keyOf(of) !== keyOf(constituent)) continue
      const successor = after.locations.get(location)
      if (successor === undefined) return false
      successors.push(successor)
    }
    for (const successor of new Set<Constituent>(successors)) {
      if (!(await this.graphs.isCopied([project, constituent], [next, successor]))) return false
    }
    return successors.length > 0
  }

  /** Unknown counts as true: of a graph that was not opened. */
  private holdsData(projectId: string, constituent: Constituent): boolean {
    const document = this.deps.documents.get(projectsKind, projectId)
    return document === null || (this.filled.get(document)?.get(keyOf(constituent)) ?? true)
  }

  /** Finds out which of the interrupted writes were committed, and records their events. */
  private settleEvents(projectId: string): Promise<void> {
    return this.deps.catalog.settleRemote(projectId, (constituent, mark) =>
      this.isCommitted(projectId, constituent, mark),
    )
  }

  private async isCommitted(projectId: string, constituent: Constituent, mark: CommitMark): Promise<boolean> {
    const project = this.project(projectId)
    // The project was deleted, and its events are deleted with it.
    if (project === null) return false
    const outcome = await this.graphs.outcome(project, constituent, mark)
    if (outcome === 'unknown') {
      this.deps.report(`project ${projectId}: it is not known whether a write was committed; its events are recorded`)
    }
    return outcome !== 'lost'
  }

  /** Settles the events of a project when its server can be asked. */
  private settleLater(projectId: string): void {
    if (this.isClosed || this.unsettled.has(projectId)) return
    const timer = setTimeout(async () => {
      const isSettled = await this.settleEvents(projectId).then(
        () => true,
        () => this.project(projectId) === null,
      )
      this.unsettled.delete(projectId)
      if (!isSettled) this.settleLater(projectId)
    }, SETTLE_MS)
    timer.unref()
    this.unsettled.set(projectId, timer)
  }

  /** The provisioner of both kinds of graphs. The databases of a deleted project keep their data: they are not the service's. */
  provisioner(local: Provisioner): Provisioner {
    const isInServer = (projectId: string): boolean => this.project(projectId) !== null
    const onRemote = (projectId: string, run: (project: RemoteProject) => Promise<void>): Promise<void> | null => {
      const project = this.project(projectId)
      return project === null ? null : run(project)
    }
    return {
      create: async (projectId, layout) => {
        await local.create(projectId, layout.isInServer === true ? eventsOnly : layout)
        await this.create(projectId, layout)
      },
      delete: (projectId) => local.delete(projectId),
      completeProxies: (projectId) =>
        onRemote(projectId, (project) => this.graphs.completeProxies(project)) ?? local.completeProxies(projectId),
      replayIntents: (projectId) =>
        onRemote(projectId, async (project) => {
          await this.graphs.replayIntents(project)
          await this.settleEvents(project.id)
        }) ?? local.replayIntents(projectId),
      openAll: async (projectId, next) => {
        await local.openAll(projectId)
        await this.open(projectId, next ?? null)
      },
      holdsData: (projectId, constituent) =>
        isInServer(projectId) ? this.holdsData(projectId, constituent) : local.holdsData(projectId, constituent),
    }
  }

  /** Counts for the metrics. */
  totals(): RemoteTotals {
    return this.graphs.totals()
  }

  /** Closes all connections. Events that are not settled are settled at the next start. */
  close(): Promise<void> {
    this.isClosed = true
    for (const timer of this.unsettled.values()) clearTimeout(timer)
    return this.graphs.close()
  }
}

function isInServer(document: StoredDocument): boolean {
  return document.kind === projectsKind && layoutOf(document).isInServer === true
}

function hasConnectionOf(before: StoredDocument, after: StoredDocument | null): boolean {
  return JSON.stringify(before.fields.db_connection) === JSON.stringify(after?.fields.db_connection)
}

function remoteProject(id: string, fields: DocumentFields, password: string | null): RemoteProject {
  const connection = fields.db_connection as Readonly<Record<string, string | null | undefined>>
  return {
    id,
    url: connection.url ?? '',
    username: connection.username ?? null,
    password,
    name: connection.name ?? null,
    compositeName: connection.composite_db_name ?? null,
    constituents: constituentsOf(parseLayout(fields)).filter((constituent) => constituent !== 'global'),
  }
}

const eventsOnly: GraphLayout = { isComposite: false, locations: new Map() }

function constituentsOf({ isComposite, locations }: GraphLayout): readonly Constituent[] {
  return [...new Set<Constituent>(['default', ...(isComposite ? (['global'] as const) : []), ...locations.values()])]
}

function keyOf(constituent: Constituent): string {
  return typeof constituent === 'string' ? constituent : `database ${constituent.database}`
}
