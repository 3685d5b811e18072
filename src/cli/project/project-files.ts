// Writes and removes the files of a project folder: below the folder only, and through no symbolic link.
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { PULL_MARKER } from '../../project/file-kinds.ts'
import type { WrittenFile } from '../../project/write-project.ts'
import { CliError } from '../output/cli-error.ts'

/** The name of a file that is being written: hidden, and with a UUID. */
const TEMPORARY = /^\..+\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Paths relative to the folder, with `/`. */
interface StoredFiles {
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

/**
 * Writes the files that differ, in their order, and removes those of `former` that are not among `files`. Throws CliError, before a file is written,
 * for each path that is not below the folder or leads through a symbolic link or a special file. The folder has PULL_MARKER until all
 * is done, so that a process that is killed leaves a folder that only another call completes.
 */
export function storeFiles(folder: string, files: readonly WrittenFile[], former: readonly string[]): StoredFiles {
  const paths = new Set(files.map(({ path }) => path))
  const removed = former.filter((file) => !paths.has(file))
  const issues = [...new Set([...paths, ...removed, PULL_MARKER].flatMap((path) => pathIssue(folder, path) ?? []))]
  if (issues.length > 0) throw new CliError(issues)
  const changed = files.filter(({ path, text }) => {
    const at = join(folder, path)
    return !existsSync(at) || readFileSync(at, 'utf8') !== text
  })
  if (changed.length + removed.length > 0) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, PULL_MARKER), '')
  }
  for (const { path, text } of changed) replaceFile(join(folder, path), text)
  for (const file of removed) rmSync(join(folder, file))
  for (const file of interruptedFiles(folder, [...paths])) rmSync(file, { force: true })
  rmSync(join(folder, PULL_MARKER), { force: true })
  return { changed: changed.map(({ path }) => path), removed }
}

/** The temporary files of processes that were killed, in the folders of these paths. */
function interruptedFiles(folder: string, paths: readonly string[]): readonly string[] {
  const folders = [...new Set(paths.map((path) => dirname(join(folder, path))))].filter((path) => existsSync(path))
  return folders.flatMap((path) =>
    readdirSync(path)
      .filter((name) => TEMPORARY.test(name))
      .map((name) => join(path, name)),
  )
}

/** Why a path is not written or removed; null: it may be. */
function pathIssue(folder: string, path: string): string | null {
  if (!resolve(folder, path).startsWith(folder + sep)) return `${path}: expected a path below the folder`
  const steps = path.split('/')
  for (let length = 1; length <= steps.length; length++) {
    const part = steps.slice(0, length).join('/')
    const stats = statusOf(join(folder, part))
    if (stats === null) return null
    const isLast = length === steps.length
    if (isLast ? !stats.isFile() : !stats.isDirectory())
      return `${part}: expected a ${isLast ? 'file' : 'folder'}, found ${fileTypeOf(stats)}; nothing is written`
  }
  return null
}

function statusOf(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null
}

function fileTypeOf(stats: Stats): string {
  if (stats.isSymbolicLink()) return 'a symbolic link'
  if (stats.isDirectory()) return 'a folder'
  return stats.isFile() ? 'a file' : 'a special file'
}

/** Readers see the former text or the new one. A link that takes the place of the file is replaced, not followed. */
function replaceFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  // Hidden files are no documents.
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`)
  const mode = statusOf(path)?.mode
  try {
    writeFileSync(temporary, text, { flag: 'wx' })
    if (mode !== undefined) chmodSync(temporary, mode & 0o777)
    renameSync(temporary, path)
  } catch (failure) {
    rmSync(temporary, { force: true })
    throw failure
  }
}
