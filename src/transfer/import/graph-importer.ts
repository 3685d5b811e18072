// Opens or creates the graphs that an import writes to, one at a time. A dry run writes to an empty scratch graph instead.
// Graphs that were created and stayed empty are removed after an error.
import { existsSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { NodeKey } from '../../engine/store.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { DATA_FILE, PROJECTS_FOLDER } from '../../kernel/folder/data-folder.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import type { BulkBatch } from '../../store/graph/bulk-batch.ts'
import { type LmdbEnvironment, openEnvironment } from '../../store/graph/environment.ts'
import { type DuplicateMode, DuplicateRelationshipError, LoadDuplicates } from '../../store/graph/load-duplicates.ts'
import type { ListProgress } from '../../store/graph/sorted-load.ts'
import { projectFolderNameOrNull } from '../../store/tenancy/project-folders.ts'
import type { GraphSection } from '../lines/line-format.ts'

/** The folder of a constituent of a project's graph. */
export function graphFolder(dataDir: string, { project, part }: GraphSection): string {
  return join(dataDir, PROJECTS_FOLDER, projectFolderNameOrNull(project) ?? 'none', ...part.split('/'))
}

/** Returns whether the constituent has a database. */
export function hasGraph(dataDir: string, section: GraphSection): boolean {
  return existsSync(join(graphFolder(dataDir, section), DATA_FILE))
}

/** The graphs of one import. */
export class GraphImporter {
  private readonly dataDir: string
  private readonly scratchFolder: string | null
  private readonly listProgress: ListProgress
  private readonly duplicateMode: DuplicateMode
  /** By folder, because a file may have several sections of one graph. */
  private readonly duplicates = new Map<string, LoadDuplicates>()
  /** Dry run only: called with the relationships that the mode refuses. */
  onRefused: ((error: DuplicateRelationshipError) => void) | null = null
  /** Whether the open graph gets its edge lists at the end of its lines. */
  isSorting = false
  private readonly openedFolders = new Set<string>()
  private readonly createdFolders: string[] = []
  private readonly loadedFolders = new Set<string>()
  private open: { folder: string; environment: LmdbEnvironment; existing: LmdbEnvironment | null } | null = null

  /** `scratchFolder`: the folder that a dry run writes to; null: not a dry run. */
  constructor(dataDir: string, scratch: string | null, duplicateMode: DuplicateMode, listProgress: ListProgress) {
    this.duplicateMode = duplicateMode
    this.listProgress = listProgress
    this.dataDir = dataDir
    this.scratchFolder = scratch
  }

  /** The graph that is open; null: none. */
  get current(): LmdbEnvironment | null {
    return this.open?.environment ?? null
  }

  /** Opens a graph, after the previous one is complete. */
  async openGraph(section: GraphSection): Promise<LmdbEnvironment> {
    await this.finishGraph()
    await this.closeGraph()
    const folder = graphFolder(this.dataDir, section)
    const isThere = hasGraph(this.dataDir, section)
    const clock = systemClock
    const duplicates = this.duplicatesIn(folder)
    if (this.scratchFolder === null) {
      this.openedFolders.add(folder)
      if (!isThere) this.createdFolders.push(folder)
      this.open = { folder, environment: openEnvironment(folder, { clock, forLoad: true, duplicates }), existing: null }
      this.isSorting = await withKey(this.open.environment.beginSortedLoad())
    } else {
      const environment = openEnvironment(mkdtempSync(join(this.scratchFolder, 'graph-')), {
        clock,
        sync: false,
        duplicates,
      })
      this.open = { folder, environment, existing: null }
      if (isThere) this.open.existing = openEnvironment(folder, { clock, readOnly: true })
    }
    return this.open.environment
  }

  /** Runs `change` in one write transaction of the open graph; rolls back if it throws. */
  async load<T>(change: (batch: BulkBatch) => T): Promise<T> {
    const { folder, environment } = this.open!
    const result = await environment.bulkLoad(change)
    this.loadedFolders.add(folder)
    return result
  }

  /** Dry run only: true if the node exists in the real graph, which the scratch graph does not contain. */
  existsOutsideScratch(key: NodeKey): boolean {
    return this.labelsOutsideScratch(key) !== null
  }

  /** Dry run only: the labels of a node of the real graph; null: it has no such node. */
  labelsOutsideScratch(key: NodeKey): readonly string[] | null {
    const existing = this.open?.existing ?? null
    if (existing === null) return null
    const snapshot = existing.snapshot()
    try {
      const label = snapshot.symbol('label', key.type)
      const node = label === 0 ? 0 : snapshot.findNode(label, key.externalId)
      return node === 0 ? null : snapshot.labels(node).map((one) => snapshot.symbolName('label', one))
    } finally {
      snapshot.close()
    }
  }

  /** Writes the edge lists of the open graph. Until then it is not complete. */
  private async finishGraph(): Promise<void> {
    if (this.open !== null) await withKey(this.open.environment.finishSortedLoad(this.listProgress))
  }

  private duplicatesIn(folder: string): LoadDuplicates {
    const onRefused =
      this.scratchFolder === null ? null : (error: DuplicateRelationshipError) => this.onRefused?.(error)
    const duplicates = this.duplicates.get(folder) ?? new LoadDuplicates(this.duplicateMode, onRefused)
    this.duplicates.set(folder, duplicates)
    return duplicates
  }

  /** The duplicates of the open graph. */
  get currentDuplicates(): LoadDuplicates {
    return this.duplicates.get(this.open!.folder)!
  }

  /** Relationships that were merged with an earlier one, of the file or of a graph. */
  get merged(): number {
    return [...this.duplicates.values()].reduce((sum, { merged }) => sum + merged, 0)
  }

  async closeGraph(): Promise<void> {
    const { open } = this
    this.open = null
    this.isSorting = false
    await open?.environment.close()
    await open?.existing?.close()
  }

  /** Removes the checkpoints of a finished import, so that a later import of the same file starts from the beginning. */
  async clearCheckpoints(): Promise<void> {
    await this.finishGraph()
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

  /** Removes graphs that were created and got no elements. Call it when no graph is open. */
  removeEmpty(): void {
    for (const folder of this.createdFolders.filter((made) => !this.loadedFolders.has(made))) {
      rmSync(folder, { recursive: true, force: true })
      const root = join(this.dataDir, PROJECTS_FOLDER)
      for (let parent = dirname(folder); parent.startsWith(root) && isEmpty(parent); parent = dirname(parent))
        rmdirSync(parent)
    }
  }
}

/** What to do after relationships that differ were refused. */
export const DUPLICATE_HINT =
  'A graph holds one relationship of a type from one node to another: use a list, a type for each role, or a node between them (docs/how-to/several-relationships.md). To unite their properties, repeat the import with `--resume --on-duplicate merge`; to keep those of the last line, with `--resume --on-duplicate last`'

/** Duplicates that a sorted load finds at its end have no line number. */
async function withKey<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof DuplicateRelationshipError) || error.key === null) throw error
    const { source, type, target } = error.key
    throw new OperationalError(
      `two lines have the relationship ${type} from ${source.type} \`${source.externalId}\` to ${target.type} \`${target.externalId}\`, with different properties. ${DUPLICATE_HINT}`,
    )
  })
}

async function clearCheckpoint(environment: LmdbEnvironment): Promise<void> {
  if (environment.checkpoint() !== null) await environment.bulkLoad((batch) => batch.setCheckpoint(null))
}

function isEmpty(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).length === 0
}
