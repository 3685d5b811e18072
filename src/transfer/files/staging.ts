// Staging folders: output is written to a folder next to its destination and renamed at the end. The writer holds a lock in
// the folder, so the next run can distinguish folders of running processes from those of killed ones, and removes the latter.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { STAGING_LOCK_FILE } from '../../kernel/folder/data-folder.ts'
import { fileProblemOf } from '../../kernel/folder/file-issue.ts'
import { type FileLock, lockFile } from '../../store/process/file-lock.ts'

/** The random suffix that `mkdtemp` appends. */
const RANDOM_SUFFIX = /^[A-Za-z0-9]{6}$/

/** A locked staging folder. */
interface Staging {
  readonly folder: string
  /** Removes the lock file from the folder. Call it before the folder itself is renamed. */
  removeLock(): void
  /** Releases the lock and removes the folder if it still exists. */
  remove(): void
}

/**
 * Creates a locked staging folder in `parent` and removes abandoned ones with the same prefix.
 * `prefix` must be unique to the destination. Throws OperationalError if the folder cannot be created.
 */
export function createStaging(parent: string, prefix: string): Staging {
  removeAbandoned(parent, prefix)
  const folder = mkdtempSync(join(parent, prefix))
  const lock = lockStaging(folder, parent)
  return {
    folder,
    removeLock() {
      lock?.release()
      for (const name of [STAGING_LOCK_FILE, `${STAGING_LOCK_FILE}-journal`])
        rmSync(join(folder, name), { force: true })
    },
    remove() {
      lock?.release()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Removes the staging folders in `parent` whose writer does not run any more. Returns how many. */
export function removeAbandoned(parent: string, prefix: string): number {
  return readdirSync(parent).filter(
    (name) => name.startsWith(prefix) && RANDOM_SUFFIX.test(name.slice(prefix.length)) && isRemoved(join(parent, name)),
  ).length
}

function lockStaging(folder: string, parent: string): FileLock | null {
  try {
    return lockFile(join(folder, STAGING_LOCK_FILE), 'exclusive')
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw new OperationalError(
      fileProblemOf(error) ?? `the folder ${parent} cannot be used: ${(error as Error).message}`,
    )
  }
}

function isRemoved(folder: string): boolean {
  // No lock file: another process has just created the folder and is about to lock it.
  if (!existsSync(join(folder, STAGING_LOCK_FILE))) return false
  const lock = lockFile(join(folder, STAGING_LOCK_FILE), 'exclusive')
  if (lock === null) return false
  lock.release()
  rmSync(folder, { recursive: true, force: true })
  return true
}
