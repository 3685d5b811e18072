// Creates and completes the graphs of projects in the background: PENDING → ACTIVE or FAILED
// (docs/decisions/0015-project-provisioning.md). One of several processes provisions all projects. PENDING is stored,
// so the next leader completes what a crash interrupted.
import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import type { Constituent, GraphLayout } from '../store/tenancy/project-graphs.ts'
import { layoutOf } from './db-connection.ts'
import {
  applicationAgentsKind,
  applicationsKind,
  type ConfigReader,
  type ConfigWriter,
  type DocumentFields,
  projectsKind,
  type StoredDocument,
} from './kind.ts'
import type { SystemGraph } from './system-nodes.ts'

const RETRY_MS = 30_000

/** State of a project's graph. */
type IkgStatus = 'PENDING' | 'ACTIVE' | 'FAILED'

/** Creates and deletes the databases of projects. Every operation is idempotent. */
export interface Provisioner {
  /** Creates the databases of the layout that do not exist yet. */
  create(projectId: string, layout: GraphLayout): Promise<void>
  /** Deletes all databases of the project. */
  delete(projectId: string): Promise<void>
  /** Creates the proxies of nodes that were captured before the project became composite. Reads all nodes. */
  completeProxies(projectId: string): Promise<void>
  /** Creates the proxies of captures that a crash interrupted between a constituent and the global graph. */
  replayIntents(projectId: string): Promise<void>
  /** Opens all databases of the project without blocking the event loop. `next`: the fields that it would have. */
  openAll(projectId: string, next?: DocumentFields): Promise<void>
  /** Whether a constituent contains nodes. Requires `openAll`. */
  holdsData(projectId: string, constituent: Constituent): boolean
}

/** Collaborators of provisioning. `report` writes one line to the operator's log. */
export interface ProvisioningDeps {
  readonly documents: ConfigWriter
  readonly provisioner: Provisioner
  readonly systemGraph: SystemGraph
  readonly report: (line: string) => void
  /** Milliseconds until a FAILED project in a database server is tried again. */
  readonly retryMs?: number
}

/** The state of a project's graph; null if the project does not exist. */
export function ikgStatus(reader: ConfigReader, projectId: string): IkgStatus | null {
  return (reader.get(projectsKind, projectId)?.fields.ikg_status as IkgStatus | undefined) ?? null
}

/** Provisions the graphs of all projects while this process leads, and prepares graphs for configuration changes. */
export class Provisioning {
  private readonly deps: ProvisioningDeps
  private readonly running = new Map<string, Promise<void>>()
  private leading = false
  private isStopped = false
  /** By what is tried again. */
  private readonly retries = new Map<string, NodeJS.Timeout>()

  constructor(deps: ProvisioningDeps) {
    this.deps = deps
    deps.documents.subscribe((changes) => {
      if (!this.leading) return
      for (const { before, after } of changes) {
        // A new mapping may add constituents, and a FAILED project is tried again.
        if (after?.kind === projectsKind && after.revision !== before?.revision) this.start(after.id)
      }
    })
  }

  /**
   * Removes from this data folder what it has of projects that another instance deletes. `folders`: the projects of which it has
   * something; some may have been deleted while this instance did not run. For the process of an instance that would provision.
   */
  removeLocal(folders: readonly string[]): void {
    for (const id of folders) {
      if (this.deps.documents.get(projectsKind, id) === null) this.enqueue(id, () => this.remove(id))
    }
    this.deps.documents.subscribe((changes) => {
      for (const { before, after } of changes) {
        if (before?.kind === projectsKind && after === null && !this.isStopped)
          this.enqueue(before.id, () => this.remove(before.id))
      }
    })
  }

  /**
   * Makes this process the only leader. Starts with the projects that an earlier leader may have left
   * incomplete.
   */
  startLeading(): void {
    this.leading = true
    for (const project of this.deps.documents.all(projectsKind)) {
      const { ikg_status } = project.fields
      const { isComposite, isInServer } = layoutOf(project)
      // The attempts to reach a server ended with the earlier leader.
      const isWaiting = ikg_status === 'FAILED' && isInServer === true
      if (ikg_status === 'PENDING' || isComposite || isWaiting) this.start(project.id)
    }
  }

  /** Another instance leads from now on. */
  pauseLeading(): void {
    this.leading = false
  }

  /** An ACTIVE project stays ACTIVE while its databases are checked again. */
  private start(projectId: string): void {
    this.enqueue(projectId, () => this.provision(projectId))
  }

  /** Runs what belongs to one project one after the other. `work` must not reject. */
  private enqueue(projectId: string, work: () => Promise<void>): void {
    const run = (this.running.get(projectId) ?? Promise.resolve()).then(work)
    this.running.set(projectId, run)
    run.then(() => {
      if (this.running.get(projectId) === run) this.running.delete(projectId)
    })
  }

  /** Creates the databases of a new mapping before its update is confirmed: its locations can be used from then on. */
  async prepare(projectId: string): Promise<void> {
    const project = this.deps.documents.get(projectsKind, projectId)
    if (project?.fields.ikg_status === 'ACTIVE') await this.deps.provisioner.create(projectId, layoutOf(project))
  }

  /**
   * Opens the databases before a change of the mapping is checked: the check runs synchronously within a write.
   * Throws ThrownServiceError (`unavailable`) if a database cannot be opened.
   */
  async open(projectId: string, next: DocumentFields): Promise<void> {
    try {
      await this.deps.provisioner.openAll(projectId, next)
    } catch (fault) {
      if (!(fault instanceof OperationalError)) throw fault
      this.deps.report(`the graph of project ${projectId} cannot be opened: ${fault.message}`)
      throw new ThrownServiceError({
        kind: 'unavailable',
        message: 'the knowledge graph of this project is unavailable',
      })
    }
  }

  /** Whether a constituent contains nodes. Requires `open`. */
  holdsData(projectId: string, constituent: Constituent): boolean {
    return this.deps.provisioner.holdsData(projectId, constituent)
  }

  /**
   * At start, before the first request: completes captures that a crash interrupted between two graphs. Those in database servers, which
   * may be away, are completed in the background.
   */
  async replayIntents(): Promise<void> {
    for (const project of this.deps.documents.all(projectsKind)) {
      const { isComposite, isInServer } = layoutOf(project)
      if (project.fields.ikg_status !== 'ACTIVE') continue
      if (isInServer === true) this.replayInBackground(project.id)
      else if (isComposite) {
        await this.deps.provisioner.replayIntents(project.id).catch((failure: unknown) => {
          this.deps.report(`the global graph of project ${project.id} could not be completed: ${String(failure)}`)
        })
      }
    }
  }

  private replayInBackground(projectId: string): void {
    this.enqueue(projectId, async () => {
      if (this.isStopped || this.deps.documents.get(projectsKind, projectId) === null) return
      await this.deps.provisioner.replayIntents(projectId).catch((failure: unknown) => {
        this.deps.report(`interrupted writes of project ${projectId} could not be completed: ${String(failure)}`)
        this.tryLater(`replay ${projectId}`, () => this.replayInBackground(projectId))
      })
    })
  }

  /** Stops leading. Resolves when no provisioning runs. */
  async stop(): Promise<void> {
    this.leading = false
    this.isStopped = true
    for (const retry of this.retries.values()) clearTimeout(retry)
    this.retries.clear()
    await this.whenIdle()
  }

  /** Resolves when no provisioning runs. */
  async whenIdle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running.values())
  }

  /** Deletes the databases of a project whose document has been deleted. */
  async drop(projectId: string): Promise<void> {
    await this.running.get(projectId)
    await this.deps.provisioner.delete(projectId)
  }

  private async provision(projectId: string): Promise<void> {
    try {
      if (this.deps.documents.get(projectsKind, projectId) === null) return
      await this.setStatus(projectId, 'FAILED', 'PENDING')
      let written: SystemNodes = new Map()
      let project: StoredDocument | null
      do {
        project = this.deps.documents.get(projectsKind, projectId)
        if (project === null) return
        // A missing database of an ACTIVE project is lost and must not be replaced by an empty one; `prepare` has
        // created those of a new mapping.
        if (project.fields.ikg_status !== 'ACTIVE') await this.deps.provisioner.create(projectId, layoutOf(project))
        written = await this.writeSystemNodes(projectId, written)
      } while (!(await this.activate(project, written)))
      await this.deps.provisioner.completeProxies(projectId)
    } catch (failure) {
      if (this.isGone(projectId)) return
      this.deps.report(`provisioning of project ${projectId} failed: ${String(failure)}`)
      await this.setStatus(projectId, 'PENDING', 'FAILED').catch(() => undefined)
      const project = this.deps.documents.get(projectsKind, projectId)
      if (project !== null && layoutOf(project).isInServer === true) {
        this.tryLater(projectId, () => {
          if (this.leading) this.start(projectId)
        })
      }
    } finally {
      // Another process may have created databases that the process which deleted the project had not seen.
      if (this.isGone(projectId)) await this.remove(projectId)
    }
  }

  /** A database server may be away only for a while. */
  private tryLater(what: string, again: () => void): void {
    if (this.isStopped) return
    clearTimeout(this.retries.get(what))
    const retry = setTimeout(() => {
      this.retries.delete(what)
      again()
    }, this.deps.retryMs ?? RETRY_MS)
    retry.unref()
    this.retries.set(what, retry)
  }

  private isGone(projectId: string): boolean {
    const { documents } = this.deps
    documents.catchUp()
    return documents.get(projectsKind, projectId) === null
  }

  private async remove(projectId: string): Promise<void> {
    await this.deps.provisioner.delete(projectId).catch((failure: unknown) => {
      this.deps.report(`databases of the deleted project ${projectId} could not be deleted: ${String(failure)}`)
    })
  }

  /** Updates the graph from the system nodes `written` to those that the configuration has now. */
  private async writeSystemNodes(projectId: string, written: SystemNodes): Promise<SystemNodes> {
    const { documents, systemGraph } = this.deps
    const expected = systemNodesOf(documents, projectId)
    for (const [id, node] of written) {
      if (expected.has(id)) continue
      if (node.kind === applicationsKind) await systemGraph.deleteApplication(projectId, id)
      else await systemGraph.deleteAgent(projectId, id)
    }
    for (const [id, node] of expected) {
      if (written.has(id)) continue
      if (node.kind === applicationsKind) await systemGraph.putApplication(projectId, id)
      else await systemGraph.putAgent(projectId, node.parent_id, id)
    }
    return expected
  }

  /**
   * Returns false if applications, agents or the mapping changed since. Those changes rely on provisioning, because the
   * project was not ACTIVE.
   */
  private activate(made: StoredDocument, written: SystemNodes): Promise<boolean> {
    return this.deps.documents.write((draft) => {
      const expected = systemNodesOf(draft, made.id)
      if (expected.size !== written.size || [...expected.keys()].some((id) => !written.has(id))) return false
      const project = draft.get(projectsKind, made.id)
      if (project === null || project.fields.ikg_status === 'ACTIVE') return true
      if (!isSameConnection(project, made)) return false
      draft.put(withStatus(project, 'ACTIVE'))
      return true
    })
  }

  private setStatus(projectId: string, from: IkgStatus, to: IkgStatus): Promise<void> {
    return this.deps.documents.write((draft) => {
      const project = draft.get(projectsKind, projectId)
      if (project?.fields.ikg_status === from) draft.put(withStatus(project, to))
    })
  }
}

/** Applications before agents. */
type SystemNodes = ReadonlyMap<string, StoredDocument>

function systemNodesOf(reader: ConfigReader, projectId: string): SystemNodes {
  const documents = [
    ...reader.inScope(applicationsKind, projectId),
    ...reader.inScope(applicationAgentsKind, projectId),
  ]
  return new Map(documents.map((document) => [document.id, document]))
}

function isSameConnection(a: StoredDocument, b: StoredDocument): boolean {
  return JSON.stringify(a.fields.db_connection) === JSON.stringify(b.fields.db_connection)
}

/** Keeps the revision: a change of status invalidates no ETag. */
function withStatus(project: StoredDocument, status: IkgStatus): StoredDocument {
  return { ...project, fields: { ...project.fields, ikg_status: status } }
}
