// The graphs that an import writes to, one at a time: found or made when a line names them. A trial writes to an empty graph
// of its own beside each, and one that was made and got nothing is taken away again.
import { existsSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { NodeKey } from '../engine/store.ts'
import { systemClock } from '../kernel/clock.ts'
import { DATA_FILE, PROJECTS_FOLDER } from '../kernel/data-folder.ts'
import type { BulkBatch } from '../store/graph/bulk-batch.ts'
import { type LmdbEnvironment, openEnvironment } from '../store/graph/environment.ts'
import { projectFolderNameOrNull } from '../store/tenancy/project-folders.ts'
import type { GraphSection } from './line-format.ts'

/** The folder of a part of a project's graph. */
export function graphFolder(dataDir: string, { project, part }: GraphSection): string {
  return join(dataDir, PROJECTS_FOLDER, projectFolderNameOrNull(project) ?? 'none', ...part.split('/'))
}

export function hasGraph(dataDir: string, section: GraphSection): boolean {
  return existsSync(join(graphFolder(dataDir, section), DATA_FILE))
}

export class GraphImporter {
  private readonly dataDir: string
  private readonly scratchFolder: string | null
  private readonly openedFolders = new Set<string>()
  private readonly createdFolders: string[] = []
  private readonly loadedFolders = new Set<string>()
  private open: { folder: string; environment: LmdbEnvironment; existing: LmdbEnvironment | null } | null = null

  /** `scratch`: where a trial writes; null for the real thing. */
  constructor(dataDir: string, scratch: string | null) {
    this.dataDir = dataDir
    this.scratchFolder = scratch
  }

  /** What lines go into now. */
  get current(): LmdbEnvironment | null {
    return this.open?.environment ?? null
  }

  async openGraph(section: GraphSection): Promise<LmdbEnvironment> {
    await this.closeGraph()
    const folder = graphFolder(this.dataDir, section)
    const isThere = hasGraph(this.dataDir, section)
    const clock = systemClock
    if (this.scratchFolder === null) {
      this.openedFolders.add(folder)
      if (!isThere) this.createdFolders.push(folder)
      this.open = { folder, environment: openEnvironment(folder, { clock }), existing: null }
    } else {
      const environment = openEnvironment(mkdtempSync(join(this.scratchFolder, 'graph-')), { clock, sync: false })
      this.open = { folder, environment, existing: null }
      if (isThere) this.open.existing = openEnvironment(folder, { clock, readOnly: true })
    }
    return this.open.environment
  }

  /** All of it, or nothing. */
  async load<T>(change: (batch: BulkBatch) => T): Promise<T> {
    const { folder, environment } = this.open!
    const result = await environment.bulkLoad(change)
    this.loadedFolders.add(folder)
    return result
  }

  /** In a trial, nodes that the graph has already are not in the scratch graph. */
  existsOutsideScratch(key: NodeKey): boolean {
    const existing = this.open?.existing ?? null
    if (existing === null) return false
    const snapshot = existing.snapshot()
    try {
      const label = snapshot.symbol('label', key.type)
      return label !== 0 && snapshot.findNode(label, key.externalId) !== 0
    } finally {
      snapshot.close()
    }
  }

  async closeGraph(): Promise<void> {
    const { open } = this
    this.open = null
    await open?.environment.close()
    await open?.existing?.close()
  }

  /** Of a finished import nothing is to be gone on with: a later one of the same file loads what is missing by then. */
  async clearCheckpoints(): Promise<void> {
    const last = this.open
    if (last !== null && this.openedFolders.has(last.folder)) await clearCheckpoint(last.environment)
    await this.closeGraph()
    for (const folder of this.openedFolders) {
      if (folder === last?.folder) continue
      const environment = openEnvironment(folder, { clock: systemClock })
      try {
        await clearCheckpoint(environment)
      } finally {
        await environment.close()
      }
    }
  }

  /** After a fault, when none is open. */
  removeEmpty(): void {
    for (const folder of this.createdFolders.filter((made) => !this.loadedFolders.has(made))) {
      rmSync(folder, { recursive: true, force: true })
      const root = join(this.dataDir, PROJECTS_FOLDER)
      for (let parent = dirname(folder); parent.startsWith(root) && isEmpty(parent); parent = dirname(parent))
        rmdirSync(parent)
    }
  }
}

async function clearCheckpoint(environment: LmdbEnvironment): Promise<void> {
  if (environment.checkpoint() !== null) await environment.bulkLoad((batch) => batch.setCheckpoint(null))
}

function isEmpty(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).length === 0
}
