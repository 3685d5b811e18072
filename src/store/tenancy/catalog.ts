// Maps (project, constituent) to an environment. Each project has a folder; in it are `default` and, for a composite project,
// `global` and a folder for each database that a location is mapped to. Environments are opened on first use.

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { GraphStore, OpenSnapshot, WrittenBatch } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import { OperationalError, StorageWriteError } from '../../kernel/errors.ts'
import { DATA_FILE, PROJECTS_FOLDER, REMOVED_PREFIX } from '../../kernel/folder/data-folder.ts'
import { isGid } from '../../kernel/ids.ts'
import { type EnvironmentOptions, type LmdbEnvironment, openEnvironment } from '../graph/environment.ts'
import type { LmdbWriteBatch } from '../graph/write-batch.ts'
import { checkGraph } from '../integrity/check-graph.ts'
import { holdsEnvironment } from '../lmdb/environment-folder.ts'
import { openWhenUnwritten } from '../lmdb/open-file.ts'
import { LockTimeoutError } from '../lmdb/open-lock.ts'
import { maxOpenGraphs, ResourceLimitError } from '../lmdb/resource-limits.ts'
import type { EventOutbox } from '../outbox/outbox.ts'
import { checkProxies } from './check-proxies.ts'
import {
  type CompositeGraphs,
  ConstituentStore,
  completeProxies,
  flagConstituents,
  processIntents,
} from './composite.ts'
import { type OpenConstituent, OpenProjects, ReopeningStore } from './open-projects.ts'
import { constituentFolderName, listConstituentFolders, projectFolderName } from './project-folders.ts'
import type { Constituent, GraphLayout } from './project-graphs.ts'
import {
  type RemoteEvents,
  type RemoteIntent,
  readRemoteIntent,
  readRemoteMark,
  writeRemoteIntent,
} from './remote-intent.ts'

const singleGraphLayout: GraphLayout = { isComposite: false, locations: new Map() }

/** Options of a catalog. */
export interface CatalogOptions extends Omit<EnvironmentOptions, 'onWritten'> {
  /** Maximum number of open graphs; beyond it the least recently used ones are closed. 0: `maxOpenGraphs`. */
  readonly graphsMax?: number
}

/**
 * Called with each batch after its writes, within the transaction; not for bulk loads. If it throws, nothing is written. The observer of a
 * service (app/events.ts) records change data capture, and notes changes for change streams.
 */
type BatchObserver = (graph: WrittenGraph, batch: WrittenBatch) => void

/** A transaction on another server. */
interface RemoteTransaction {
  readonly mark: RemoteIntent['mark']
  /** Whether an earlier transaction of the same graph was committed. Rejects if the server cannot be asked. */
  isCommitted(earlier: RemoteIntent['mark']): Promise<boolean>
}

/** The graph to which a batch is written. */
export interface WrittenGraph {
  readonly projectId: string
  /** As in `GraphOutbox`. */
  readonly part: string
  /** The nodes of the graph are proxies. */
  readonly isGlobal: boolean
  /** The number of the transaction of the batch; see `GraphCommits`. */
  transaction(): number
}

/** The commits of one graph of a project. */
export interface GraphCommits {
  /** As in `GraphOutbox`. */
  readonly part: string
  /** The number of the last transaction that any process has committed. */
  lastTransaction(): number
  /** Resolves when every transaction of any process that is in progress now has ended. */
  settleWrites(): Promise<void>
}

/** The outbox of one graph of a project. */
interface GraphOutbox {
  /** Names the graph among those of the project. Internal: it must not appear in an answer. */
  readonly part: string
  /** The events of the graph, in the stream `GRAPH_STREAM`. */
  readonly outbox: EventOutbox
  /** A snapshot of the graph. Close it in the same turn of the event loop. */
  snapshot(): OpenSnapshot
}

/** The state of the data file of one graph of a project. */
interface GraphFileState {
  /** As in `GraphOutbox`. */
  readonly part: string
  /** Differs after a commit, unless commits follow each other within a few milliseconds. */
  readonly stamp: string
  /** Milliseconds since the epoch. */
  readonly changedMs: number
}

/** The memory caches of a process. */
export interface CatalogCacheState {
  /** Open graphs; each has a cache of its own. */
  readonly graphs: number
  /** The size of all caches. */
  readonly bytes: number
}

/** Number of graphs to close when the process has reached a limit of the system. */
const EVICT_COUNT = 16

/** The graphs of all projects in a data folder. */
export class Catalog {
  private readonly root: string
  private readonly options: CatalogOptions
  private observer: BatchObserver | null = null
  private readonly open: OpenProjects
  private readonly folders = new WeakMap<object, string>()

  constructor(dataDir: string, options: CatalogOptions) {
    this.root = join(dataDir, PROJECTS_FOLDER)
    this.options = options
    this.open = new OpenProjects(options.graphsMax || maxOpenGraphs())
    if (options.readOnly === true) return
    mkdirSync(this.root, { recursive: true, mode: 0o700 })
    // Finishes removals that a crash interrupted. Another process may be doing the same.
    for (const folder of readdirSync(this.root)) {
      if (folder.startsWith(REMOVED_PREFIX))
        rmSync(join(this.root, folder), { recursive: true, force: true, maxRetries: 5 })
    }
  }

  /**
   * Creates the environments of the layout. Existing ones are kept, so an interrupted call can be repeated. From then on the
   * writes of a composite project maintain proxies; `completeProxies` creates those of older nodes.
   */
  async create(projectId: string, layout: GraphLayout = singleGraphLayout): Promise<void> {
    assert(isGid(projectId), 'a project id is a global id')
    await this.open.hold(projectId, () => this.createConstituents(projectId, layout))
  }

  private async createConstituents(projectId: string, layout: GraphLayout): Promise<void> {
    const constituents: Constituent[] = ['default', ...layout.locations.values()]
    if (layout.isComposite) constituents.push('global')
    for (const constituent of constituents) await this.openAsync(projectId, this.folderOf(constituent), true)
    if (layout.isComposite) await flagConstituents(this.compositeGraphsOf(projectId))
  }

  /** The graph of a constituent. Null if it does not exist. Opens it if necessary and then blocks. */
  graph(projectId: string, constituent: Constituent): GraphStore | null {
    return this.find(projectId, constituent)?.store ?? null
  }

  /**
   * Returns all inconsistencies of a graph as sentences; for the global graph also those of its proxies. Null if it does not
   * exist. For tests: it reads everything and blocks the process.
   */
  check(projectId: string, constituent: Constituent): string[] | null {
    const found = this.find(projectId, constituent)
    if (found === null) return null
    const findings = checkGraph(found.environment)
    if (constituent !== 'global') return findings
    const constituents = this.constituentsOf(projectId).flatMap(
      (folder) => this.openNow(projectId, folder, false)?.environment ?? [],
    )
    return [...findings, ...checkProxies(found.environment, constituents)]
  }

  /** Whether the constituent exists, open or not, created by any process. */
  exists(projectId: string, constituent: Constituent): boolean {
    const folder = this.folderOf(constituent)
    return this.open.find(projectId, folder) !== undefined || holdsEnvironment(this.pathOf(projectId, folder))
  }

  /** Whether the graph has nodes; the global graph, which has only proxies, relationships. Call `openAll` before. */
  holdsData(projectId: string, constituent: Constituent): boolean {
    const snapshot = this.find(projectId, constituent)?.environment.wholeSnapshot()
    if (snapshot === undefined) return false
    try {
      return (constituent === 'global' ? snapshot.relationshipCount(null) : snapshot.nodeCount(null)) > 0
    } finally {
      snapshot.close()
    }
  }

  /**
   * Opens all graphs of a project without blocking the process; a graph that is not open is opened on its first use, which
   * blocks. Damage is reported when the graph is used. Rejects with LockTimeoutError if other processes keep writing.
   */
  async openAll(projectId: string): Promise<void> {
    for (const folder of ['global', ...this.constituentsOf(projectId)]) {
      await this.openAsync(projectId, folder, false).catch((error: unknown) => {
        if (error instanceof LockTimeoutError) throw error
      })
    }
  }

  /**
   * Calls `work` with the outboxes of all graphs of a project, which stay open until it is done. Opens them without blocking the
   * process. Rejects with LockTimeoutError if other processes keep writing.
   */
  withOutboxes<T>(projectId: string, work: (outboxes: readonly GraphOutbox[]) => Promise<T>): Promise<T> {
    return this.open.hold(projectId, async () => {
      await this.openAll(projectId)
      const parts = ['global', ...this.constituentsOf(projectId)]
      return work(
        parts.flatMap((part) => {
          const found = this.open.find(projectId, part)
          if (found === undefined) return []
          const { environment } = found
          return [{ part, outbox: environment.outbox, snapshot: () => environment.snapshot() }]
        }),
      )
    })
  }

  /** Keeps the graphs of a project open until the returned function is called. */
  keepOpen(projectId: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    void this.open.hold(projectId, () => promise)
    return resolve
  }

  /** The commits of the graphs of a project. Opens graphs that are not open, which blocks. */
  commitsOf(projectId: string): readonly GraphCommits[] {
    return ['global', ...this.constituentsOf(projectId)].flatMap((part) => {
      const environment = this.openNow(projectId, part, false)?.environment
      if (environment === undefined) return []
      return [
        {
          part,
          lastTransaction: () => environment.lastTransaction(),
          settleWrites: () => environment.settleWrites(),
        },
      ]
    })
  }

  /** The data files of the graphs of a project, without opening them: each commit changes the state of its file. */
  graphFiles(projectId: string): readonly GraphFileState[] {
    const parts = ['global', ...this.constituentsOf(projectId)]
    return parts.flatMap((part) => {
      const state = statSync(join(this.pathOf(projectId, part), DATA_FILE), { throwIfNoEntry: false, bigint: true })
      if (state === undefined) return []
      const { ino, size, mtimeNs, ctimeNs, mtimeMs } = state
      return [{ part, stamp: `${ino} ${size} ${mtimeNs} ${ctimeNs}`, changedMs: Number(mtimeMs) }]
    })
  }

  /** The caches of the open graphs of this process. */
  cacheState(): CatalogCacheState {
    const environments = [...this.open.environments()]
    return {
      graphs: environments.length,
      bytes: environments.reduce((sum, { cache }) => sum + cache.bytes, 0),
    }
  }

  /** Updates the proxies that a crash has left outdated. Does nothing for a project that is not composite. */
  async replayIntents(projectId: string): Promise<void> {
    await this.open.hold(projectId, async () => {
      await this.openAll(projectId)
      if (this.find(projectId, 'global') !== null) await processIntents(this.compositeGraphsOf(projectId))
    })
  }

  /** Creates the proxies of nodes that existed before the project became composite. */
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
      openConstituents: () => {
        const all: LmdbEnvironment[] = []
        for (const folder of this.constituentsOf(projectId)) {
          const alreadyOpen = this.open.find(projectId, folder)
          if (alreadyOpen !== undefined) all.push(alreadyOpen.environment)
          else if (holdsEnvironment(this.pathOf(projectId, folder))) return null
        }
        return all
      },
    }
  }

  /** Read each time, because another process may create one. The files define what exists, not the configuration. */
  private constituentsOf(projectId: string): string[] {
    return ['default', ...listConstituentFolders(join(this.root, projectFolderName(projectId)))]
  }

  private find(projectId: string, constituent: Constituent): OpenConstituent | null {
    const folder = this.folderOf(constituent)
    const alreadyOpen = this.open.find(projectId, folder)
    if (alreadyOpen !== undefined) return alreadyOpen
    return isGid(projectId) ? this.openNow(projectId, folder, false) : null
  }

  private async openAsync(projectId: string, folder: string, make: boolean): Promise<OpenConstituent | null> {
    const alreadyOpen = this.open.find(projectId, folder)
    if (alreadyOpen !== undefined) return alreadyOpen
    const path = this.pathOf(projectId, folder)
    if (!make && !holdsEnvironment(path)) return null
    if (make) mkdirSync(path, { recursive: true, mode: 0o700 })
    await this.open.evictFor(projectId)
    const open = () => openWhenUnwritten(path, () => this.openNow(projectId, folder, make), this.options.lockTimeoutMs)
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof ResourceLimitError)) throw error
      await this.open.evictFor(projectId, EVICT_COUNT)
      return await open()
    }
  }

  private pathOf(projectId: string, folder: string): string {
    return join(this.root, projectFolderName(projectId), folder)
  }

  private openNow(projectId: string, folder: string, make: boolean): OpenConstituent | null {
    const alreadyOpen = this.open.find(projectId, folder)
    if (alreadyOpen !== undefined) return alreadyOpen
    const path = this.pathOf(projectId, folder)
    if (!make && !holdsEnvironment(path)) return null
    mkdirSync(path, { recursive: true, mode: 0o700 })
    this.open.startEvictionFor(projectId)
    const environment = openEnvironment(path, {
      ...this.options,
      onWritten: (batch) => this.observer?.(graph, batch),
    })
    const graph: WrittenGraph = {
      projectId,
      part: folder,
      isGlobal: folder === 'global',
      transaction: () => environment.writeTransaction(),
    }
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

  /**
   * Stores the events of a batch of another server before its transaction commits. `committed` moves them to the outbox of the project,
   * unless `settleRemote` has done so, and calls the observer of batches again, whose events are already stored; `dropped` removes them.
   * Events are recorded in the order of the transactions: before, `committed` settles what earlier ones have left. If `isCommitted` cannot
   * tell whether those were committed, it resolves with `stored`, and `settleRemote` has to be called later.
   */
  async prepareRemote(
    projectId: string,
    constituent: Constituent,
    batch: Pick<WrittenBatch, 'changes'>,
    events: readonly RemoteEvents[],
    { mark, isCommitted }: RemoteTransaction,
  ): Promise<{ committed(): Promise<'recorded' | 'stored'>; dropped(): Promise<void> }> {
    const part = this.folderOf(constituent)
    const found: RemoteEvents[] = [...events]
    const observe = (transaction: () => number, appendEvents: WrittenBatch['appendEvents']): void =>
      this.observer?.(
        { projectId, part, isGlobal: part === 'global', transaction },
        { changes: () => batch.changes(), appendEvents },
      )
    observe(
      () => 0,
      (record, count, stream) => {
        found.push({ record, count, stream })
        return 0
      },
    )
    const intent = Math.floor(Math.random() * 2 ** 31)
    const writeEvents = (change: (local: LmdbWriteBatch, transaction: () => number) => void): Promise<void> =>
      this.open.hold(projectId, async () => {
        const { environment } = await this.eventsOf(projectId)
        await environment.write((local) => change(local, () => environment.writeTransaction()))
      })
    if (found.length > 0) {
      await writeEvents((local) => local.intents.put(intent, writeRemoteIntent({ constituent, mark, events: found })))
    }
    return {
      committed: async () => {
        const isNext =
          found.length === 0 || (await this.settleBefore(projectId, { constituent, mark, intent }, isCommitted))
        await writeEvents((local, transaction) => {
          if (found.length > 0 && isNext) takeIntent(local, intent, found)
          observe(transaction, () => 0)
        })
        return isNext ? 'recorded' : 'stored'
      },
      dropped: () => (found.length === 0 ? Promise.resolve() : writeEvents((local) => local.intents.remove(intent))),
    }
  }

  /** Settles the intents of earlier transactions of a graph. Resolves with false if the server cannot be asked about them. */
  private async settleBefore(
    projectId: string,
    { constituent, mark, intent }: Pick<RemoteIntent, 'constituent' | 'mark'> & { readonly intent: number },
    isCommitted: RemoteTransaction['isCommitted'],
  ): Promise<boolean> {
    const isAlone = await this.open.hold(
      projectId,
      async () => !(await this.eventsOf(projectId)).environment.hasIntentsBut(intent),
    )
    if (isAlone) return true
    const part = this.folderOf(constituent)
    const isEarlier = (of: Pick<RemoteIntent, 'constituent' | 'mark'>): boolean =>
      this.folderOf(of.constituent) === part && of.mark.version < mark.version
    try {
      await this.settle(projectId, isEarlier, (_, earlier) => isCommitted(earlier))
      return true
    } catch (error) {
      if (error instanceof StorageWriteError) throw error
      return false
    }
  }

  private async eventsOf(projectId: string): Promise<OpenConstituent> {
    const opened = await this.openAsync(projectId, 'default', false)
    if (opened === null) throw new OperationalError('the folder of its events is missing')
    return opened
  }

  /**
   * Settles what a crash or an unreachable server has left of `prepareRemote`, in the order of the transactions. `isCommitted` asks the
   * server of a constituent, after the transactions that are in progress: this process or another may be about to call `committed`.
   */
  async settleRemote(
    projectId: string,
    isCommitted: (constituent: Constituent, mark: RemoteIntent['mark']) => Promise<boolean>,
  ): Promise<void> {
    await this.settle(projectId, () => true, isCommitted)
  }

  private async settle(
    projectId: string,
    isMeant: (intent: Pick<RemoteIntent, 'constituent' | 'mark'>) => boolean,
    isCommitted: (constituent: Constituent, mark: RemoteIntent['mark']) => Promise<boolean>,
  ): Promise<void> {
    await this.open.hold(projectId, async () => {
      const environment = (await this.openAsync(projectId, 'default', false))?.environment
      // Without a folder nothing was prepared here.
      if (environment === undefined) return
      const meant = [...environment.intents()]
        .flatMap(([number, text]) => {
          const of = readRemoteMark(text)
          return of !== null && isMeant(of) ? [{ number, text, ...of }] : []
        })
        .sort((a, b) => a.mark.version - b.mark.version)
      for (const { number, text, constituent, mark } of meant) {
        const isRecorded = await isCommitted(constituent, mark)
        await environment.write((local) => {
          takeIntent(local, number, isRecorded ? readRemoteIntent(text).events : [])
        })
      }
    })
  }

  /** Registers the observer of all batches. Call it before the first write. */
  observe(observer: BatchObserver): void {
    this.observer = observer
  }

  /** Opens the environment again for a store that is used after its environment was closed. */
  private reopen(projectId: string, folder: string): GraphStore {
    const opened = this.openNow(projectId, folder, false)
    if (opened === null) throw new OperationalError('its database is missing')
    return opened.store
  }

  private folderOf(constituent: Constituent): string {
    if (typeof constituent === 'string') return constituent
    let folder = this.folders.get(constituent)
    if (folder === undefined) {
      folder = constituentFolderName(constituent)
      this.folders.set(constituent, folder)
    }
    return folder
  }

  /** Removes a project's data after pending writes. Does nothing if none exists. */
  async delete(projectId: string): Promise<void> {
    const project = projectFolderName(projectId)
    const path = join(this.root, project)
    const removed = join(this.root, `${REMOVED_PREFIX}${project}-${Date.now().toString(36)}`)
    // After the rename no process finds it. Open files stay usable until they are closed.
    const exists = existsSync(path)
    if (exists) renameSync(path, removed)
    await this.open.close(projectId)
    if (exists) await rm(removed, { recursive: true, force: true })
  }

  /** Removes readers of killed processes from all open environments. */
  clearStaleReaders(): void {
    for (const environment of this.open.environments()) environment.clearStaleReaders()
  }

  /** Closes the graphs of a project that any process has removed. Does not change data. */
  async closeProject(projectId: string): Promise<void> {
    await this.open.close(projectId)
  }

  /** Registers a listener, called with each project whose graphs were closed to stay below the maximum. */
  onEvicted(listener: (projectId: string) => void): void {
    this.open.onEvicted(listener)
  }

  /** Closes all graphs after pending writes. */
  async close(): Promise<void> {
    await this.open.closeAll()
  }
}

/** Opens the graphs of all projects in a data folder. Creates the folder of projects unless `readOnly`. */
export function openCatalog(dataDir: string, options: CatalogOptions): Catalog {
  return new Catalog(dataDir, options)
}

/** Removes an intent and appends its events. Does nothing if the intent is no longer stored: its events were appended then. */
function takeIntent(local: LmdbWriteBatch, intent: number, events: readonly RemoteEvents[]): void {
  if (!local.intents.has(intent)) return
  local.intents.remove(intent)
  for (const { record, count, stream } of events) local.appendEvents(record, count, stream)
}
