// Which environment holds a part of a project's graph: (project, constituent) → environment. One folder per project;
// below it `default`, and for a composite project `global` and a folder for each database that a location is mapped to.
// Environments open when they are first asked for.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { GraphLayout, GraphStore, Constituent as Part } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { isGid } from '../../kernel/ids.ts'
import { type EnvironmentOptions, type LmdbEnvironment, openEnvironment } from '../graph/environment.ts'
import { checkGraph } from '../integrity/check-graph.ts'
import { holdsEnvironment } from '../lmdb/environment-folder.ts'
import { openWhenUnwritten } from '../lmdb/open-file.ts'
import { LockTimeoutError } from '../lmdb/open-lock.ts'
import { maxOpenGraphs, ResourceLimitError } from '../lmdb/resource-limits.ts'
import { checkProxies } from './check-proxies.ts'
import {
  type CompositeGraphs,
  ConstituentStore,
  completeProxies,
  flagConstituents,
  processIntents,
} from './composite.ts'
import { type OpenConstituent, OpenProjects, ReopeningStore } from './open-projects.ts'
import {
  constituentFolderName,
  listConstituentFolders,
  PROJECTS,
  projectFolderName,
  REMOVED,
} from './project-folders.ts'

const singleGraphLayout: GraphLayout = { isComposite: false, locations: new Map() }

export interface CatalogOptions extends EnvironmentOptions {
  /** Graphs that may be open at once; beyond it those not used for the longest time are closed. 0: `openGraphsMax`. */
  readonly graphsMax?: number
}

/** Closed at once, so that files and addresses are free, when the process has as many as it may. */
const EVICT_COUNT = 16

export class Catalog {
  private readonly root: string
  private readonly options: EnvironmentOptions
  private readonly open: OpenProjects
  private readonly folders = new WeakMap<object, string>()

  constructor(dataDir: string, options: CatalogOptions) {
    this.root = join(dataDir, PROJECTS)
    this.options = options
    this.open = new OpenProjects(options.graphsMax || maxOpenGraphs())
    if (options.readOnly === true) return
    mkdirSync(this.root, { recursive: true, mode: 0o700 })
    // Finishes removals that a crash interrupted; another process may be at the same one.
    for (const folder of readdirSync(this.root)) {
      if (folder.startsWith(REMOVED)) rmSync(join(this.root, folder), { recursive: true, force: true, maxRetries: 5 })
    }
  }

  /**
   * Makes what the layout names. What exists already stays as it is, so that an interrupted provisioning is simply
   * repeated. From then on the writes of a composite project take proxies along; `completeProxies` makes those of before.
   */
  async create(projectId: string, layout: GraphLayout = singleGraphLayout): Promise<void> {
    assert(isGid(projectId), 'a project id is a global id')
    await this.open.hold(projectId, () => this.createConstituents(projectId, layout))
  }

  private async createConstituents(projectId: string, layout: GraphLayout): Promise<void> {
    const parts: Part[] = ['default', ...layout.locations.values()]
    if (layout.isComposite) parts.push('global')
    for (const part of parts) await this.openAsync(projectId, this.folderOf(part), true)
    if (layout.isComposite) await flagConstituents(this.compositeGraphsOf(projectId))
  }

  /** Null when it does not exist. */
  graph(projectId: string, part: Part): GraphStore | null {
    return this.find(projectId, part)?.store ?? null
  }

  /**
   * What is inconsistent in a graph, in the global one its proxies too; null when it does not exist. For proofs: it reads
   * all of it, and opens it first, in the turn of whoever asks.
   */
  check(projectId: string, part: Part): string[] | null {
    const found = this.find(projectId, part)
    if (found === null) return null
    const findings = checkGraph(found.environment)
    if (part !== 'global') return findings
    const constituents = this.constituentsOf(projectId).flatMap(
      (folder) => this.openNow(projectId, folder, false)?.environment ?? [],
    )
    return [...findings, ...checkProxies(found.environment, constituents)]
  }

  /** It has been made, by whichever process, and may have to be opened. */
  exists(projectId: string, part: Part): boolean {
    const folder = this.folderOf(part)
    return this.open.find(projectId, folder) !== undefined || holdsEnvironment(this.pathOf(projectId, folder))
  }

  /** Nodes of its own; in the global graph, where every node has a proxy, relationships. After `openAll`. */
  holdsData(projectId: string, part: Part): boolean {
    const snapshot = this.find(projectId, part)?.store.snapshot()
    if (snapshot === undefined) return false
    try {
      return (part === 'global' ? snapshot.relationshipCount(null) : snapshot.nodeCount(null)) > 0
    } finally {
      snapshot.close()
    }
  }

  /**
   * Opens what there is of a project, and lets others go on meanwhile: asked for first, it would be opened in the turn of
   * whoever asks. What is damaged tells those who ask for it; rejects with BusyFault where others do not get on.
   */
  async openAll(projectId: string): Promise<void> {
    for (const folder of ['global', ...this.constituentsOf(projectId)]) {
      await this.openAsync(projectId, folder, false).catch((fault: unknown) => {
        if (fault instanceof LockTimeoutError) throw fault
      })
    }
  }

  /** Lets the global graph follow what a crash kept it from following. Nothing to do where there is none. */
  async followNotes(projectId: string): Promise<void> {
    await this.open.hold(projectId, async () => {
      await this.openAll(projectId)
      if (this.find(projectId, 'global') !== null) await processIntents(this.compositeGraphsOf(projectId))
    })
  }

  /** Makes the proxies of nodes that were there before the project was composite. */
  async completeProxies(projectId: string): Promise<void> {
    await this.open.hold(projectId, async () => {
      await this.openAll(projectId)
      if (this.find(projectId, 'global') !== null) await completeProxies(this.compositeGraphsOf(projectId))
    })
  }

  private compositeGraphsOf(projectId: string): CompositeGraphs {
    return {
      global: async () => {
        const found = await this.openAsync(projectId, 'global', false)
        if (found === null) throw new OperationalError('its global database is missing')
        return found.environment
      },
      constituents: async () => {
        const all: LmdbEnvironment[] = []
        for (const folder of this.constituentsOf(projectId)) {
          const found = await this.openAsync(projectId, folder, false)
          if (found !== null) all.push(found.environment)
        }
        return all
      },
      constituentsNow: () => {
        const all: LmdbEnvironment[] = []
        for (const folder of this.constituentsOf(projectId)) {
          const known = this.open.find(projectId, folder)
          if (known !== undefined) all.push(known.environment)
          else if (holdsEnvironment(this.pathOf(projectId, folder))) return null
        }
        return all
      },
    }
  }

  /** Read anew each time: another process may have made one. Its files, not the configuration, tell what holds nodes. */
  private constituentsOf(projectId: string): string[] {
    return ['default', ...listConstituentFolders(join(this.root, projectFolderName(projectId)))]
  }

  private find(projectId: string, part: Part): OpenConstituent | null {
    const folder = this.folderOf(part)
    const known = this.open.find(projectId, folder)
    if (known !== undefined) return known
    return isGid(projectId) ? this.openNow(projectId, folder, false) : null
  }

  private async openAsync(projectId: string, folder: string, make: boolean): Promise<OpenConstituent | null> {
    const known = this.open.find(projectId, folder)
    if (known !== undefined) return known
    const path = this.pathOf(projectId, folder)
    if (!make && !holdsEnvironment(path)) return null
    if (make) mkdirSync(path, { recursive: true, mode: 0o700 })
    await this.open.evictFor(projectId)
    const open = () => openWhenUnwritten(path, () => this.openNow(projectId, folder, make))
    try {
      return await open()
    } catch (fault) {
      if (!(fault instanceof ResourceLimitError)) throw fault
      await this.open.evictFor(projectId, EVICT_COUNT)
      return await open()
    }
  }

  private pathOf(projectId: string, folder: string): string {
    return join(this.root, projectFolderName(projectId), folder)
  }

  private openNow(projectId: string, folder: string, make: boolean): OpenConstituent | null {
    const known = this.open.find(projectId, folder)
    if (known !== undefined) return known
    const path = this.pathOf(projectId, folder)
    if (!make && !holdsEnvironment(path)) return null
    mkdirSync(path, { recursive: true, mode: 0o700 })
    this.open.startEvictionFor(projectId)
    const environment = openEnvironment(path, this.options)
    const inner =
      folder === 'global' ? environment : new ConstituentStore(environment, this.compositeGraphsOf(projectId))
    const store = new ReopeningStore(
      () => (environment.isClosed ? this.reopen(projectId, folder) : inner),
      (work) => this.open.hold(projectId, work),
    )
    const opened = { environment, store }
    this.open.add(projectId, folder, opened)
    return opened
  }

  /** For those who have kept its store longer than it stayed open. */
  private reopen(projectId: string, folder: string): GraphStore {
    const opened = this.openNow(projectId, folder, false)
    if (opened === null) throw new OperationalError('its database is missing')
    return opened.store
  }

  private folderOf(part: Part): string {
    if (typeof part === 'string') return part
    let folder = this.folders.get(part)
    if (folder === undefined) {
      folder = constituentFolderName(part)
      this.folders.set(part, folder)
    }
    return folder
  }

  /** Waits for writes under way, then removes the project's data. No error when there is none. */
  async delete(projectId: string): Promise<void> {
    const project = projectFolderName(projectId)
    const path = join(this.root, project)
    const removed = join(this.root, `${REMOVED}${project}-${Date.now().toString(36)}`)
    // From here on nobody finds it; open files stay usable until they are closed.
    const exists = existsSync(path)
    if (exists) renameSync(path, removed)
    await this.open.close(projectId)
    if (exists) await rm(removed, { recursive: true, force: true })
  }

  /** After another process was killed. */
  clearStaleReaders(): void {
    for (const environment of this.open.environments()) environment.clearStaleReaders()
  }

  /** Closes what is open of a project that was removed, by this process or by another; its data is not touched. */
  async closeProject(projectId: string): Promise<void> {
    await this.open.close(projectId)
  }

  /** Calls the listener for each project whose graphs were closed to make way for others. */
  onEvicted(listener: (projectId: string) => void): void {
    this.open.onEvicted(listener)
  }

  async close(): Promise<void> {
    await this.open.closeAll()
  }
}

/** Opens the projects below a data folder, creating what is missing. */
export function openCatalog(dataDir: string, options: CatalogOptions): Catalog {
  return new Catalog(dataDir, options)
}
