// The graphs of a project in a data folder, as the source of a copy.
import type { Symbols } from '../../bolt/stored-elements.ts'
import type { GraphVersion, NodeKey } from '../../engine/store.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import { externalIdOf, type NodeRecord, readNode, readRelationship, typeOf } from '../../store/format/records.ts'
import { type LmdbEnvironment, openEnvironment } from '../../store/graph/environment.ts'
import type { Databases } from '../../store/lmdb/databases.ts'
import type { ReadOptions } from '../../store/lmdb/raw-database.ts'
import { openCatalog } from '../../store/tenancy/catalog.ts'
import type { GraphLayout } from '../../store/tenancy/project-graphs.ts'
import { interruptedImportMessage } from '../files/import-markers.ts'
import { graphFolder, hasGraph } from '../import/graph-importer.ts'
import {
  type CopiedCounts,
  type CopiedRelationship,
  type ElementPage,
  type GraphReader,
  PAGE_ELEMENTS,
} from './graph-reader.ts'

/** A project of a data folder. */
export interface FolderProject {
  readonly dataDir: string
  readonly id: string
  readonly layout: GraphLayout
}

/** One of the graphs of a project. */
export interface ProjectPart extends Pick<FolderProject, 'dataDir' | 'id'> {
  /** The constituent, as its path below the folder of the project. */
  readonly part: string
}

/** The folder of a graph. */
export function folderOf({ dataDir, id, part }: ProjectPart): string {
  return graphFolder(dataDir, { project: id, part })
}

/**
 * Creates the graphs that a composite project does not have yet, and completes its proxies, as a service does. Does nothing for other
 * projects.
 */
export async function completeProject({ dataDir, id, layout }: FolderProject): Promise<void> {
  if (!layout.isComposite) return
  const catalog = openCatalog(dataDir, { clock: systemClock })
  try {
    await catalog.create(id, layout)
    await catalog.replayIntents(id)
    await catalog.completeProxies(id)
  } finally {
    await catalog.close()
  }
}

/** Throws OperationalError if a project has no graph in the folder, or if an import was interrupted. */
export function requireGraph({ dataDir, id }: Pick<FolderProject, 'dataDir' | 'id'>, part = 'default'): void {
  const unfinished = interruptedImportMessage(dataDir)
  if (unfinished !== null) throw new OperationalError(unfinished)
  if (!hasGraph(dataDir, { project: id, part }))
    throw new OperationalError(`the project ${id} has no graph in the folder ${dataDir}`)
}

/** Reads the graph of a project. The folder must be locked. */
export class FolderGraph implements GraphReader {
  readonly place: string
  readonly symbols: Symbols
  readonly environment: LmdbEnvironment

  private constructor(place: string, environment: LmdbEnvironment) {
    this.place = place
    this.environment = environment
    const { symbols } = environment
    this.symbols = {
      intern: (kind, name) => symbols.id(kind, name),
      name: (kind, id) => symbols.name(kind, id),
    }
  }

  /** Throws OperationalError if the project has no graph in the folder, or if an import was interrupted. */
  static open(graph: ProjectPart): FolderGraph {
    requireGraph(graph, graph.part)
    return FolderGraph.openCopied(graph)
  }

  /** As `open`, also while the folder has an unfinished copy. */
  static openCopied(graph: ProjectPart): FolderGraph {
    return new FolderGraph(graph.dataDir, openEnvironment(folderOf(graph), { clock: systemClock, readOnly: true }))
  }

  /** The version of the graph: no batch was written between two equal ones. */
  version(): GraphVersion {
    const snapshot = this.environment.snapshot()
    const { writer, commit } = snapshot.version
    snapshot.close()
    return { writer, commit }
  }

  async counts(): Promise<CopiedCounts> {
    // A snapshot also completes the table of names.
    const snapshot = this.environment.snapshot()
    const counts = { nodes: snapshot.nodeCount(null), relationships: snapshot.relationshipCount(null) }
    snapshot.close()
    return counts
  }

  async nodes(from: number): Promise<ElementPage<NodeRecord>> {
    await nextTurn()
    return this.environment.inspect((databases, reading) => {
      const items: NodeRecord[] = []
      const next = readPage(databases.nodes, from, reading, (id, view) => {
        const node = readNode(view)
        if (node.type === 0) throw new OperationalError(`the node ${id} has no key and cannot be copied`)
        items.push(node)
      })
      return { items, next }
    })
  }

  async relationships(from: number): Promise<ElementPage<CopiedRelationship>> {
    await nextTurn()
    return this.environment.inspect((databases, reading) => {
      const records: CopiedRelationship['record'][] = []
      const next = readPage(databases.relationships, from, reading, (_, view) => records.push(readRelationship(view)))
      const keyOf = (id: number): NodeKey => {
        const view = databases.nodes.getRequired(id, reading)
        return { type: this.symbols.name('label', typeOf(view)), externalId: externalIdOf(view) }
      }
      const items = records.map((record) => ({ record, source: keyOf(record.source), target: keyOf(record.target) }))
      return { items, next }
    })
  }

  async close(): Promise<void> {
    await this.environment.close()
  }
}

/** Lets the answers of a server in. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

type Table = Databases['nodes'] | Databases['relationships']

/** Returns where the next page begins. */
function readPage(
  table: Table,
  from: number,
  reading: ReadOptions,
  add: (id: number, view: Parameters<typeof readNode>[0]) => void,
): number | null {
  let items = 0
  let last = 0
  const range = { start: Math.max(1, from), end: undefined, limit: PAGE_ELEMENTS, ...reading }
  for (const { key, valueView } of table.entries(range)) {
    add(key, valueView)
    items += 1
    last = key
  }
  return items < PAGE_ELEMENTS ? null : last + 1
}
