// Imports lines of an export, or of the same format from elsewhere, into a data folder that no process serves. Each batch is
// committed together with its end offset in the file, so an interrupted import resumes there.
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, rmdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { lockFileNames, lockFolder } from '../../store/process/folder-lock.ts'
import { type ImportMark, readImportMarks, writeImportMarks } from '../files/import-markers.ts'
import { createStaging } from '../files/staging.ts'
import type { ExportTotals } from '../lines/line-format.ts'
import { Checkpoints } from './checkpoints.ts'
import { DocumentImporter, requestProxyRepair } from './document-importer.ts'
import { GraphImporter, hasGraph } from './graph-importer.ts'
import { BATCH_WEIGHT, LineReader, SORTED_BATCH_WEIGHT } from './line-batches.ts'
import { LineImporter } from './line-importer.ts'
import { LineProblems } from './line-problems.ts'

/** Options of an import. */
export interface ImportRequest {
  readonly dataDir: string
  /** Path of the file; `-` is the standard input. */
  readonly from: string
  /** Set: graphs are imported into this project, and the configuration in the file is ignored. */
  readonly projectId?: string
  readonly dryRun: boolean
  readonly resume: boolean
  /** Two lines with a relationship of the same source, type and target. Default: `refuse`. */
  readonly onDuplicate?: 'refuse' | 'merge' | 'last'
  readonly progress: (done: number, total: number | null, what: string) => void
  readonly batchWeight?: number
}

/** The counts of an import. */
interface ImportResult extends ExportTotals {
  /** Elements that an earlier run imported. */
  readonly skipped: number
  /** Of the counted elements, those that existed, in the graph or in an earlier line. A dry run compares with earlier lines only. */
  readonly merged: { readonly nodes: number; readonly relationships: number }
  readonly lines: number
  /** True if this run resumed an interrupted import. */
  readonly isResumed: boolean
  /** Lines that open types of the model do not allow, and a warning for each fault. */
  readonly unfit: { readonly lines: number; readonly warnings: readonly string[] }
  /** Ids of the documents in the file that are in the configuration now, because of this import or an earlier one. */
  readonly documentIds: ReadonlySet<string>
}

interface ImportRun {
  /** As written to the marker file and to checkpoints. */
  readonly mark: ImportMark
  readonly isResumed: boolean
  /** Folder that a dry run writes to; null: not a dry run. */
  readonly scratchFolder: string | null
}

/** The effects of a run, also of one that failed. */
interface ImportOutcome {
  isExport: boolean
  hasWritten: boolean
}

/**
 * Imports a file into the data folder, all of it or as far as its committed batches.
 * Returns what was imported. Throws an OperationalError that names the line at fault.
 */
export async function importFile(request: ImportRequest): Promise<ImportResult> {
  const { dataDir, from, dryRun, projectId } = request
  if (from !== '-' && !existsSync(from)) throw new OperationalError(`${from} does not exist`)
  if (projectId !== undefined && !hasGraph(dataDir, { project: projectId, part: 'default' }))
    throw new OperationalError(`the folder ${dataDir} has no project ${projectId}`)
  if (from !== '-' && !request.resume) checkDiskSpace(from, dryRun ? tmpdir() : dataDir)
  const own: ImportMark = { file: from === '-' ? from : resolve(from), id: randomUUID() }
  if (!dryRun) return importInto(request, own)
  const scratch = createStaging(tmpdir(), 'verdigraph-import-')
  try {
    return await runImport(request, { mark: own, isResumed: false, scratchFolder: scratch.folder }, newOutcome())
  } finally {
    scratch.remove()
  }
}

/** A graph and the files of its sorted load need about as much space as its lines. Throws OperationalError. */
function checkDiskSpace(from: string, folder: string): void {
  const message = missingSpaceMessage(from, statSync(from).size, freeBytes(resolve(folder)))
  if (message !== null) throw new OperationalError(message)
}

/** Returns what to do about too little free space for the lines of a file, or null. */
export function missingSpaceMessage(file: string, fileBytes: number, free: number): string | null {
  if (free >= fileBytes) return null
  const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`
  return `not enough disk space: importing ${file} needs about ${mebibytes(fileBytes)}, ${mebibytes(free)} are free`
}

/** Of the file system of a folder, which may not exist yet. */
function freeBytes(folder: string): number {
  if (!existsSync(folder)) return freeBytes(dirname(folder))
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

async function importInto(request: ImportRequest, fresh: ImportMark): Promise<ImportResult> {
  const { dataDir, projectId } = request
  const absent = missingFolders(resolve(dataDir))
  const lock = lockFolder(dataDir)
  // Checked under the lock: files that another process wrote must not be removed with those of this run.
  const isNew = readdirSync(dataDir).every((name) => lockFileNames.has(name))
  const outcome = newOutcome()
  let isWhole = false
  try {
    const before = readImportMarks(dataDir)
    const others = before.filter(({ file }) => file !== fresh.file)
    const cut = request.resume ? before.find(({ file }) => file === fresh.file) : undefined
    const isResumed = cut !== undefined
    const own = cut ?? fresh
    writeImportMarks(dataDir, [...others, own])
    try {
      const result = await runImport(request, { mark: own, isResumed, scratchFolder: null }, outcome)
      isWhole = true
      return result
    } finally {
      // A complete export replaces everything. After other lines, imports of other files stay marked as interrupted.
      if (isWhole) writeImportMarks(dataDir, outcome.isExport && projectId === undefined ? [] : others)
      else if (!outcome.hasWritten) writeImportMarks(dataDir, before)
    }
  } finally {
    // The run wrote nothing: folders that it created are removed while the lock is held.
    if (isNew && !isWhole && !outcome.hasWritten) removeCreated(dataDir, absent)
    lock.release()
  }
}

function newOutcome(): ImportOutcome {
  return { isExport: false, hasWritten: false }
}

/** The folder and its parents that do not exist, innermost first. */
function missingFolders(folder: string): string[] {
  return existsSync(folder) ? [] : [folder, ...missingFolders(dirname(folder))]
}

function removeCreated(dataDir: string, absent: readonly string[]): void {
  for (const name of readdirSync(dataDir)) rmSync(join(dataDir, name), { recursive: true, force: true })
  try {
    for (const folder of absent) rmdirSync(folder)
  } catch {
    // Another process has created a file there.
  }
}

async function runImport(
  request: ImportRequest,
  { mark, isResumed, scratchFolder }: ImportRun,
  outcome: ImportOutcome,
): Promise<ImportResult> {
  const { dataDir, from, projectId, progress } = request
  const isTrial = scratchFolder !== null
  const documents = new DocumentImporter(dataDir, projectId === undefined, isTrial)
  const graphs = new GraphImporter(dataDir, scratchFolder, request.onDuplicate ?? 'refuse', (done, total) =>
    progress(done, total, 'lists of relationships'),
  )
  const problems = isTrial ? new LineProblems() : null
  const target = { dataDir, projectId, documents, graphs, checkpoints: new Checkpoints(mark), problems }
  const lines = new LineImporter(target)
  const reader = new LineReader(from, request.batchWeight ?? SORTED_BATCH_WEIGHT)
  let isWhole = false
  try {
    await lines.start()
    for await (const batch of reader.batches()) {
      await lines.importBatch(batch)
      reader.batchWeight = request.batchWeight ?? (graphs.isSorting ? SORTED_BATCH_WEIGHT : BATCH_WEIGHT)
      progress(batch.offsetOf(batch.count), reader.bytes, `line ${reader.lines}`)
    }
    await lines.finish(reader.lines)
    await graphs.clearCheckpoints()
    if (projectId !== undefined && !isTrial) await requestProxyRepair(dataDir, projectId)
    isWhole = true
    const { skipped, count } = lines
    const { nodes, relationships, mergedNodes } = count
    return {
      configuration: documents.count,
      nodes,
      relationships,
      merged: { nodes: mergedNodes, relationships: graphs.merged },
      skipped,
      lines: reader.lines,
      isResumed,
      unfit: { lines: lines.unfit.count, warnings: lines.unfit.warnings() },
      documentIds: documents.storedIds,
    }
  } catch (error) {
    if (error instanceof OperationalError) problems?.throwIfAny(error)
    throw error
  } finally {
    reader.close()
    await graphs.closeGraph()
    if (!isWhole) graphs.removeEmpty()
    outcome.isExport = lines.isExport
    outcome.hasWritten = lines.hasWritten
  }
}
