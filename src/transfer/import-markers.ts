// The mark of an import in the data folder: it stands there while one is under way, and names its file and those of others
// that were cut off. A folder with half an import in it is not served: what is missing in a graph may be what forbids.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { IMPORT_MARKER_FILE } from '../kernel/data-folder.ts'
import { syncPath } from './archive.ts'

export interface ImportMark {
  readonly file: string
  /** Of the import, and of those that went on with it: what checkpoints another one of the same file left is not its own. */
  readonly id: string
}

export function readImportMarks(dataDir: string): ImportMark[] {
  const mark = join(dataDir, IMPORT_MARKER_FILE)
  return existsSync(mark) ? readFileSync(mark, 'utf8').split('\n').filter(Boolean).map(parseMark) : []
}

function parseMark(line: string): ImportMark {
  const [, id = '', file = line] = /^([0-9a-f-]{36}) (.*)$/.exec(line) ?? []
  return { file, id }
}

export function writeImportMarks(dataDir: string, imports: readonly ImportMark[]): void {
  const mark = join(dataDir, IMPORT_MARKER_FILE)
  if (imports.length === 0) rmSync(mark)
  else {
    // In one step: a mark that a crash emptied would name no file.
    writeFileSync(`${mark}.next`, imports.map(({ id, file }) => `${id} ${file}\n`).join(''), { mode: 0o600 })
    syncPath(`${mark}.next`)
    renameSync(`${mark}.next`, mark)
  }
  syncPath(dataDir)
}

/** Why the folder must not be served; null when it may. */
export function interruptedImportMessage(dataDir: string): string | null {
  if (!existsSync(join(dataDir, IMPORT_MARKER_FILE))) return null
  const files = readImportMarks(dataDir).map(({ file }) => sourceName(file))
  return `an import of ${files.join(', ')} into the folder ${dataDir} was cut off: finish it with \`verdigraph import --resume\``
}

export function sourceName(file: string): string {
  return file === '-' ? 'the standard input' : file
}
