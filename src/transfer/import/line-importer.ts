// Applies the lines of an import in order: collects documents until the first graph, opens each graph that a line names, and
// writes its elements with one transaction per batch. The transaction also stores the checkpoint of the batch.

import { InvalidElementError, OperationalError } from '../../kernel/errors.ts'
import type { BulkBatch } from '../../store/graph/bulk-batch.ts'
import { DuplicateRelationshipError } from '../../store/graph/load-duplicates.ts'
import { FastLineParser } from '../lines/fast-line-parser.ts'
import { LineError } from '../lines/line-fields.ts'
import type { ExportLine, ExportTotals, GraphSection } from '../lines/line-format.ts'
import { parseLine } from '../lines/parse-line.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { DocumentImporter } from './document-importer.ts'
import { DUPLICATE_HINT, type GraphImporter, hasGraph } from './graph-importer.ts'
import type { LineBatch } from './line-batches.ts'
import type { LineProblems } from './line-problems.ts'
import { LineTypes, UnfitLines } from './line-types.ts'
import { LocationCheck } from './location-check.ts'

/** Where lines are imported to. */
export interface ImportTarget {
  readonly dataDir: string
  /** Set: all graphs go into this project, and the project in a line is ignored. */
  readonly projectId: string | undefined
  readonly documents: DocumentImporter
  readonly graphs: GraphImporter
  readonly checkpoints: Checkpoints
  /** Collects the lines at fault of a dry run, which continues after them; null: the first one ends the import. */
  readonly problems: LineProblems | null
}

interface ElementCounts {
  nodes: number
  relationships: number
  /** Nodes that existed, in the graph or in an earlier line. */
  mergedNodes: number
}

/** Applies the lines of one import. */
export class LineImporter {
  /** Elements written by this run. */
  readonly count: ElementCounts = { nodes: 0, relationships: 0, mergedNodes: 0 }
  /** Elements that an earlier run imported. */
  skipped = 0
  /** Lines that open types do not allow. */
  readonly unfit = new UnfitLines()
  /** True if the first line is the header of an export. */
  isExport = false
  /** True if this run may have changed the data folder. */
  hasWritten = false
  private readonly target: ImportTarget
  private readonly fastParser = new FastLineParser()
  /** Offset in the file, bytes: everything before it is in the current graph already. */
  private offset = 0
  /** Checks the nodes of the current graph. */
  private locationCheck: LocationCheck | null = null
  /** Compares the lines of the current graph with the model of its project; null: the project has none, or an export is restored. */
  private types: LineTypes | null = null
  private end: ExportTotals | null = null

  constructor(target: ImportTarget) {
    this.target = target
  }

  /** Opens the graph of the requested project, if one was requested. Throws an OperationalError that names the line at fault. */
  async start(): Promise<void> {
    const { projectId } = this.target
    if (projectId !== undefined) await this.enterGraph({ project: projectId, part: 'default' }, 0)
  }

  /** Imports a batch of lines in order, with one transaction per graph. Throws as `start` does. */
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

  /** Completes the import after the last line. `lines`: number of lines read. Throws as `start` does. */
  async finish(lines: number): Promise<void> {
    const { documents, checkpoints } = this.target
    this.target.problems?.throwIfAny()
    if (await documents.write()) this.hasWritten = true
    checkpoints.verifyEnd()
    if (this.end !== null) this.checkTotals(this.end, lines)
    else if (this.isExport) throw new OperationalError(`line ${lines + 1}: the last line of the export is missing`)
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
    /** The lines of the relationships of the batch. */
    const loaded: number[] = []
    graphs.onRefused = (error) => {
      if (this.target.problems !== null) this.target.problems.hint = DUPLICATE_HINT
      this.reject(lines, loaded[error.at ?? 0]!, duplicateFault(lines, loaded, error, ''))
    }
    const load = graphs.load((batch) => {
      const counts = { nodes: 0, relationships: 0, mergedNodes: 0 }
      for (let at = fresh; at < to; at++) {
        try {
          if (!lines.isBlank(at) && this.applyElement(lines, at, batch, counts)) loaded.push(at)
        } catch (error) {
          this.reject(lines, at, error)
        }
      }
      checkpoints.set(batch, graphs.currentDuplicates, lines, to)
      return counts
    })
    const counted = await load.catch((failure: unknown) => {
      const isDuplicate = failure instanceof DuplicateRelationshipError
      const error = isDuplicate
        ? withLineNumber(lines, loaded[failure.at ?? 0]!, duplicateFault(lines, loaded, failure, `. ${DUPLICATE_HINT}`))
        : failure
      // If a line is wrong, its whole batch is rolled back.
      this.hasWritten ||= !(error instanceof OperationalError)
      throw error
    })
    this.hasWritten = true
    this.count.nodes += counted.nodes
    this.count.relationships += counted.relationships
    this.count.mergedNodes += counted.mergedNodes
  }

  /** Throws the error of a line with its number; a dry run collects it. */
  private reject(lines: LineBatch, at: number, error: unknown): void {
    const numbered = withLineNumber(lines, at, error)
    const { problems } = this.target
    if (problems === null || !(numbered instanceof OperationalError)) throw numbered
    problems.add(lines.firstLine + at, numbered.message)
  }

  /** Returns true for a relationship, which is loaded. */
  private applyElement(lines: LineBatch, at: number, batch: BulkBatch, counts: ElementCounts): boolean {
    const line =
      this.fastParser.parse(lines.bytes, lines.startOf(at), lines.endOf(at), this.isExport) ??
      parseLine(lines.text(at), this.isExport)
    if (line.kind === 'node') {
      this.locationCheck?.check(line.node.location, this.isExport)
      const node = this.types?.node(line.node) ?? line.node
      if (!batch.upsertNode(node, node).created) counts.mergedNodes += 1
      this.noteFaults(lines, at, this.types?.nodeFaults(batch, node))
      counts.nodes += 1
      return false
    }
    if (line.kind === 'relationship') {
      const relationship = this.types?.relationship(line.relationship) ?? line.relationship
      const missing = batch.loadRelationship(relationship)
      if (missing !== null && !this.target.graphs.existsOutsideScratch(relationship[missing])) {
        const { type, externalId } = relationship[missing]
        throw new LineError(`relationship.${missing}`, `the node \`${type}\` \`${externalId}\` does not exist`)
      }
      this.noteFaults(lines, at, this.types?.relationshipFaults(batch, relationship))
      counts.relationships += 1
      return true
    }
    throw line.kind === 'header' ? misplacedHeader() : new LineError('', 'expected inside a graph')
  }

  private noteFaults(lines: LineBatch, at: number, faults: readonly string[] = []): void {
    if (faults.length > 0) this.unfit.add(lines.firstLine + at, faults)
  }

  /** Applies a line that is not an element: a header, a document, a graph or the end. */
  private async applySectionLine(lines: LineBatch, at: number): Promise<void> {
    const { documents, projectId } = this.target
    const line = this.sectionLine(lines, at)
    if (line === null) return
    if (line.kind === 'header') this.isExport = true
    else if (line.kind === 'end') this.end = line.end
    else if (line.kind === 'graph') {
      if (await documents.write()) this.hasWritten = true
      const section = projectId === undefined ? line.section : { ...line.section, project: projectId }
      await this.enterGraph(section, lines.offsetOf(at + 1)).catch((error: unknown) => {
        throw withLineNumber(lines, at, error)
      })
    }
  }

  /** Returns null if the line is at fault and collected. */
  private sectionLine(lines: LineBatch, at: number): ExportLine | null {
    const { documents } = this.target
    try {
      if (this.end !== null) throw new LineError('', 'expected no line after the end')
      const found = parseLine(lines.text(at), this.isExport)
      if (found.kind === 'header' && lines.firstLine + at !== 1) throw misplacedHeader()
      if (found.kind === 'configuration' || found.kind === 'past') documents.add(found.document, found.kind)
      return found
    } catch (error) {
      this.reject(lines, at, error)
      return null
    }
  }

  private async enterGraph(section: GraphSection, from: number): Promise<void> {
    const { dataDir, projectId, documents, graphs, checkpoints } = this.target
    const isThere = hasGraph(dataDir, section)
    if (projectId === undefined) documents.checkProject(section.project, isThere)
    else if (!isThere) throw new LineError('graph.part', `the project has no \`${section.part}\``)
    this.locationCheck = new LocationCheck(await documents.layoutOf(section.project), section.part)
    this.types = await this.typesFor(section)
    this.offset = checkpoints.resumeOffset(await graphs.openGraph(section), graphs.currentDuplicates, from)
  }

  /**
   * An export is restored as it was, with data that its model does not allow. The global graph of a composite project has proxies, which
   * are no whole nodes.
   */
  private async typesFor({ project, part }: GraphSection): Promise<LineTypes | null> {
    const { documents, graphs, projectId } = this.target
    if ((this.isExport && projectId === undefined) || part === 'global') return null
    const model = await documents.modelOf(project)
    return model && new LineTypes(model, (key) => graphs.labelsOutsideScratch(key))
  }

  /** Compares the counts of the last line with what was read: a file truncated between two lines is otherwise well-formed. */
  private checkTotals(end: ExportTotals, lines: number): void {
    const elements = this.count.nodes + this.count.relationships + this.skipped
    if (this.target.documents.count !== end.configuration || elements !== end.nodes + end.relationships)
      throw new OperationalError(
        `line ${lines}: the end counts ${end.nodes} nodes and ${end.relationships} relationships, but ${elements} elements came before it`,
      )
  }
}

// The third byte of `{"node"` and `{"relationship"`. No section line has these bytes there, so most lines need no regex.
const NODE_BYTE = 0x6e
const RELATIONSHIP_BYTE = 0x72
const SECTION_LINE = /^\s*\{\s*"(?:graph|configuration|past|end|format)"/

/** True if the line starts like a header, a document, a graph or the end. Parsing it decides whether it is valid. */
function isSectionLine(lines: LineBatch, at: number): boolean {
  const first = lines.bytes[lines.startOf(at) + 2]
  return first !== NODE_BYTE && first !== RELATIONSHIP_BYTE && SECTION_LINE.test(lines.text(at))
}

function misplacedHeader(): LineError {
  return new LineError('', 'a header is allowed only in the first line')
}

/** `loaded`: the lines of the relationships of the batch. */
function duplicateFault(
  lines: LineBatch,
  loaded: readonly number[],
  { firstAt }: DuplicateRelationshipError,
  hint: string,
): LineError {
  const first = firstAt === null ? 'an earlier line' : `line ${lines.firstLine + loaded[firstAt]!}`
  return new LineError('relationship', `${first} has the same source, type and target, with other properties${hint}`)
}

function rejectOutsideGraph(text: string, isExport: boolean): void {
  parseLine(text, isExport)
  throw new LineError('', 'no graph precedes this line: add a `graph` line, or name the project with `--project`')
}

function atLine<T>(lines: LineBatch, at: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw withLineNumber(lines, at, error)
  }
}

/** Turns an error about the content of a line into an OperationalError with its number; returns any other error unchanged. */
function withLineNumber(lines: LineBatch, at: number, error: unknown): unknown {
  if (error instanceof InvalidElementError)
    return new OperationalError(`line ${lines.firstLine + at}: ${error.message}`)
  if (!(error instanceof LineError)) return error
  const { field, message } = error
  return new OperationalError(`line ${lines.firstLine + at}: ${field === '' ? '' : `${field}: `}${message}`)
}
