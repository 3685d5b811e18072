// An import: lines of an export, or of whoever writes such lines, into a data folder that nobody serves. Batch after batch is
// on disk together with the place in the file that it goes up to, so an import that was cut off goes on where it was.
// A folder with half an import in it is not served: what is missing in a graph may be what forbids.
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { NodeKey } from '../engine/store.ts'
import { systemClock } from '../kernel/clock.ts'
import { OperatorFault } from '../kernel/errors.ts'
import { projectFolderOf } from '../store/catalog.ts'
import { lockFolder } from '../store/folder-lock.ts'
import type { BulkBatch } from '../store/lmdb/bulk-batch.ts'
import { openCollections } from '../store/lmdb/collections.ts'
import { type LmdbEnvironment, openEnvironment } from '../store/lmdb/environment.ts'
import { DATA_FILE } from '../store/lmdb/native.ts'
import { syncPath } from './archive.ts'
import {
  CONFIGURATION,
  DOCUMENTS,
  type Document,
  filesUnfinished,
  keyOf,
  PAST,
  PROJECTS,
  UNFINISHED,
} from './folders.ts'
import { type Batch, LineReader } from './line-batches.ts'
import { LineFault } from './line-fields.ts'
import type { End, Section } from './lines.ts'
import { readPlainLine } from './plain-line.ts'
import { readLine } from './read-line.ts'
import { stage } from './staging.ts'

export interface ImportRequest {
  readonly dataDir: string
  /** `-` is the standard input. */
  readonly from: string
  /** The graphs go into this project, and the configuration in the file stays out. */
  readonly projectId?: string
  readonly dryRun: boolean
  readonly resume: boolean
  readonly progress: (done: number, total: number | null, what: string) => void
  readonly batchWeight?: number
}

export interface ImportResult extends End {
  /** Lines that an earlier run had imported. */
  readonly skipped: number
  readonly lines: number
}

interface Checkpoint {
  /** Of which file: what it begins with and how long it is. */
  readonly file: string
  /** Bytes of it whose lines are all in this graph. */
  readonly offset: number
}

/** Throws OperatorFault; one that names a line for what is wrong in the file. */
export async function importFile(request: ImportRequest): Promise<ImportResult> {
  const { dataDir, from, dryRun, projectId } = request
  if (from !== '-' && !existsSync(from)) throw new OperatorFault(`${from} does not exist`)
  if (projectId !== undefined && !existsSync(graphFolder(dataDir, { project: projectId, part: 'default' })))
    throw new OperatorFault(`the folder ${dataDir} holds no project ${projectId}`)
  if (dryRun) {
    const scratch = stage(tmpdir(), 'verdigraph-import-')
    try {
      return await new Import(request, scratch.folder).run()
    } finally {
      scratch.end()
    }
  }
  const lock = lockFolder(dataDir)
  try {
    const file = from === '-' ? from : resolve(from)
    const before = filesUnfinished(dataDir)
    const others = before.filter((other) => other !== file)
    setUnfinished(dataDir, [...others, file])
    const run = new Import(request, null)
    let isWhole = false
    try {
      const result = await run.run()
      isWhole = true
      return result
    } finally {
      // A whole export is all that there is. After other lines, another file that was cut off is as unfinished as it was.
      if (isWhole) setUnfinished(dataDir, run.isExport ? [] : others)
      else if (!run.hasWritten) setUnfinished(dataDir, before)
    }
  } finally {
    lock.release()
  }
}

function setUnfinished(dataDir: string, files: readonly string[]): void {
  const mark = join(dataDir, UNFINISHED)
  if (files.length === 0) rmSync(mark)
  else {
    // In one step: a mark that a crash emptied would name no file.
    writeFileSync(`${mark}.next`, files.map((file) => `${file}\n`).join(''))
    syncPath(`${mark}.next`)
    renameSync(`${mark}.next`, mark)
  }
  syncPath(dataDir)
}

function graphFolder(dataDir: string, { project, part }: Section): string {
  return join(dataDir, PROJECTS, projectFolderOf(project) ?? 'none', ...part.split('/'))
}

class Import {
  private readonly request: ImportRequest
  /** Where a trial writes; null for the real thing. */
  private readonly scratch: string | null
  private readonly count = { configuration: 0, nodes: 0, relationships: 0 }
  private skipped = 0
  private file = ''
  private graph: OpenGraph | null = null
  private end: End | null = null
  private documents: { collection: typeof DOCUMENTS | typeof PAST; document: Document }[] = []
  /** Of documents, and keys of their past ones. */
  private readonly ids = new Set<string>()
  private hasHeader = false
  /** Whether the folder may be another than before. */
  hasWritten = false

  constructor(request: ImportRequest, scratch: string | null) {
    this.request = request
    this.scratch = scratch
  }

  /** Of a whole folder; known when it has run. */
  get isExport(): boolean {
    return this.hasHeader && this.request.projectId === undefined
  }

  async run(): Promise<ImportResult> {
    const reader = new LineReader(this.request.from, this.request.batchWeight)
    try {
      this.file = await reader.identity()
      if (this.request.projectId !== undefined)
        await this.enter({ project: this.request.projectId, part: 'default' }, false)
      for await (const batch of reader.batches()) {
        await this.take(batch)
        this.request.progress(batch.offsetOf(batch.count), reader.bytes, `line ${reader.lines}`)
      }
      await this.writeDocuments()
      if (this.end !== null) this.compare(this.end, reader.lines)
      else if (this.hasHeader) throw new OperatorFault(`line ${reader.lines + 1}: the end of the export is missing`)
      await this.graph?.close()
      this.graph = null
      await this.leaveProxies()
      return { ...this.count, skipped: this.skipped, lines: reader.lines }
    } finally {
      reader.close()
      await this.graph?.close()
    }
  }

  /** Lines in their order; those for one graph go into one transaction. */
  private async take(lines: Batch): Promise<void> {
    const { count } = lines
    for (let at = 0; at < count; ) {
      let stop = at
      while (stop < count && !isTurn(lines, stop)) stop += 1
      if (stop > at) await this.load(lines, at, stop)
      if (stop < count) await this.turn(lines, stop)
      at = stop + 1
    }
  }

  private async load(lines: Batch, from: number, to: number): Promise<void> {
    const { graph } = this
    let fresh = from
    for (; fresh < to && (graph === null || lines.offsetOf(fresh) < graph.offset); fresh++) {
      if (lines.isBlank(fresh)) continue
      if (graph === null) read(lines, fresh, () => refuseHomeless(lines.text(fresh), this.hasHeader))
      this.skipped += 1
    }
    if (graph === null || fresh === to) return
    const load = graph.environment.load((batch) => {
      const counts = { nodes: 0, relationships: 0 }
      let at = fresh
      try {
        for (; at < to; at++) if (!lines.isBlank(at)) this.apply(lines, at, batch, counts)
      } catch (fault) {
        throw told(lines, at, fault)
      }
      const offset = lines.offsetOf(to)
      batch.setCheckpoint(JSON.stringify({ file: this.file, offset } satisfies Checkpoint))
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

  private apply(lines: Batch, at: number, batch: BulkBatch, counts: { nodes: number; relationships: number }): void {
    const line =
      readPlainLine(lines.bytes, lines.start(at), lines.end(at), this.hasHeader) ??
      readLine(lines.text(at), this.hasHeader)
    if (line.kind === 'node') {
      batch.upsertNode(line.node, line.node)
      counts.nodes += 1
    } else if (line.kind === 'relationship') {
      const missing = batch.loadRelationship(line.relationship)
      if (missing !== null && !this.isKnown(line.relationship[missing])) {
        const { type, externalId } = line.relationship[missing]
        throw new LineFault(`relationship.${missing}`, `the node \`${type}\` \`${externalId}\` does not exist`)
      }
      counts.relationships += 1
    } else if (line.kind === 'header') throw new LineFault('', 'a header stands in the first line alone')
    else throw new LineFault('', 'not within a graph')
  }

  /** In a trial, nodes that the graph has already are not in the scratch graph. */
  private isKnown(key: NodeKey): boolean {
    const existing = this.graph?.existing ?? null
    if (existing === null) return false
    const snapshot = existing.snapshot()
    try {
      const label = snapshot.symbol('label', key.type)
      return label !== 0 && snapshot.findNode(label, key.externalId) !== 0
    } finally {
      snapshot.close()
    }
  }

  /** A line that is no element. */
  private async turn(lines: Batch, at: number): Promise<void> {
    const line = read(lines, at, () => {
      if (this.end !== null) throw new LineFault('', 'nothing follows the end')
      const found = readLine(lines.text(at), this.hasHeader)
      if (found.kind === 'header' && lines.line + at !== 1)
        throw new LineFault('', 'a header stands in the first line alone')
      return found
    })
    const { projectId } = this.request
    if (line.kind === 'header') this.hasHeader = true
    else if (line.kind === 'graph') {
      await this.writeDocuments()
      const section = projectId === undefined ? line.section : { ...line.section, project: projectId }
      await this.enter(section, projectId === undefined).catch((fault: unknown) => {
        throw told(lines, at, fault)
      })
    } else if (line.kind === 'configuration' || line.kind === 'past') {
      read(lines, at, () => this.document(line.document, line.kind === 'past' ? PAST : DOCUMENTS))
    } else if (line.kind === 'end') this.end = line.end
  }

  private document(document: Document, collection: typeof DOCUMENTS | typeof PAST): void {
    const key = keyOf(document, collection)
    const member = collection === PAST ? 'past' : 'configuration'
    if (this.ids.has(key)) throw new LineFault(`${member}.id`, 'is there twice')
    if (collection === PAST && !this.ids.has(document.id))
      throw new LineFault('past.id', 'no document of that id stands before it')
    this.ids.add(key)
    this.count.configuration += 1
    if (this.request.projectId === undefined) this.documents.push({ collection, document })
  }

  /** Together, before the first graph: a folder has all of a configuration or nothing. */
  private async writeDocuments(): Promise<void> {
    const { dataDir } = this.request
    if (this.documents.length === 0) return
    const folder = join(dataDir, CONFIGURATION)
    const isThere = existsSync(join(folder, DATA_FILE))
    if (this.scratch !== null && !isThere) {
      this.documents = []
      return
    }
    const collections = openCollections(folder, this.scratch === null ? {} : { readOnly: true })
    try {
      const before = new Map(collections.all(DOCUMENTS))
      const past = new Map(collections.all(PAST))
      const documents = this.documents.map(({ collection, document }) =>
        collection === PAST ? { collection, document } : { collection, document: provisionedAgain(document) },
      )
      const isSame = documents.every(({ collection, document }) =>
        same((collection === PAST ? past : before).get(keyOf(document, collection)), document),
      )
      if (before.size > 0 && !isSame)
        throw new OperatorFault(
          `the folder ${dataDir} has a configuration of its own: \`--project ID\` imports the graphs into a project of it`,
        )
      this.hasWritten ||= before.size === 0
      if (before.size === 0 && this.scratch === null)
        await collections.transact((changes) => {
          for (const { collection, document } of documents)
            changes.put(collection, keyOf(document, collection), document)
        })
    } finally {
      await collections.close()
    }
    this.documents = []
  }

  /** Into a part of a composite graph without the others: the next start makes what the global graph lacks of it. */
  private async leaveProxies(): Promise<void> {
    const { dataDir, projectId } = this.request
    if (projectId === undefined || this.scratch !== null) return
    if (!existsSync(join(graphFolder(dataDir, { project: projectId, part: 'global' }), DATA_FILE))) return
    const collections = openCollections(join(dataDir, CONFIGURATION), {})
    try {
      await collections.transact((changes) => {
        const project = changes.get(DOCUMENTS, projectId) as Document | null
        if (project !== null) changes.put(DOCUMENTS, projectId, pending(project))
      })
    } finally {
      await collections.close()
    }
  }

  private async enter(section: Section, mayMake: boolean): Promise<void> {
    await this.graph?.close()
    this.graph = null
    const folder = graphFolder(this.request.dataDir, section)
    const isThere = existsSync(join(folder, DATA_FILE))
    if (!isThere && !mayMake) throw new LineFault('graph.part', `the project has no \`${section.part}\``)
    if (mayMake && this.ids.size > 0 && !this.ids.has(section.project))
      throw new LineFault('graph.project', 'the configuration in the file has no such project')
    if (mayMake && this.ids.size === 0 && !isThere)
      throw new LineFault('graph.project', 'the folder has no such project, and the file no configuration')
    this.graph = await this.openGraph(folder, isThere)
  }

  private async openGraph(folder: string, isThere: boolean): Promise<OpenGraph> {
    const clock = systemClock
    if (this.scratch !== null) {
      const trial = mkdtempSync(join(this.scratch, 'graph-'))
      const environment = openEnvironment(trial, { clock, sync: false })
      const existing = isThere ? openEnvironment(folder, { clock, readOnly: true }) : null
      return new OpenGraph(environment, existing, 0)
    }
    const environment = openEnvironment(folder, { clock })
    return new OpenGraph(environment, null, this.request.resume ? offsetIn(environment, this.file) : 0)
  }

  /** What was cut off at the end of a line looks whole but for this. */
  private compare(end: End, lines: number): void {
    const { configuration, nodes, relationships } = this.count
    const isWhole = configuration === end.configuration
    const elements = nodes + relationships + this.skipped
    if (!isWhole || elements !== end.nodes + end.relationships)
      throw new OperatorFault(
        `line ${lines}: the end speaks of ${end.nodes} nodes and ${end.relationships} relationships, and ${elements} items came before it`,
      )
  }
}

class OpenGraph {
  readonly environment: LmdbEnvironment
  readonly existing: LmdbEnvironment | null
  readonly offset: number

  constructor(environment: LmdbEnvironment, existing: LmdbEnvironment | null, offset: number) {
    this.environment = environment
    this.existing = existing
    this.offset = offset
  }

  async close(): Promise<void> {
    await this.environment.close()
    await this.existing?.close()
  }
}

function offsetIn(environment: LmdbEnvironment, file: string): number {
  const text = environment.checkpoint()
  if (text === null) return 0
  const checkpoint = JSON.parse(text) as Checkpoint
  return checkpoint.file === file ? checkpoint.offset : 0
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

function refuseHomeless(text: string, isExport: boolean): void {
  readLine(text, isExport)
  throw new LineFault('', 'no graph was named before it: name one in a line, or the project by `--project`')
}

function read<T>(lines: Batch, at: number, work: () => T): T {
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

interface ProjectDocument extends Document {
  readonly fields?: { readonly db_connection?: { readonly alias_mapping?: string } }
}

/** The parts of a composite graph know each other by more than their nodes: the next start sees to that. */
function provisionedAgain(document: Document): Document {
  const { fields } = document as ProjectDocument
  return document.kind === 'projects' && fields?.db_connection?.alias_mapping !== undefined
    ? pending(document)
    : document
}

/** A start provisions it, which may be repeated. */
function pending(project: Document): Document {
  return { ...project, fields: { ...(project as ProjectDocument).fields, ikg_status: 'PENDING' } } as Document
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
