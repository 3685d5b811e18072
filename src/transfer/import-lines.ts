// What becomes of the lines of an import, one after the other: documents are kept until the first graph, a graph is entered,
// and the elements between two such turns go into it in one transaction for each batch, with the place that it goes up to.

import { OperatorFault } from '../kernel/errors.ts'
import type { BulkBatch } from '../store/lmdb/bulk-batch.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { ImportDocuments } from './import-documents.ts'
import { hasGraph, type ImportGraphs } from './import-graphs.ts'
import type { Batch } from './line-batches.ts'
import { LineFault } from './line-fields.ts'
import type { End, Section } from './lines.ts'
import { NodePlace } from './node-place.ts'
import { readPlainLine } from './plain-line.ts'
import { readLine } from './read-line.ts'

export interface Target {
  readonly dataDir: string
  /** Whatever project a line names, its graphs go into this one. */
  readonly projectId: string | undefined
  readonly documents: ImportDocuments
  readonly graphs: ImportGraphs
  readonly checkpoints: Checkpoints
}

interface Counts {
  nodes: number
  relationships: number
}

export class ImportLines {
  /** Of what was loaded. */
  readonly count: Counts = { nodes: 0, relationships: 0 }
  /** Lines that an earlier run had imported. */
  skipped = 0
  /** Whether the first line is the header of an export. */
  isExport = false
  /** Whether the folder may be another than before. */
  hasWritten = false
  private readonly target: Target
  /** Bytes of the file that are in the current graph already. */
  private offset = 0
  /** Of the nodes in the current graph. */
  private place: NodePlace | null = null
  private end: End | null = null

  constructor(target: Target) {
    this.target = target
  }

  /** Throws OperatorFault; one that names a line for what is wrong in it. */
  async begin(): Promise<void> {
    const { projectId } = this.target
    if (projectId !== undefined) await this.enter({ project: projectId, part: 'default' }, 0)
  }

  /** Lines in their order; those for one graph go into one transaction. Throws as `begin` does. */
  async take(lines: Batch): Promise<void> {
    const { count } = lines
    for (let at = 0; at < count; ) {
      let stop = at
      while (stop < count && !isTurn(lines, stop)) stop += 1
      if (stop > at) await this.load(lines, at, stop)
      if (stop < count) await this.turn(lines, stop)
      at = stop + 1
    }
  }

  /** When there are no more lines; `lines` is how many there were. Throws as `begin` does. */
  async finish(lines: number): Promise<void> {
    const { documents, checkpoints } = this.target
    if (await documents.write()) this.hasWritten = true
    checkpoints.compareEnd()
    if (this.end !== null) this.compare(this.end, lines)
    else if (this.isExport) throw new OperatorFault(`line ${lines + 1}: the end of the export is missing`)
  }

  private async load(lines: Batch, from: number, to: number): Promise<void> {
    const { graphs, checkpoints } = this.target
    checkpoints.compare(lines, to)
    const isHome = graphs.current !== null
    let fresh = from
    for (; fresh < to && (!isHome || lines.offsetOf(fresh) < this.offset); fresh++) {
      if (lines.isBlank(fresh)) continue
      if (!isHome) reading(lines, fresh, () => refuseHomeless(lines.text(fresh), this.isExport))
      this.skipped += 1
    }
    if (fresh === to) return
    const load = graphs.load((batch) => {
      const counts = { nodes: 0, relationships: 0 }
      let at = fresh
      try {
        for (; at < to; at++) if (!lines.isBlank(at)) this.apply(lines, at, batch, counts)
      } catch (fault) {
        throw told(lines, at, fault)
      }
      checkpoints.set(batch, lines, to)
      return counts
    })
    const counted = await load.catch((fault: unknown) => {
      // For a fault in a line nothing is written.
      this.hasWritten ||= !(fault instanceof OperatorFault)
      throw fault
    })
    this.hasWritten = true
    this.count.nodes += counted.nodes
    this.count.relationships += counted.relationships
  }

  private apply(lines: Batch, at: number, batch: BulkBatch, counts: Counts): void {
    const line =
      readPlainLine(lines.bytes, lines.start(at), lines.end(at), this.isExport) ??
      readLine(lines.text(at), this.isExport)
    if (line.kind === 'node') {
      this.place?.expect(line.node.location, this.isExport)
      batch.upsertNode(line.node, line.node)
      counts.nodes += 1
    } else if (line.kind === 'relationship') {
      const missing = batch.loadRelationship(line.relationship)
      if (missing !== null && !this.target.graphs.hasBesides(line.relationship[missing])) {
        const { type, externalId } = line.relationship[missing]
        throw new LineFault(`relationship.${missing}`, `the node \`${type}\` \`${externalId}\` does not exist`)
      }
      counts.relationships += 1
    } else if (line.kind === 'header') throw misplacedHeader()
    else throw new LineFault('', 'not within a graph')
  }

  /** A line that is no element. */
  private async turn(lines: Batch, at: number): Promise<void> {
    const { documents, projectId } = this.target
    const line = reading(lines, at, () => {
      if (this.end !== null) throw new LineFault('', 'nothing follows the end')
      const found = readLine(lines.text(at), this.isExport)
      if (found.kind === 'header' && lines.line + at !== 1) throw misplacedHeader()
      if (found.kind === 'configuration' || found.kind === 'past') documents.take(found.document, found.kind)
      return found
    })
    if (line.kind === 'header') this.isExport = true
    else if (line.kind === 'end') this.end = line.end
    else if (line.kind === 'graph') {
      if (await documents.write()) this.hasWritten = true
      const section = projectId === undefined ? line.section : { ...line.section, project: projectId }
      await this.enter(section, lines.offsetOf(at + 1)).catch((fault: unknown) => {
        throw told(lines, at, fault)
      })
    }
  }

  private async enter(section: Section, from: number): Promise<void> {
    const { dataDir, projectId, documents, graphs, checkpoints } = this.target
    const isThere = hasGraph(dataDir, section)
    if (projectId === undefined) documents.expectProject(section.project, isThere)
    else if (!isThere) throw new LineFault('graph.part', `the project has no \`${section.part}\``)
    this.place = new NodePlace(await documents.layoutOf(section.project), section.part)
    this.offset = checkpoints.of(await graphs.enter(section), from)
  }

  /** What was cut off at the end of a line looks whole but for this. */
  private compare(end: End, lines: number): void {
    const elements = this.count.nodes + this.count.relationships + this.skipped
    if (this.target.documents.count !== end.configuration || elements !== end.nodes + end.relationships)
      throw new OperatorFault(
        `line ${lines}: the end speaks of ${end.nodes} nodes and ${end.relationships} relationships, and ${elements} items came before it`,
      )
  }
}

/** The third byte of an element that begins at once: no turn has them there. */
const OF_NODE = 0x6e
const OF_RELATIONSHIP = 0x72
const TURN = /^\s*\{\s*"(?:graph|configuration|past|end|format)"/

/** Elements begin otherwise; what else begins so is found out when it is read. */
function isTurn(lines: Batch, at: number): boolean {
  const first = lines.bytes[lines.start(at) + 2]
  return first !== OF_NODE && first !== OF_RELATIONSHIP && TURN.test(lines.text(at))
}

function misplacedHeader(): LineFault {
  return new LineFault('', 'a header stands in the first line alone')
}

function refuseHomeless(text: string, isExport: boolean): void {
  readLine(text, isExport)
  throw new LineFault('', 'no graph was named before it: name one in a line, or the project by `--project`')
}

function reading<T>(lines: Batch, at: number, work: () => T): T {
  try {
    return work()
  } catch (fault) {
    throw told(lines, at, fault)
  }
}

/** A fault in a line, with its number. */
function told(lines: Batch, at: number, fault: unknown): unknown {
  if (!(fault instanceof LineFault)) return fault
  const { field, message } = fault
  return new OperatorFault(`line ${lines.line + at}: ${field === '' ? '' : `${field}: `}${message}`)
}
