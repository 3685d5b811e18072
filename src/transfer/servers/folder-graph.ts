// The graph of one project in a data folder, as the source or the target of a copy. As the target it is loaded like an import: each
// batch is committed together with the place where the next one begins.
import { randomUUID } from 'node:crypto'
import type { Symbols } from '../../bolt/stored-elements.ts'
import type { GraphVersion, NodeKey } from '../../engine/store.ts'
import { systemClock } from '../../kernel/clock.ts'
import { externalIdLength } from '../../kernel/element-rules.ts'
import { OperationalError } from '../../kernel/errors.ts'
import {
  externalIdOf,
  type NodeRecord,
  readNode,
  readRelationship,
  type StoredProperties,
  typeOf,
} from '../../store/format/records.ts'
import type { BulkProperty } from '../../store/graph/bulk-batch.ts'
import { type LmdbEnvironment, openEnvironment } from '../../store/graph/environment.ts'
import type { Databases } from '../../store/lmdb/databases.ts'
import type { ReadOptions } from '../../store/lmdb/raw-database.ts'
import { graphFolder, hasGraph } from '../graph-importer.ts'
import { interruptedImportMessage, readImportMarks, writeImportMarks } from '../import-markers.ts'
import {
  type CopiedCounts,
  type CopiedRelationship,
  type ElementPage,
  type GraphReader,
  PAGE_ELEMENTS,
} from './graph-reader.ts'

/** How far a copy is: where the next pages begin; null: all are copied. */
export interface CopyPosition {
  readonly nodes: number | null
  readonly relationships: number | null
}

/** The position of a copy that has written nothing. */
export const COPY_BEGIN: CopyPosition = { nodes: 0, relationships: 0 }

/** Stored with the graph until the copy is complete. */
interface CopyCheckpoint extends CopyPosition {
  /** As in the marker file. */
  readonly copy: string
}

/** A project of a data folder. */
export interface FolderProject {
  readonly dataDir: string
  readonly id: string
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
  static open({ dataDir, id }: FolderProject): FolderGraph {
    const unfinished = interruptedImportMessage(dataDir)
    if (unfinished !== null) throw new OperationalError(unfinished)
    if (!hasGraph(dataDir, { project: id, part: 'default' }))
      throw new OperationalError(`the project ${id} has no graph in the folder ${dataDir}`)
    return FolderGraph.openCopied({ dataDir, id })
  }

  /** As `open`, also while the folder has an unfinished copy. */
  static openCopied(project: FolderProject): FolderGraph {
    return new FolderGraph(project.dataDir, openEnvironment(folderOf(project), { clock: systemClock, readOnly: true }))
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

/** Writes the graph of a project. The folder must be locked. */
export class FolderTarget {
  private readonly project: FolderProject
  private readonly source: string
  private readonly environment: LmdbEnvironment
  private readonly id: string
  /** The graph that was loaded, opened to read it. */
  private copied: FolderGraph | null = null
  position: CopyPosition
  /** Whether an earlier run has begun this copy. */
  readonly isResumed: boolean

  private constructor(
    project: FolderProject,
    source: string,
    environment: LmdbEnvironment,
    begun: CopyCheckpoint | null,
  ) {
    this.project = project
    this.source = source
    this.environment = environment
    this.isResumed = begun !== null
    this.id = begun?.copy ?? randomUUID()
    this.position = begun ?? COPY_BEGIN
  }

  /**
   * Opens the graph, which must be empty or contain an unfinished copy of `source`. Until `finish` the folder is not served.
   * Rejects with OperationalError.
   */
  static async open(project: FolderProject, source: string): Promise<FolderTarget> {
    const { dataDir, id } = project
    const mark = markOf(source, id)
    const marks = readImportMarks(dataDir)
    const other = marks.find(({ file }) => file !== mark)
    if (other !== undefined) throw new OperationalError(interruptedImportMessage(dataDir)!)
    const environment = openEnvironment(folderOf(project), { clock: systemClock, forLoad: true })
    try {
      const text = environment.checkpoint()
      const found = text === null ? null : (JSON.parse(text) as CopyCheckpoint)
      const begun = found !== null && marks.some((one) => one.id === found.copy) ? found : null
      if (begun === null) requireEmpty(environment, project)
      const target = new FolderTarget(project, source, environment, begun)
      writeImportMarks(dataDir, [{ file: mark, id: target.id }])
      await environment.beginSortedLoad()
      return target
    } catch (error) {
      await environment.close()
      throw error
    }
  }

  async writeNodes(nodes: readonly NodeRecord[], symbols: Symbols, position: CopyPosition): Promise<void> {
    await this.environment.bulkLoad((batch) => {
      for (const node of nodes) {
        const { externalId, location, isIdentity, gid, createdMs, updatedMs } = node
        const type = symbols.name('label', node.type)
        if ([...externalId].length > externalIdLength.max)
          throw new OperationalError(
            `the external id of a node ${type} has more than ${externalIdLength.max} characters: ${externalId}`,
          )
        const input = {
          type,
          externalId,
          labels: node.labels.map((label) => symbols.name('label', label)),
          isIdentity,
          ...(location === null ? {} : { location }),
          properties: bulkProperties(node.properties, symbols),
        }
        const { created } = batch.upsertNode(input, { gid, createdMs, updatedMs })
        if (!created) throw new OperationalError(`two nodes ${type} have the external id ${externalId}`)
      }
      batch.setCheckpoint(this.checkpoint(position))
    })
    this.position = position
  }

  async writeRelationships(
    relationships: readonly CopiedRelationship[],
    symbols: Symbols,
    position: CopyPosition,
  ): Promise<void> {
    await this.environment.bulkLoad((batch) => {
      for (const { record, source, target } of relationships) {
        const { gid, createdMs, updatedMs } = record
        const type = symbols.name('type', record.type)
        const properties = bulkProperties(record.properties, symbols)
        const missing = batch.loadRelationship({ source, target, type, properties, gid, createdMs, updatedMs })
        if (missing === null) continue
        const { type: nodeType, externalId } = missing === 'source' ? source : target
        throw new OperationalError(`the node ${nodeType} ${externalId} of a relationship ${type} does not exist`)
      }
      batch.setCheckpoint(this.checkpoint(position))
    })
    this.position = position
  }

  private checkpoint(position: CopyPosition): string {
    const checkpoint: CopyCheckpoint = { ...position, copy: this.id }
    return JSON.stringify(checkpoint)
  }

  /**
   * Completes the graph, which can be read then. It is opened again: the table of names of a graph that is loaded is not complete.
   * `progress`: of the lists of relationships.
   */
  async complete(progress: (done: number, total: number) => void): Promise<FolderGraph> {
    await this.environment.finishSortedLoad(progress)
    await this.environment.close()
    this.copied = FolderGraph.openCopied(this.project)
    return this.copied
  }

  /** Removes the notes of the copy, after the graph was compared: the folder can be served. */
  async finish(): Promise<void> {
    await this.close()
    this.copied = null
    const environment = openEnvironment(folderOf(this.project), { clock: systemClock, forLoad: true })
    try {
      await environment.bulkLoad((batch) => batch.setCheckpoint(null))
    } finally {
      await environment.close()
    }
    writeImportMarks(this.project.dataDir, [])
  }

  /** Removes the mark of a copy that has written nothing. */
  async abandon(): Promise<void> {
    writeImportMarks(this.project.dataDir, [])
  }

  /** How an operator begins again. */
  get restartHint(): string {
    return `to begin again, delete the folder ${folderOf(this.project)} and copy again from ${this.source}`
  }

  async close(): Promise<void> {
    await (this.copied ?? this.environment).close()
  }
}

function folderOf({ dataDir, id }: FolderProject): string {
  return graphFolder(dataDir, { project: id, part: 'default' })
}

/** As in the marker file of imports. */
function markOf(source: string, project: string): string {
  return `${source} (project ${project})`
}

function requireEmpty(environment: LmdbEnvironment, { dataDir, id }: FolderProject): void {
  const snapshot = environment.snapshot()
  const nodes = snapshot.nodeCount(null)
  snapshot.close()
  if (nodes > 0)
    throw new OperationalError(`the project ${id} in ${dataDir} has ${nodes} nodes: the target of a copy must be empty`)
}

function bulkProperties(properties: StoredProperties, symbols: Symbols): BulkProperty[] {
  return [...properties].map(([symbol, { value, externalValue, updatedMs, metadata }]) => ({
    name: symbols.name('property', symbol),
    ...(externalValue === null ? { value: value! } : { externalValue }),
    ...(metadata === null ? {} : { metadata }),
    updatedMs,
  }))
}
