// Which environment holds a part of a project's graph: (project, constituent) → environment. One folder per project;
// below it `default`, and for a composite project `global` and a folder for each database that a location is mapped to.
// Environments open when they are first asked for.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { GraphLayout, GraphStore, Constituent as Part } from '../engine/store.ts'
import { assert } from '../kernel/assert.ts'
import { OperatorFault } from '../kernel/errors.ts'
import { isGid } from '../kernel/ids.ts'
import { checkEnvironment } from './check.ts'
import { checkProxies } from './check-proxies.ts'
import { type CompositeParts, Constituent, completeProxies, followNotes, markConstituents } from './composite.ts'
import { type EnvironmentOptions, type LmdbEnvironment, openEnvironment } from './lmdb/environment.ts'
import { isStored } from './lmdb/folder.ts'
import { openedStill } from './lmdb/opening.ts'
import { BusyFault } from './lmdb/opening-gate.ts'
import { openGraphsMax, RoomFault } from './lmdb/room.ts'
import { type OpenPart, OpenProjects, PartStore } from './open-projects.ts'
import { constituentFoldersIn, folderOfPart, folderOfProject, PROJECTS, REMOVED } from './project-folders.ts'

const plainLayout: GraphLayout = { isComposite: false, locations: new Map() }

export interface CatalogOptions extends EnvironmentOptions {
  /** Graphs that may be open at once; beyond it those not used for the longest time are closed. 0: `openGraphsMax`. */
  readonly graphsMax?: number
}

/** Closed at once, so that files and addresses are free, when the process has as many as it may. */
const CLOSED_AT_ONCE = 16

export class Catalog {
  private readonly root: string
  private readonly options: EnvironmentOptions
  private readonly open: OpenProjects
  private readonly folders = new WeakMap<object, string>()

  constructor(dataDir: string, options: CatalogOptions) {
    this.root = join(dataDir, PROJECTS)
    this.options = options
    this.open = new OpenProjects(options.graphsMax || openGraphsMax())
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
  async create(projectId: string, layout: GraphLayout = plainLayout): Promise<void> {
    assert(isGid(projectId), 'a project id is a global id')
    await this.open.hold(projectId, () => this.createParts(projectId, layout))
  }

  private async createParts(projectId: string, layout: GraphLayout): Promise<void> {
    const parts: Part[] = ['default', ...layout.locations.values()]
    if (layout.isComposite) parts.push('global')
    for (const part of parts) await this.opened(projectId, this.folderOf(part), true)
    if (layout.isComposite) await markConstituents(this.partsOf(projectId))
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
    const findings = checkEnvironment(found.environment)
    if (part !== 'global') return findings
    const constituents = this.constituentsOf(projectId).flatMap(
      (folder) => this.environment(projectId, folder, false)?.environment ?? [],
    )
    return [...findings, ...checkProxies(found.environment, constituents)]
  }

  /** It has been made, by whichever process, and may have to be opened. */
  isThere(projectId: string, part: Part): boolean {
    const folder = this.folderOf(part)
    return this.open.find(projectId, folder) !== undefined || isStored(this.pathOf(projectId, folder))
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
      await this.opened(projectId, folder, false).catch((fault: unknown) => {
        if (fault instanceof BusyFault) throw fault
      })
    }
  }

  /** Lets the global graph follow what a crash kept it from following. Nothing to do where there is none. */
  async followNotes(projectId: string): Promise<void> {
    await this.open.hold(projectId, async () => {
      await this.openAll(projectId)
      if (this.find(projectId, 'global') !== null) await followNotes(this.partsOf(projectId))
    })
  }

  /** Makes the proxies of nodes that were there before the project was composite. */
  async completeProxies(projectId: string): Promise<void> {
    await this.open.hold(projectId, async () => {
      await this.openAll(projectId)
      if (this.find(projectId, 'global') !== null) await completeProxies(this.partsOf(projectId))
    })
  }

  private partsOf(projectId: string): CompositeParts {
    return {
      global: async () => {
        const found = await this.opened(projectId, 'global', false)
        if (found === null) throw new OperatorFault('its global database is missing')
        return found.environment
      },
      constituents: async () => {
        const all: LmdbEnvironment[] = []
        for (const folder of this.constituentsOf(projectId)) {
          const found = await this.opened(projectId, folder, false)
          if (found !== null) all.push(found.environment)
        }
        return all
      },
      constituentsNow: () => {
        const all: LmdbEnvironment[] = []
        for (const folder of this.constituentsOf(projectId)) {
          const known = this.open.find(projectId, folder)
          if (known !== undefined) all.push(known.environment)
          else if (isStored(this.pathOf(projectId, folder))) return null
        }
        return all
      },
    }
  }

  /** Read anew each time: another process may have made one. Its files, not the configuration, tell what holds nodes. */
  private constituentsOf(projectId: string): string[] {
    return ['default', ...constituentFoldersIn(join(this.root, folderOfProject(projectId)))]
  }

  private find(projectId: string, part: Part): OpenPart | null {
    const folder = this.folderOf(part)
    const known = this.open.find(projectId, folder)
    if (known !== undefined) return known
    return isGid(projectId) ? this.environment(projectId, folder, false) : null
  }

  private async opened(projectId: string, folder: string, make: boolean): Promise<OpenPart | null> {
    const known = this.open.find(projectId, folder)
    if (known !== undefined) return known
    const path = this.pathOf(projectId, folder)
    if (!make && !isStored(path)) return null
    if (make) mkdirSync(path, { recursive: true, mode: 0o700 })
    await this.open.makeWay(projectId)
    const open = () => openedStill(path, () => this.environment(projectId, folder, make))
    try {
      return await open()
    } catch (fault) {
      if (!(fault instanceof RoomFault)) throw fault
      await this.open.makeWay(projectId, CLOSED_AT_ONCE)
      return await open()
    }
  }

  private pathOf(projectId: string, folder: string): string {
    return join(this.root, folderOfProject(projectId), folder)
  }

  private environment(projectId: string, folder: string, make: boolean): OpenPart | null {
    const known = this.open.find(projectId, folder)
    if (known !== undefined) return known
    const path = this.pathOf(projectId, folder)
    if (!make && !isStored(path)) return null
    mkdirSync(path, { recursive: true, mode: 0o700 })
    this.open.closeOthers(projectId)
    const environment = openEnvironment(path, this.options)
    const inner = folder === 'global' ? environment : new Constituent(environment, this.partsOf(projectId))
    const store = new PartStore(
      () => (environment.isClosed ? this.reopened(projectId, folder) : inner),
      (work) => this.open.hold(projectId, work),
    )
    const opened = { environment, store }
    this.open.add(projectId, folder, opened)
    return opened
  }

  /** For those who have kept its store longer than it stayed open. */
  private reopened(projectId: string, folder: string): GraphStore {
    const opened = this.environment(projectId, folder, false)
    if (opened === null) throw new OperatorFault('its database is missing')
    return opened.store
  }

  private folderOf(part: Part): string {
    if (typeof part === 'string') return part
    let folder = this.folders.get(part)
    if (folder === undefined) {
      folder = folderOfPart(part)
      this.folders.set(part, folder)
    }
    return folder
  }

  /** Waits for writes under way, then removes the project's data. No error when there is none. */
  async delete(projectId: string): Promise<void> {
    const project = folderOfProject(projectId)
    const path = join(this.root, project)
    const removed = join(this.root, `${REMOVED}${project}-${Date.now().toString(36)}`)
    // From here on nobody finds it; open files stay usable until they are closed.
    const exists = existsSync(path)
    if (exists) renameSync(path, removed)
    await this.open.close(projectId)
    if (exists) await rm(removed, { recursive: true, force: true })
  }

  /** After another process was killed. */
  checkReaders(): void {
    for (const environment of this.open.environments()) environment.checkReaders()
  }

  /** Closes what is open of a project that was removed, by this process or by another; its data is not touched. */
  async forget(projectId: string): Promise<void> {
    await this.open.close(projectId)
  }

  /** Calls the listener for each project whose graphs were closed to make way for others. */
  onClosed(listener: (projectId: string) => void): void {
    this.open.onClosed(listener)
  }

  async close(): Promise<void> {
    await this.open.closeAll()
  }
}

/** Opens the projects below a data folder, creating what is missing. */
export function openCatalog(dataDir: string, options: CatalogOptions): Catalog {
  return new Catalog(dataDir, options)
}
