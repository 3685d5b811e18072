// Makes the graph of a project in the background: PENDING → ACTIVE or FAILED (ruling F6). Of several processes one does
// that for all, wherever the project was made. PENDING is durable, so whoever comes after a crash makes it good.
import { locationsOf } from './db-connection.ts'
import type { ConfigReader, ConfigWriter, StoredDocument } from './kind.ts'
import type { SystemGraph } from './system-nodes.ts'

export type IkgStatus = 'PENDING' | 'ACTIVE' | 'FAILED'

/** What makes and removes the databases of a project. Both may be repeated. */
export interface Provisioner {
  /** `locations`: the logical locations of a composite project. */
  create(projectId: string, locations: readonly string[]): Promise<void>
  delete(projectId: string): Promise<void>
}

export interface ProvisioningParts {
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
  private readonly parts: ProvisioningParts
  private readonly running = new Map<string, Promise<void>>()
  private leading = false

  constructor(parts: ProvisioningParts) {
    this.parts = parts
    parts.documents.subscribe((changes) => {
      if (!this.leading) return
      for (const { before, after } of changes) {
        // A new mapping may name further constituents, and a FAILED project gets another try.
        if (after?.kind === 'projects' && after.revision !== before?.revision) this.start(after.id)
      }
    })
  }

  /** From now on this process provisions, and no other. Begins with what its predecessor may have left half-way. */
  lead(): void {
    this.leading = true
    for (const project of this.parts.documents.all('projects')) {
      if (project.fields.ikg_status === 'PENDING' || locationsOf(project).size > 0) this.start(project.id)
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

  /** Begins nothing more, and resolves when nothing runs. */
  async rest(): Promise<void> {
    this.leading = false
    await this.settled()
  }

  /** Resolves when no provisioning runs. */
  async settled(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running.values())
  }

  /** After the project's document is gone. */
  async drop(projectId: string): Promise<void> {
    await this.running.get(projectId)
    await this.parts.provisioner.delete(projectId)
  }

  private async provision(projectId: string): Promise<void> {
    try {
      const project = this.parts.documents.get('projects', projectId)
      if (project === null) return
      await this.mark(projectId, 'FAILED', 'PENDING')
      await this.parts.provisioner.create(projectId, [...locationsOf(project).keys()])
      let written: SystemNodes = new Map()
      do written = await this.writeSystemNodes(projectId, written)
      while (!(await this.activate(projectId, written)))
    } catch (failure) {
      if (this.isGone(projectId)) return
      this.parts.report(`provisioning of project ${projectId} failed: ${String(failure)}`)
      await this.mark(projectId, 'PENDING', 'FAILED').catch(() => undefined)
    } finally {
      // Another process that deleted it meanwhile cannot know what was made since.
      if (this.isGone(projectId)) await this.remove(projectId)
    }
  }

  private isGone(projectId: string): boolean {
    const { documents } = this.parts
    documents.follow()
    return documents.get('projects', projectId) === null
  }

  private async remove(projectId: string): Promise<void> {
    await this.parts.provisioner.delete(projectId).catch((failure: unknown) => {
      this.parts.report(`what was made of the removed project ${projectId} could not be removed: ${String(failure)}`)
    })
  }

  /** Brings the graph from the system nodes `written` to those that the configuration has now. */
  private async writeSystemNodes(projectId: string, written: SystemNodes): Promise<SystemNodes> {
    const { documents, systemGraph } = this.parts
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

  /** False when applications or agents came or went meanwhile: whoever made them left their nodes to us. */
  private activate(projectId: string, written: SystemNodes): Promise<boolean> {
    return this.parts.documents.write((draft) => {
      const wanted = systemNodesOf(draft, projectId)
      if (wanted.size !== written.size || [...wanted.keys()].some((id) => !written.has(id))) return false
      const project = draft.get('projects', projectId)
      if (project !== null && project.fields.ikg_status !== 'ACTIVE') draft.put(withStatus(project, 'ACTIVE'))
      return true
    })
  }

  private mark(projectId: string, from: IkgStatus, to: IkgStatus): Promise<void> {
    return this.parts.documents.write((draft) => {
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

/** Not a revision: nobody's ETag goes stale because provisioning went on. */
function withStatus(project: StoredDocument, status: IkgStatus): StoredDocument {
  return { ...project, fields: { ...project.fields, ikg_status: status } }
}
