// An import: lines of an export, or of whoever writes such lines, into a data folder that nobody serves. Batch after batch is
// on disk together with the place in the file that it goes up to, so an import that was cut off goes on where it was.
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { OperationalError } from '../kernel/errors.ts'
import { lockFileNames, lockFolder } from '../store/process/folder-lock.ts'
import { Checkpoints } from './checkpoints.ts'
import { DocumentImporter, requestProxyRepair } from './document-importer.ts'
import { GraphImporter, hasGraph } from './graph-importer.ts'
import { type ImportMark, readImportMarks, writeImportMarks } from './import-markers.ts'
import { LineReader } from './line-batches.ts'
import type { ExportTotals } from './line-format.ts'
import { LineImporter } from './line-importer.ts'
import { createStaging } from './staging.ts'

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

export interface ImportResult extends ExportTotals {
  /** Lines that an earlier run had imported. */
  readonly skipped: number
  readonly lines: number
  /** Whether it went on with one that was cut off. */
  readonly isResumed: boolean
}

interface ImportRun {
  /** As it stands in the mark and in checkpoints. */
  readonly mark: ImportMark
  readonly isResumed: boolean
  /** Where a trial writes; null for the real thing. */
  readonly scratchFolder: string | null
}

/** What a run leaves, however it ends. */
interface ImportOutcome {
  isExport: boolean
  hasWritten: boolean
}

/** Throws OperatorFault; one that names a line for what is wrong in the file. */
export async function importFile(request: ImportRequest): Promise<ImportResult> {
  const { dataDir, from, dryRun, projectId } = request
  if (from !== '-' && !existsSync(from)) throw new OperationalError(`${from} does not exist`)
  if (projectId !== undefined && !hasGraph(dataDir, { project: projectId, part: 'default' }))
    throw new OperationalError(`the folder ${dataDir} holds no project ${projectId}`)
  const own: ImportMark = { file: from === '-' ? from : resolve(from), id: randomUUID() }
  if (!dryRun) return importInto(request, own)
  const scratch = createStaging(tmpdir(), 'verdigraph-import-')
  try {
    return await runImport(request, { mark: own, isResumed: false, scratchFolder: scratch.folder }, newOutcome())
  } finally {
    scratch.remove()
  }
}

async function importInto(request: ImportRequest, fresh: ImportMark): Promise<ImportResult> {
  const { dataDir, projectId } = request
  const absent = missingFolders(resolve(dataDir))
  const lock = lockFolder(dataDir)
  // Looked at while nobody else may use it: what another process has put there must not go with what this one leaves.
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
      // A whole export is all that there is. After other lines, another file that was cut off is as unfinished as it was.
      if (isWhole) writeImportMarks(dataDir, outcome.isExport && projectId === undefined ? [] : others)
      else if (!outcome.hasWritten) writeImportMarks(dataDir, before)
    }
  } finally {
    // Nothing came of it: what was not there before goes, while nobody else may take it.
    if (isNew && !isWhole && !outcome.hasWritten) removeCreated(dataDir, absent)
    lock.release()
  }
}

function newOutcome(): ImportOutcome {
  return { isExport: false, hasWritten: false }
}

/** The folder and those above it, as far as they are missing; the innermost first. */
function missingFolders(folder: string): string[] {
  return existsSync(folder) ? [] : [folder, ...missingFolders(dirname(folder))]
}

function removeCreated(dataDir: string, absent: readonly string[]): void {
  for (const name of readdirSync(dataDir)) rmSync(join(dataDir, name), { recursive: true, force: true })
  try {
    for (const folder of absent) rmdirSync(folder)
  } catch {
    // Somebody else has put something beside it meanwhile.
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
  const graphs = new GraphImporter(dataDir, scratchFolder)
  const target = { dataDir, projectId, documents, graphs, checkpoints: new Checkpoints(mark) }
  const lines = new LineImporter(target)
  const reader = new LineReader(from, request.batchWeight)
  let isWhole = false
  try {
    await lines.start()
    for await (const batch of reader.batches()) {
      await lines.importBatch(batch)
      progress(batch.offsetOf(batch.count), reader.bytes, `line ${reader.lines}`)
    }
    await lines.finish(reader.lines)
    await graphs.clearCheckpoints()
    if (projectId !== undefined && !isTrial) await requestProxyRepair(dataDir, projectId)
    isWhole = true
    const { count, skipped } = lines
    return { configuration: documents.count, ...count, skipped, lines: reader.lines, isResumed }
  } finally {
    reader.close()
    await graphs.closeGraph()
    if (!isWhole) graphs.removeEmpty()
    outcome.isExport = lines.isExport
    outcome.hasWritten = lines.hasWritten
  }
}
