// What becomes of the lines of an import, one after the other: documents are kept until the first graph, a graph is entered,
// and the elements between two such turns go into it in one transaction for each batch, with the place that it goes up to.

import { OperationalError } from '../kernel/errors.ts'
import type { BulkBatch } from '../store/graph/bulk-batch.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { DocumentImporter } from './document-importer.ts'
import { parseFastLine } from './fast-line-parser.ts'
import { type GraphImporter, hasGraph } from './graph-importer.ts'
import type { LineBatch } from './line-batches.ts'
import { LineError } from './line-fields.ts'
import type { ExportTotals, GraphSection } from './line-format.ts'
import { LocationCheck } from './location-check.ts'
import { parseLine } from './parse-line.ts'

export interface ImportTarget {
  readonly dataDir: string
  /** Whatever project a line names, its graphs go into this one. */
  readonly projectId: string | undefined
  readonly documents: DocumentImporter
  readonly graphs: GraphImporter
  readonly checkpoints: Checkpoints
}

interface ElementCounts {
  nodes: number
  relationships: number
}

export class LineImporter {
  /** Of what was loaded. */
  readonly count: ElementCounts = { nodes: 0, relationships: 0 }
  /** Lines that an earlier run had imported. */
  skipped = 0
  /** Whether the first line is the header of an export. */
  isExport = false
  /** Whether the folder may be another than before. */
  hasWritten = false
  private readonly target: ImportTarget
  /** Bytes of the file that are in the current graph already. */
  private offset = 0
  /** Of the nodes in the current graph. */
  private locationCheck: LocationCheck | null = null
  private end: ExportTotals | null = null

  constructor(target: ImportTarget) {
    this.target = target
  }

  /** Throws OperatorFault; one that names a line for what is wrong in it. */
  async start(): Promise<void> {
    const { projectId } = this.target
    if (projectId !== undefined) await this.enterGraph({ project: projectId, part: 'default' }, 0)
  }

  /** Lines in their order; those for one graph go into one transaction. Throws as `begin` does. */
  async importBatch(lines: LineBatch): Promise<void> {
    const { count } = lines
    for (let at = 0; at < count; ) {
      let stop = at
      while (stop < count && !isSectionLine(lines, stop)) stop += 1
      if (stop > at) await this.loadElements(lines, at, stop)
      if (stop < count) await this.applySectionLine(lines, stop)
      at = stop + 1
    }
  }

  /** When there are no more lines; `lines` is how many there were. Throws as `begin` does. */
  async finish(lines: number): Promise<void> {
    const { documents, checkpoints } = this.target
    if (await documents.write()) this.hasWritten = true
    checkpoints.verifyEnd()
    if (this.end !== null) this.checkTotals(this.end, lines)
    else if (this.isExport) throw new OperationalError(`line ${lines + 1}: the end of the export is missing`)
  }

  private async loadElements(lines: LineBatch, from: number, to: number): Promise<void> {
    const { graphs, checkpoints } = this.target
    checkpoints.verify(lines, to)
    const isHome = graphs.current !== null
    let fresh = from
    for (; fresh < to && (!isHome || lines.offsetOf(fresh) < this.offset); fresh++) {
      if (lines.isBlank(fresh)) continue
      if (!isHome) atLine(lines, fresh, () => rejectOutsideGraph(lines.text(fresh), this.isExport))
      this.skipped += 1
    }
    if (fresh === to) return
    const load = graphs.load((batch) => {
      const counts = { nodes: 0, relationships: 0 }
      let at = fresh
      try {
        for (; at < to; at++) if (!lines.isBlank(at)) this.applyElement(lines, at, batch, counts)
      } catch (fault) {
        throw withLineNumber(lines, at, fault)
      }
      checkpoints.set(batch, lines, to)
      return counts
    })
    const counted = await load.catch((fault: unknown) => {
      // For a fault in a line nothing is written.
      this.hasWritten ||= !(fault instanceof OperationalError)
      throw fault
    })
    this.hasWritten = true
    this.count.nodes += counted.nodes
    this.count.relationships += counted.relationships
  }

  private applyElement(lines: LineBatch, at: number, batch: BulkBatch, counts: ElementCounts): void {
    const line =
      parseFastLine(lines.bytes, lines.startOf(at), lines.endOf(at), this.isExport) ??
      parseLine(lines.text(at), this.isExport)
    if (line.kind === 'node') {
      this.locationCheck?.check(line.node.location, this.isExport)
      batch.upsertNode(line.node, line.node)
      counts.nodes += 1
    } else if (line.kind === 'relationship') {
      const missing = batch.loadRelationship(line.relationship)
      if (missing !== null && !this.target.graphs.existsOutsideScratch(line.relationship[missing])) {
        const { type, externalId } = line.relationship[missing]
        throw new LineError(`relationship.${missing}`, `the node \`${type}\` \`${externalId}\` does not exist`)
      }
      counts.relationships += 1
    } else if (line.kind === 'header') throw misplacedHeader()
    else throw new LineError('', 'not within a graph')
  }

  /** A line that is no element. */
  private async applySectionLine(lines: LineBatch, at: number): Promise<void> {
    const { documents, projectId } = this.target
    const line = atLine(lines, at, () => {
      if (this.end !== null) throw new LineError('', 'nothing follows the end')
      const found = parseLine(lines.text(at), this.isExport)
      if (found.kind === 'header' && lines.firstLine + at !== 1) throw misplacedHeader()
      if (found.kind === 'configuration' || found.kind === 'past') documents.add(found.document, found.kind)
      return found
    })
    if (line.kind === 'header') this.isExport = true
    else if (line.kind === 'end') this.end = line.end
    else if (line.kind === 'graph') {
      if (await documents.write()) this.hasWritten = true
      const section = projectId === undefined ? line.section : { ...line.section, project: projectId }
      await this.enterGraph(section, lines.offsetOf(at + 1)).catch((fault: unknown) => {
        throw withLineNumber(lines, at, fault)
      })
    }
  }

  private async enterGraph(section: GraphSection, from: number): Promise<void> {
    const { dataDir, projectId, documents, graphs, checkpoints } = this.target
    const isThere = hasGraph(dataDir, section)
    if (projectId === undefined) documents.checkProject(section.project, isThere)
    else if (!isThere) throw new LineError('graph.part', `the project has no \`${section.part}\``)
    this.locationCheck = new LocationCheck(await documents.layoutOf(section.project), section.part)
    this.offset = checkpoints.resumeOffset(await graphs.openGraph(section), from)
  }

  /** What was cut off at the end of a line looks whole but for this. */
  private checkTotals(end: ExportTotals, lines: number): void {
    const elements = this.count.nodes + this.count.relationships + this.skipped
    if (this.target.documents.count !== end.configuration || elements !== end.nodes + end.relationships)
      throw new OperationalError(
        `line ${lines}: the end speaks of ${end.nodes} nodes and ${end.relationships} relationships, and ${elements} items came before it`,
      )
  }
}

/** The third byte of an element that begins at once: no turn has them there. */
const NODE_BYTE = 0x6e
const RELATIONSHIP_BYTE = 0x72
const SECTION_LINE = /^\s*\{\s*"(?:graph|configuration|past|end|format)"/

/** Elements begin otherwise; what else begins so is found out when it is read. */
function isSectionLine(lines: LineBatch, at: number): boolean {
  const first = lines.bytes[lines.startOf(at) + 2]
  return first !== NODE_BYTE && first !== RELATIONSHIP_BYTE && SECTION_LINE.test(lines.text(at))
}

function misplacedHeader(): LineError {
  return new LineError('', 'a header stands in the first line alone')
}

function rejectOutsideGraph(text: string, isExport: boolean): void {
  parseLine(text, isExport)
  throw new LineError('', 'no graph was named before it: name one in a line, or the project by `--project`')
}

function atLine<T>(lines: LineBatch, at: number, work: () => T): T {
  try {
    return work()
  } catch (fault) {
    throw withLineNumber(lines, at, fault)
  }
}

/** A fault in a line, with its number. */
function withLineNumber(lines: LineBatch, at: number, fault: unknown): unknown {
  if (!(fault instanceof LineError)) return fault
  const { field, message } = fault
  return new OperationalError(`line ${lines.firstLine + at}: ${field === '' ? '' : `${field}: `}${message}`)
}
