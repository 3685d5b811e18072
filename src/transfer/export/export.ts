// Exports configuration and graphs as lines of JSON: nodes of a graph before its relationships, each in the order of creation.
// Reads from a consistent private copy, so a folder can be exported while it is served.
import { createWriteStream, existsSync, renameSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { projectsKind } from '../../config/kind.ts'
import type { NodeId, NodeKey, SymbolId } from '../../engine/store.ts'
import { OperationalError } from '../../kernel/errors.ts'
import {
  CONFIGURATION_FOLDER,
  CURRENT_DOCUMENTS,
  DATA_FILE,
  EVENTS_FOLDER,
  PAST_DOCUMENTS,
  PROJECTS_FOLDER,
} from '../../kernel/folder/data-folder.ts'
import { withPath } from '../../kernel/folder/file-issue.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import { openCollections } from '../../store/documents/collections.ts'
import { externalIdOf, readNode, readRelationship, type StoredProperties, typeOf } from '../../store/format/records.ts'
import { type LmdbEnvironment, openEnvironment } from '../../store/graph/environment.ts'
import { pinTogether } from '../../store/lmdb/consistent-copy.ts'
import type { Database } from '../../store/lmdb/database.ts'
import type { Databases } from '../../store/lmdb/databases.ts'
import type { ReadOptions } from '../../store/lmdb/raw-database.ts'
import { projectFolderNameOrNull } from '../../store/tenancy/project-folders.ts'
import {
  auditIndexFolder,
  belongsToProject,
  databaseFolders,
  type TransferredDocument,
} from '../files/database-folders.ts'
import { createStaging } from '../files/staging.ts'
import { syncPath } from '../files/sync-path.ts'
import {
  configurationLine,
  type ExportedProperty,
  type ExportTotals,
  endLine,
  graphLine,
  headerLine,
  nodeLine,
  pastLine,
  relationshipLine,
} from '../lines/line-format.ts'
import { type ExportedLogs, exportAuditLogs } from './export-audit.ts'
import { LineWriter } from './line-writer.ts'

/** Elements read at a time, before the event loop gets control. */
const PAGE_ITEMS = 2000

/** Options of an export. */
interface ExportRequest {
  readonly dataDir: string
  /** Path of the file; `-` is the standard output. */
  readonly out: string
  readonly projectId?: string
  /** Path of the folder for the audit logs, which must not exist; absent: they are left out. */
  readonly auditLogs?: string
  readonly progress: (done: number, total: number, what: string) => void
}

/** The counts of an export. */
export interface ExportResult extends ExportTotals {
  /** Number of secrets in the configuration. They stay encrypted with the master key, which is not exported. */
  readonly sealed: number
  /** Null: the folder has no audit logs, or the caller left them out. */
  readonly audit: ExportedLogs | null
}

/** Exports a data folder to `out`; a file appears only when it is complete. Throws OperationalError. */
export async function exportFolder(request: ExportRequest): Promise<ExportResult> {
  const { dataDir, out, projectId, auditLogs } = request
  const toFile = out !== '-'
  for (const path of [...(toFile ? [out] : []), ...(auditLogs === undefined ? [] : [auditLogs])])
    if (existsSync(path)) throw new OperationalError(`${path} already exists`)
  // Events are of changes that an import does not repeat.
  const left = [join(dataDir, EVENTS_FOLDER), ...(auditLogs === undefined ? [auditIndexFolder(dataDir)] : [])]
  const folders = databaseFolders(dataDir, projectId).filter((folder) => !left.includes(folder))
  const parent = toFile ? dirname(resolve(out)) : tmpdir()
  if (!existsSync(parent)) throw new OperationalError(`the folder ${parent} does not exist`)
  const temporary = createStaging(parent, `.${toFile ? basename(out) : 'verdigraph-export'}-`)
  const staging = temporary.folder
  try {
    const copies = await copyDatabases(folders, staging, request.progress)
    const partial = join(staging, 'export')
    const lines = toFile
      ? new LineWriter(createWriteStream(partial, { flags: 'wx', mode: 0o600 }), out)
      : new LineWriter(process.stdout, 'the standard output')
    const counts = await new Exporter(request, copies, lines).run()
    await lines.end(toFile)
    const audit = auditLogs === undefined ? null : await exportLogs(request, auditLogs, copies)
    if (toFile) {
      syncPath(partial)
      renameSync(partial, out)
      syncPath(parent)
    }
    return { ...counts, audit }
  } catch (failure) {
    throw withPath(failure, toFile ? out : parent)
  } finally {
    temporary.remove()
  }
}

/** Writes the audit logs to the folder `out`, which appears only when it is complete. */
async function exportLogs(
  { dataDir, projectId }: ExportRequest,
  out: string,
  copies: ReadonlyMap<string, string>,
): Promise<ExportedLogs | null> {
  const index = copies.get(auditIndexFolder(dataDir))
  if (index === undefined) return null
  const parent = dirname(resolve(out))
  if (!existsSync(parent)) throw new OperationalError(`the folder ${parent} does not exist`)
  const temporary = createStaging(parent, `.${basename(out)}-`)
  try {
    const partial = join(temporary.folder, 'logs')
    const exported = await exportAuditLogs(dataDir, index, projectId, partial)
    if (exported === null) return null
    renameSync(partial, out)
    syncPath(parent)
    return exported
  } finally {
    temporary.remove()
  }
}

/** Copies each database into the staging folder; returns original folder → copy. */
function copyDatabases(
  folders: readonly string[],
  staging: string,
  progress: ExportRequest['progress'],
): Promise<Map<string, string>> {
  const total = folders.reduce((sum, folder) => sum + statSync(join(folder, DATA_FILE)).size, 0)
  let done = 0
  return pinTogether(folders, async (held) => {
    const copies = new Map<string, string>()
    for (const [at, each] of held.entries()) {
      const copy = join(staging, `${at}`)
      await each.copyTo(copy, (bytes) => {
        done += bytes
        progress(done, total, 'copying')
      })
      copies.set(each.folder, copy)
    }
    return copies
  })
}

class Exporter {
  private readonly request: ExportRequest
  private readonly copies: ReadonlyMap<string, string>
  private readonly lines: LineWriter
  private readonly count = { configuration: 0, nodes: 0, relationships: 0, sealed: 0 }

  constructor(request: ExportRequest, copies: ReadonlyMap<string, string>, lines: LineWriter) {
    this.request = request
    this.copies = copies
    this.lines = lines
  }

  async run(): Promise<Omit<ExportResult, 'audit'>> {
    const { lines, count } = this
    await lines.write(headerLine)
    const projects = await this.configuration()
    for (const project of projects) {
      const root = join(this.request.dataDir, PROJECTS_FOLDER, projectFolderNameOrNull(project) as string)
      for (const [folder, copy] of this.copies) {
        const part = relative(root, folder).split(sep).join('/')
        if (part.startsWith('..')) continue
        await lines.write(graphLine({ project, part }))
        const environment = openEnvironment(copy, { clock: systemClock, readOnly: true })
        try {
          await this.graph(environment)
        } finally {
          await environment.close()
        }
      }
    }
    const { sealed, ...end } = count
    await lines.write(endLine(end))
    return { ...end, sealed }
  }

  /** Writes all documents; returns the ids of the projects among them. */
  private async configuration(): Promise<string[]> {
    const { dataDir, projectId } = this.request
    const copy = this.copies.get(join(dataDir, CONFIGURATION_FOLDER)) as string
    const collections = openCollections(copy, { readOnly: true })
    try {
      const documentsIn = (collection: string): TransferredDocument[] =>
        collections
          .all(collection)
          .map(([, value]) => value as TransferredDocument)
          .filter((document) => projectId === undefined || belongsToProject(document, projectId))
      const step = async (document: TransferredDocument, line: string): Promise<void> => {
        this.count.configuration += 1
        this.count.sealed += countSealedSecrets(document)
        await this.lines.write(line)
      }
      const documents = documentsIn(CURRENT_DOCUMENTS)
      for (const document of documents) await step(document, configurationLine(document))
      for (const document of documentsIn(PAST_DOCUMENTS)) await step(document, pastLine(document))
      return documents.filter(({ kind }) => kind === projectsKind).map(({ id }) => id)
    } finally {
      await collections.close()
    }
  }

  private async graph(environment: LmdbEnvironment): Promise<void> {
    const snapshot = environment.snapshot()
    const total = snapshot.nodeCount(null) + snapshot.relationshipCount(null)
    snapshot.close()
    // The symbol table is complete once a snapshot was taken.
    const names = environment.symbols
    const key = (id: NodeId, databases: Databases, reading: ReadOptions): NodeKey => {
      const valueView = databases.nodes.getRequired(id, reading)
      return { type: names.name('label', typeOf(valueView)), externalId: externalIdOf(valueView) }
    }
    let done = 0
    const step = async (text: string, items: number, what: string): Promise<void> => {
      done += items
      this.request.progress(done, total, what)
      await this.lines.write(text)
    }
    for (let from = 1; from > 0; ) {
      const read = environment.inspect((databases, reading) =>
        readPage(databases.nodes, from, reading, (id, valueView) => {
          const node = readNode(valueView)
          if (node.type === 0) throw new OperationalError(`node ${id} has no key and cannot be exported`)
          const labels = node.labels.map((label) => names.name('label', label))
          const type = names.name('label', node.type)
          return nodeLine({ ...node, type, labels, properties: exportedProperties(node.properties, names) })
        }),
      )
      this.count.nodes += read.items
      from = read.next
      await step(read.text, read.items, 'nodes')
    }
    for (let from = 1; from > 0; ) {
      const read = environment.inspect((databases, reading) => {
        const found: { id: number; record: ReturnType<typeof readRelationship> }[] = []
        const page = readPage(databases.relationships, from, reading, (id, valueView) => {
          found.push({ id, record: readRelationship(valueView) })
          return ''
        })
        const text = found.map(({ record }) =>
          relationshipLine({
            ...record,
            source: key(record.source, databases, reading),
            target: key(record.target, databases, reading),
            type: names.name('type', record.type),
            properties: exportedProperties(record.properties, names),
          }),
        )
        return { ...page, text: text.join('') }
      })
      this.count.relationships += read.items
      from = read.next
      await step(read.text, read.items, 'relationships')
    }
  }
}

interface SymbolNames {
  name(kind: 'label' | 'type' | 'property', id: SymbolId): string
}

function exportedProperties(properties: StoredProperties, names: SymbolNames): ExportedProperty[] {
  return [...properties].map(([symbol, property]) => ({ ...property, name: names.name('property', symbol) }))
}

/** Reads one page of a database with numeric ids. `next` is the id to continue with; 0: no more. */
function readPage(
  database: Database<number>,
  from: number,
  reading: ReadOptions,
  line: (id: number, valueView: Parameters<typeof readNode>[0]) => string,
): { text: string; items: number; next: number } {
  let text = ''
  let items = 0
  let last = 0
  for (const { key, valueView } of database.entries({ start: from, end: undefined, limit: PAGE_ITEMS, ...reading })) {
    text += line(key, valueView)
    items += 1
    last = key
  }
  return { text, items, next: items < PAGE_ITEMS ? 0 : last + 1 }
}

/** The form in which the secret box writes encrypted values. */
const SEALED_SECRET = /"sb1\.[\w-]{11}\.[\w-]+\.[\w-]+"/g

function countSealedSecrets(document: unknown): number {
  return JSON.stringify(document).match(SEALED_SECRET)?.length ?? 0
}
