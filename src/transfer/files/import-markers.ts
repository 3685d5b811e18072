// The marker file of running and interrupted imports in a data folder. A folder with a marker is not served, because the
// missing part of a graph may be what makes a policy deny.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasBoltScheme } from '../../kernel/bolt-address.ts'
import { IMPORT_MARKER_FILE } from '../../kernel/folder/data-folder.ts'
import { syncPath } from './sync-path.ts'

/** A running or interrupted import. */
export interface ImportMark {
  readonly file: string
  /** Identifies the import across resumes. Checkpoints of another import of the same file have another id. */
  readonly id: string
}

/** Reads the marker file; empty if none exists. */
export function readImportMarks(dataDir: string): ImportMark[] {
  const mark = join(dataDir, IMPORT_MARKER_FILE)
  return existsSync(mark) ? readFileSync(mark, 'utf8').split('\n').filter(Boolean).map(parseMark) : []
}

function parseMark(line: string): ImportMark {
  const [, id = '', file = line] = /^([0-9a-f-]{36}) (.*)$/.exec(line) ?? []
  return { file, id }
}

/** Replaces the marker file, or removes it if there are no imports. */
export function writeImportMarks(dataDir: string, imports: readonly ImportMark[]): void {
  const mark = join(dataDir, IMPORT_MARKER_FILE)
  if (imports.length === 0) rmSync(mark)
  else {
    // Written to a second file and renamed, so that a crash cannot leave an empty marker.
    writeFileSync(`${mark}.next`, imports.map(({ id, file }) => `${id} ${file}\n`).join(''), { mode: 0o600 })
    syncPath(`${mark}.next`)
    renameSync(`${mark}.next`, mark)
  }
  syncPath(dataDir)
}

/** Returns the reason why the folder must not be served, or null if no import was interrupted. */
export function interruptedImportMessage(dataDir: string): string | null {
  if (!existsSync(join(dataDir, IMPORT_MARKER_FILE))) return null
  const marks = readImportMarks(dataDir)
  const copied = marks.find(({ file }) => hasBoltScheme(file))
  if (copied !== undefined)
    return `a copy of ${copied.file} into the folder ${dataDir} was interrupted: finish it with \`verdigraph copy\``
  const files = marks.map(({ file }) => sourceName(file))
  return `an import of ${files.join(', ')} into the folder ${dataDir} was interrupted: finish it with \`verdigraph import --resume\``
}

/** The source of an import for messages. */
export function sourceName(file: string): string {
  return file === '-' ? 'the standard input' : file
}
