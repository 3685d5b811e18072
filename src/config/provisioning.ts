// Makes the graph of a project in the background: PENDING → ACTIVE or FAILED (ruling F6). Of several processes one does
// that for all, wherever the project was made. PENDING is durable, so whoever comes after a crash makes it good.

import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import type { Constituent, GraphLayout } from '../store/tenancy/project-graphs.ts'
import { layoutOf } from './db-connection.ts'
import type { ConfigReader, ConfigWriter, StoredDocument } from './kind.ts'
import type { SystemGraph } from './system-nodes.ts'

export type IkgStatus = 'PENDING' | 'ACTIVE' | 'FAILED'

/** What makes and removes the databases of a project. Both may be repeated. */
export interface Provisioner {
  create(projectId: string, layout: GraphLayout): Promise<void>
  delete(projectId: string): Promise<void>
  /** Proxies for what was captured before the project became composite. May take as long as reading all nodes. */
  completeProxies(projectId: string): Promise<void>
  /** Proxies for what was captured when a crash came between a constituent and the global graph. */
  followNotes(projectId: string): Promise<void>
  /** Opens what there is of it, and the process goes on meanwhile. */
  openAll(projectId: string): Promise<void>
  /** After `openAll`. */
  holdsData(projectId: string, constituent: Constituent): boolean
}

export interface ProvisioningDeps {
  readonly documents: ConfigWriter
  readonly provisioner: Provisioner
  readonly systemGraph: SystemGraph
  readonly report: (line: string) => void
}

/** Null: no such project. */
export function ikgStatus(reader: ConfigReader, projectId: string): IkgStatus | null {
  return (reader.get('projects', projectId)?.fields.ikg_status as IkgStatus | undefined) ?? null
}

export class Provisioning {
  private readonly deps: ProvisioningDeps
  private readonly running = new Map<string, Promise<void>>()
  private leading = false

  constructor(parts: ProvisioningDeps) {
    this.deps = parts
    parts.documents.subscribe((changes) => {
      if (!this.leading) return
      for (const { before, after } of changes) {
        // A new mapping may name further constituents, and a FAILED project gets another try.
        if (after?.kind === 'projects' && after.revision !== before?.revision) this.start(after.id)
      }
    })
  }

  /** From now on this process provisions, and no other. Begins with what its predecessor may have left half-way. */
  startLeading(): void {
    this.leading = true
    for (const project of this.deps.documents.all('projects')) {
      if (project.fields.ikg_status === 'PENDING' || layoutOf(project).isComposite) this.start(project.id)
    }
  }

  /** A project that is ACTIVE stays so while what it needs is looked over again. */
  private start(projectId: string): void {
    const run = (this.running.get(projectId) ?? Promise.resolve()).then(() => this.provision(projectId))
    this.running.set(projectId, run)
    run.then(() => {
      if (this.running.get(projectId) === run) this.running.delete(projectId)
    })
  }

  /** Before a caller is told that a new mapping is stored: its locations may be used from then on. */
  async prepare(projectId: string): Promise<void> {
    const project = this.deps.documents.get('projects', projectId)
    if (project?.fields.ikg_status === 'ACTIVE') await this.deps.provisioner.create(projectId, layoutOf(project))
  }

  /** Before a change of its mapping is looked at: that is done within a write, where nobody may wait for another. */
  async open(projectId: string): Promise<void> {
    try {
      await this.deps.provisioner.openAll(projectId)
    } catch (fault) {
      if (!(fault instanceof OperationalError)) throw fault
      this.deps.report(`the graph of project ${projectId} cannot be looked into: ${fault.message}`)
      throw new ThrownServiceError({
        kind: 'unavailable',
        message: 'the knowledge graph of this project is unavailable',
      })
    }
  }

  holdsData(projectId: string, constituent: Constituent): boolean {
    return this.deps.provisioner.holdsData(projectId, constituent)
  }

  /** At start, before the first request: what a crash left between two graphs. */
  async replayIntents(): Promise<void> {
    for (const project of this.deps.documents.all('projects')) {
      if (!layoutOf(project).isComposite || project.fields.ikg_status !== 'ACTIVE') continue
      await this.deps.provisioner.followNotes(project.id).catch((failure: unknown) => {
        this.deps.report(`the global graph of project ${project.id} could not follow the others: ${String(failure)}`)
      })
    }
  }

  /** Begins nothing more, and resolves when nothing runs. */
  async stop(): Promise<void> {
    this.leading = false
    await this.whenIdle()
  }

  /** Resolves when no provisioning runs. */
  async whenIdle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running.values())
  }

  /** After the project's document is gone. */
  async drop(projectId: string): Promise<void> {
    await this.running.get(projectId)
    await this.deps.provisioner.delete(projectId)
  }

  private async provision(projectId: string): Promise<void> {
    try {
      if (this.deps.documents.get('projects', projectId) === null) return
      await this.setStatus(projectId, 'FAILED', 'PENDING')
      let written: SystemNodes = new Map()
      let project: StoredDocument | null
      do {
        project = this.deps.documents.get('projects', projectId)
        if (project === null) return
        // What an ACTIVE project lacks is lost, not to be made empty; what a new mapping adds has been prepared.
        if (project.fields.ikg_status !== 'ACTIVE') await this.deps.provisioner.create(projectId, layoutOf(project))
        written = await this.writeSystemNodes(projectId, written)
      } while (!(await this.activate(project, written)))
      await this.deps.provisioner.completeProxies(projectId)
    } catch (failure) {
      if (this.isGone(projectId)) return
      this.deps.report(`provisioning of project ${projectId} failed: ${String(failure)}`)
      await this.setStatus(projectId, 'PENDING', 'FAILED').catch(() => undefined)
    } finally {
      // Another process that deleted it meanwhile cannot know what was made since.
      if (this.isGone(projectId)) await this.remove(projectId)
    }
  }

  private isGone(projectId: string): boolean {
    const { documents } = this.deps
    documents.catchUp()
    return documents.get('projects', projectId) === null
  }

  private async remove(projectId: string): Promise<void> {
    await this.deps.provisioner.delete(projectId).catch((failure: unknown) => {
      this.deps.report(`what was made of the removed project ${projectId} could not be removed: ${String(failure)}`)
    })
  }

  /** Brings the graph from the system nodes `written` to those that the configuration has now. */
  private async writeSystemNodes(projectId: string, written: SystemNodes): Promise<SystemNodes> {
    const { documents, systemGraph } = this.deps
    const wanted = systemNodesOf(documents, projectId)
    for (const [id, node] of written) {
      if (wanted.has(id)) continue
      if (node.kind === 'applications') await systemGraph.deleteApplication(projectId, id)
      else await systemGraph.deleteAgent(projectId, id)
    }
    for (const [id, node] of wanted) {
      if (written.has(id)) continue
      if (node.kind === 'applications') await systemGraph.putApplication(projectId, id)
      else await systemGraph.putAgent(projectId, node.parent_id, id)
    }
    return wanted
  }

  /**
   * False when applications or agents came or went meanwhile, or the mapping changed: whoever did that left it to us,
   * because the project was not ACTIVE.
   */
  private activate(made: StoredDocument, written: SystemNodes): Promise<boolean> {
    return this.deps.documents.write((draft) => {
      const wanted = systemNodesOf(draft, made.id)
      if (wanted.size !== written.size || [...wanted.keys()].some((id) => !written.has(id))) return false
      const project = draft.get('projects', made.id)
      if (project === null || project.fields.ikg_status === 'ACTIVE') return true
      if (!isSameConnection(project, made)) return false
      draft.put(withStatus(project, 'ACTIVE'))
      return true
    })
  }

  private setStatus(projectId: string, from: IkgStatus, to: IkgStatus): Promise<void> {
    return this.deps.documents.write((draft) => {
      const project = draft.get('projects', projectId)
      if (project?.fields.ikg_status === from) draft.put(withStatus(project, to))
    })
  }
}

/** Applications before agents. */
type SystemNodes = ReadonlyMap<string, StoredDocument>

function systemNodesOf(reader: ConfigReader, projectId: string): SystemNodes {
  const documents = [...reader.inScope('applications', projectId), ...reader.inScope('application-agents', projectId)]
  return new Map(documents.map((document) => [document.id, document]))
}

function isSameConnection(a: StoredDocument, b: StoredDocument): boolean {
  return JSON.stringify(a.fields.db_connection) === JSON.stringify(b.fields.db_connection)
}

/** Not a revision: nobody's ETag goes stale because provisioning went on. */
function withStatus(project: StoredDocument, status: IkgStatus): StoredDocument {
  return { ...project, fields: { ...project.fields, ikg_status: status } }
}
