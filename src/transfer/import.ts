// An import: lines of an export, or of whoever writes such lines, into a data folder that nobody serves. Batch after batch is
// on disk together with the place in the file that it goes up to, so an import that was cut off goes on where it was.
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { OperatorFault } from '../kernel/errors.ts'
import { lockFiles, lockFolder } from '../store/folder-lock.ts'
import { Checkpoints } from './checkpoints.ts'
import { ImportDocuments, leaveProxies } from './import-documents.ts'
import { hasGraph, ImportGraphs } from './import-graphs.ts'
import { ImportLines } from './import-lines.ts'
import { LineReader } from './line-batches.ts'
import type { End } from './lines.ts'
import { stage } from './staging.ts'
import { importsUnfinished, setUnfinished, type Unfinished } from './unfinished.ts'

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
  /** Whether it went on with one that was cut off. */
  readonly isResumed: boolean
}

interface Run {
  /** As it stands in the mark and in checkpoints. */
  readonly own: Unfinished
  readonly isResumed: boolean
  /** Where a trial writes; null for the real thing. */
  readonly scratch: string | null
}

/** What a run leaves, however it ends. */
interface Outcome {
  isExport: boolean
  hasWritten: boolean
}

/** Throws OperatorFault; one that names a line for what is wrong in the file. */
export async function importFile(request: ImportRequest): Promise<ImportResult> {
  const { dataDir, from, dryRun, projectId } = request
  if (from !== '-' && !existsSync(from)) throw new OperatorFault(`${from} does not exist`)
  if (projectId !== undefined && !hasGraph(dataDir, { project: projectId, part: 'default' }))
    throw new OperatorFault(`the folder ${dataDir} holds no project ${projectId}`)
  const own: Unfinished = { file: from === '-' ? from : resolve(from), id: randomUUID() }
  if (!dryRun) return importInto(request, own)
  const scratch = stage(tmpdir(), 'verdigraph-import-')
  try {
    return await run(request, { own, isResumed: false, scratch: scratch.folder }, newOutcome())
  } finally {
    scratch.end()
  }
}

async function importInto(request: ImportRequest, fresh: Unfinished): Promise<ImportResult> {
  const { dataDir, projectId } = request
  const absent = absentFolders(resolve(dataDir))
  const lock = lockFolder(dataDir)
  // Looked at while nobody else may use it: what another process has put there must not go with what this one leaves.
  const isNew = readdirSync(dataDir).every((name) => lockFiles.has(name))
  const outcome = newOutcome()
  let isWhole = false
  try {
    const before = importsUnfinished(dataDir)
    const others = before.filter(({ file }) => file !== fresh.file)
    const cut = request.resume ? before.find(({ file }) => file === fresh.file) : undefined
    const isResumed = cut !== undefined
    const own = cut ?? fresh
    setUnfinished(dataDir, [...others, own])
    try {
      const result = await run(request, { own, isResumed, scratch: null }, outcome)
      isWhole = true
      return result
    } finally {
      // A whole export is all that there is. After other lines, another file that was cut off is as unfinished as it was.
      if (isWhole) setUnfinished(dataDir, outcome.isExport && projectId === undefined ? [] : others)
      else if (!outcome.hasWritten) setUnfinished(dataDir, before)
    }
  } finally {
    // Nothing came of it: what was not there before goes, while nobody else may take it.
    if (isNew && !isWhole && !outcome.hasWritten) removeNew(dataDir, absent)
    lock.release()
  }
}

function newOutcome(): Outcome {
  return { isExport: false, hasWritten: false }
}

/** The folder and those above it, as far as they are missing; the innermost first. */
function absentFolders(folder: string): string[] {
  return existsSync(folder) ? [] : [folder, ...absentFolders(dirname(folder))]
}

function removeNew(dataDir: string, absent: readonly string[]): void {
  for (const name of readdirSync(dataDir)) rmSync(join(dataDir, name), { recursive: true, force: true })
  try {
    for (const folder of absent) rmdirSync(folder)
  } catch {
    // Somebody else has put something beside it meanwhile.
  }
}

async function run(request: ImportRequest, { own, isResumed, scratch }: Run, outcome: Outcome): Promise<ImportResult> {
  const { dataDir, from, projectId, progress } = request
  const isTrial = scratch !== null
  const documents = new ImportDocuments(dataDir, projectId === undefined, isTrial)
  const graphs = new ImportGraphs(dataDir, scratch)
  const target = { dataDir, projectId, documents, graphs, checkpoints: new Checkpoints(own) }
  const lines = new ImportLines(target)
  const reader = new LineReader(from, request.batchWeight)
  let isWhole = false
  try {
    await lines.begin()
    for await (const batch of reader.batches()) {
      await lines.take(batch)
      progress(batch.offsetOf(batch.count), reader.bytes, `line ${reader.lines}`)
    }
    await lines.finish(reader.lines)
    await graphs.forgetCheckpoints()
    if (projectId !== undefined && !isTrial) await leaveProxies(dataDir, projectId)
    isWhole = true
    const { count, skipped } = lines
    return { configuration: documents.count, ...count, skipped, lines: reader.lines, isResumed }
  } finally {
    reader.close()
    await graphs.leave()
    if (!isWhole) graphs.removeEmpty()
    outcome.isExport = lines.isExport
    outcome.hasWritten = lines.hasWritten
  }
}
