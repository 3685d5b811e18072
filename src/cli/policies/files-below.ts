// Finds files by their names below folders, without hidden folders and installed packages.
import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileIssueOf } from '../../kernel/folder/file-issue.ts'
import { UsageError } from '../output/cli-error.ts'

/** The files below a folder whose names match, in the order of their names. Throws UsageError for a folder that cannot be read. */
export function filesBelow(folder: string, name: RegExp): readonly string[] {
  return entriesOf(folder)
    .filter((entry) => isVisible(entry.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return filesBelow(path, name)
      return name.test(entry.name) ? [path] : []
    })
}

/** A folder and the folders below it. Throws UsageError for a folder that cannot be read. */
export function foldersBelow(folder: string): readonly string[] {
  const inner = entriesOf(folder).filter((entry) => entry.isDirectory() && isVisible(entry.name))
  return [folder, ...inner.flatMap(({ name }) => foldersBelow(join(folder, name)))]
}

/** Reads a path. Throws UsageError, which names the path, if the file system refuses to. */
export function reading<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (failure) {
    const issue = fileIssueOf(failure)
    throw issue === null ? failure : new UsageError([`${path}: ${issue}`])
  }
}

function entriesOf(folder: string): readonly Dirent[] {
  return reading(folder, () => readdirSync(folder, { withFileTypes: true }))
}

function isVisible(name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules'
}
