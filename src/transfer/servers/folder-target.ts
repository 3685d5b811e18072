// The graphs of a project in a data folder, as the targets of a copy. They are loaded like an import: each batch is committed together
// with the place where the next one begins. One mark covers all graphs: until it is removed, the folder is not served.
import { randomUUID } from 'node:crypto'
import type { Symbols } from '../../bolt/stored-elements.ts'
import { InvalidElementError, OperationalError } from '../../kernel/errors.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import type { NodeRecord, StoredProperties } from '../../store/format/records.ts'
import type { BulkBatch, BulkProperty } from '../../store/graph/bulk-batch.ts'
import { type LmdbEnvironment, openEnvironment } from '../../store/graph/environment.ts'
import { DuplicateRelationshipError, LoadDuplicates } from '../../store/graph/load-duplicates.ts'
import { interruptedImportMessage, readImportMarks, writeImportMarks } from '../files/import-markers.ts'
import { COPY_BEGIN, COPY_END, type CopyPosition, type CopyTarget, type CopyTargets } from './copy-target.ts'
import { completeProject, FolderGraph, type FolderProject, folderOf, type ProjectPart } from './folder-graph.ts'
import type { CopiedRelationship } from './graph-reader.ts'

/** Stored with a graph until the copy is complete. */
interface CopyCheckpoint extends CopyPosition {
  /** As in the marker file. */
  readonly copy: string
}

/** Where a copy into a graph continues. Rejects with OperationalError if another operation has filled the graph. */
async function positionIn(graph: ProjectPart, copy: string | null): Promise<CopyPosition> {
  const environment = openForLoad(graph)
  try {
    const text = environment.checkpoint()
    const begun = text === null ? null : (JSON.parse(text) as CopyCheckpoint)
    if (begun !== null && begun.copy === copy) return begun
    const nodes = nodesIn(environment)
    if (nodes === 0) return COPY_BEGIN
    // All graphs were empty when the mark was written, and the checkpoint is removed when all are equal.
    if (begun === null && copy !== null) return COPY_END
    const { dataDir, id } = graph
    throw new OperationalError(`the project ${id} in ${dataDir} has ${nodes} nodes: the target of a copy must be empty`)
  } finally {
    await environment.close()
  }
}

function openForLoad(graph: ProjectPart): LmdbEnvironment {
  const duplicates = new LoadDuplicates('refuse-all')
  // Everything in the graph is of this copy, also of an earlier run.
  duplicates.firstId = 0
  return openEnvironment(folderOf(graph), { clock: systemClock, forLoad: true, duplicates })
}

/** `batch`: the relationships that are written; empty: the duplicates are in committed batches. */
async function nameDuplicates<T>(
  work: Promise<T>,
  batch: readonly CopiedRelationship[],
  symbols: Symbols | null,
): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof DuplicateRelationshipError)) throw error
    const at = error.at === null ? null : batch[error.at]!
    const key = at === null ? error.key! : { ...at, type: symbols!.name('type', at.record.type) }
    const { source, type, target } = key
    throw new OperationalError(
      `the source has two relationships ${type} from ${source.type} \`${source.externalId}\` to ${target.type} \`${target.externalId}\`, and a data folder holds one. In the source, make them one with a list, give each role a type of its own, or put a node between (docs/how-to/several-relationships.md); then delete the folder of the unfinished graph, and copy again`,
    )
  })
}

function nodesIn(environment: LmdbEnvironment): number {
  const snapshot = environment.snapshot()
  const nodes = snapshot.nodeCount(null)
  snapshot.close()
  return nodes
}

/** Identifies a copy into a folder. */
interface FolderCopy {
  readonly id: string
  /** The URLs of the source. */
  readonly source: string
  /** Whether an earlier run has begun it. */
  readonly isResumed: boolean
}

/** The graphs of a project. The folder must be locked. */
export class FolderTargets implements CopyTargets {
  private readonly project: FolderProject
  private readonly copy: FolderCopy
  private readonly graphs: readonly (readonly [ProjectPart, CopyPosition])[]
  private readonly opened: FolderTarget[] = []

  private constructor(
    project: FolderProject,
    copy: FolderCopy,
    graphs: readonly (readonly [ProjectPart, CopyPosition])[],
  ) {
    this.project = project
    this.copy = copy
    this.graphs = graphs
  }

  /**
   * The graphs must be empty or contain an unfinished copy of `source`. Until `finish` the folder is not served. Rejects with
   * OperationalError.
   */
  static async open(project: FolderProject, parts: readonly string[], source: string): Promise<FolderTargets> {
    const { dataDir, id } = project
    const mark = `${source} (project ${id})`
    const marks = readImportMarks(dataDir)
    const other = marks.find(({ file }) => file !== mark)
    if (other !== undefined) throw new OperationalError(interruptedImportMessage(dataDir)!)
    const begun = marks[0]?.id ?? null
    const graphs: (readonly [ProjectPart, CopyPosition])[] = []
    for (const part of parts) {
      const graph = { dataDir, id, part }
      graphs.push([graph, await positionIn(graph, begun)])
    }
    const copy = { id: begun ?? randomUUID(), source, isResumed: begun !== null }
    if (begun === null) writeImportMarks(dataDir, [{ file: mark, id: copy.id }])
    return new FolderTargets(project, copy, graphs)
  }

  get isUntouched(): boolean {
    const positions = [...this.graphs.map(([, position]) => position), ...this.opened.map(({ position }) => position)]
    return positions.every(({ nodes }) => nodes === COPY_BEGIN.nodes)
  }

  async open(index: number): Promise<CopyTarget> {
    const [graph, position] = this.graphs[index]!
    const target = await FolderTarget.open(graph, this.copy, position)
    this.opened.push(target)
    return target
  }

  async finish(): Promise<void> {
    for (const [graph] of this.graphs) {
      const environment = openForLoad(graph)
      try {
        if (environment.checkpoint() !== null) await environment.bulkLoad((batch) => batch.setCheckpoint(null))
      } finally {
        await environment.close()
      }
    }
    await completeProject(this.project)
    writeImportMarks(this.project.dataDir, [])
  }

  async abandon(): Promise<void> {
    writeImportMarks(this.project.dataDir, [])
  }
}

/** Writes one graph of a project. */
class FolderTarget implements CopyTarget {
  private readonly graph: ProjectPart
  private readonly copy: FolderCopy
  private readonly environment: LmdbEnvironment
  /** The graph that was loaded, opened to read it. */
  private copied: FolderGraph | null = null
  position: CopyPosition

  private constructor(graph: ProjectPart, copy: FolderCopy, environment: LmdbEnvironment, position: CopyPosition) {
    this.graph = graph
    this.copy = copy
    this.environment = environment
    this.position = position
  }

  static async open(graph: ProjectPart, copy: FolderCopy, position: CopyPosition): Promise<FolderTarget> {
    const environment = openForLoad(graph)
    try {
      await nameDuplicates(environment.beginSortedLoad(), [], null)
      return new FolderTarget(graph, copy, environment, position)
    } catch (error) {
      await environment.close()
      throw error
    }
  }

  get isResumed(): boolean {
    return this.copy.isResumed
  }

  async writeNodes(nodes: readonly NodeRecord[], symbols: Symbols, position: CopyPosition): Promise<void> {
    await this.load((batch) => {
      for (const node of nodes) {
        const { externalId, location, isIdentity, gid, createdMs, updatedMs } = node
        const type = symbols.name('label', node.type)
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
    const load = this.load((batch) => {
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
    await nameDuplicates(load, relationships, symbols)
    this.position = position
  }

  /** Rejects with OperationalError if a data folder cannot hold an element of the source. */
  private async load(change: (batch: BulkBatch) => void): Promise<void> {
    await this.environment.bulkLoad(change).catch((error: unknown) => {
      if (!(error instanceof InvalidElementError)) throw error
      throw new OperationalError(
        `a data folder cannot hold an element of the source: ${error.message}. Change it there; ${this.restartHint}`,
      )
    })
  }

  private checkpoint(position: CopyPosition): string {
    const checkpoint: CopyCheckpoint = { ...position, copy: this.copy.id }
    return JSON.stringify(checkpoint)
  }

  /** The graph is opened again: the table of names of a graph that is loaded is not complete. */
  async complete(progress: (done: number, total: number) => void): Promise<FolderGraph> {
    await nameDuplicates(this.environment.finishSortedLoad(progress), [], null)
    await this.environment.close()
    this.copied = FolderGraph.openCopied(this.graph)
    return this.copied
  }

  get restartHint(): string {
    return `to begin again, delete the folder ${folderOf(this.graph)} and copy again from ${this.copy.source}`
  }

  async close(): Promise<void> {
    await (this.copied ?? this.environment).close()
  }
}

function bulkProperties(properties: StoredProperties, symbols: Symbols): BulkProperty[] {
  return [...properties].map(([symbol, { value, externalValue, updatedMs, metadata }]) => ({
    name: symbols.name('property', symbol),
    ...(externalValue === null ? { value: value! } : { externalValue }),
    ...(metadata === null ? {} : { metadata }),
    updatedMs,
  }))
}
