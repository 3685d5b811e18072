// A folder beside the place where something is to appear: it is made there, whole, and renamed at the end. Whoever makes
// it holds a lock in it, so that what a killed process left is told from what another one is at, and goes with the next.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { STAGING_LOCK_FILE } from '../kernel/data-folder.ts'
import { OperationalError } from '../kernel/errors.ts'
import { type FileLock, lockFile } from '../store/process/file-lock.ts'

/** As the system ends the names that it makes. */
const RANDOM_SUFFIX = /^[A-Za-z0-9]{6}$/

export interface Staging {
  readonly folder: string
  /** Before the folder itself is renamed: leaves nothing of ours in it. */
  removeLock(): void
  /** Removes what is left of it. */
  remove(): void
}

/** Names begin with `prefix`, which belongs to one place alone. */
export function createStaging(parent: string, prefix: string): Staging {
  for (const name of readdirSync(parent)) {
    if (name.startsWith(prefix) && RANDOM_SUFFIX.test(name.slice(prefix.length))) removeIfAbandoned(join(parent, name))
  }
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

function lockStaging(folder: string, parent: string): FileLock | null {
  try {
    return lockFile(join(folder, STAGING_LOCK_FILE), 'exclusive')
  } catch (fault) {
    rmSync(folder, { recursive: true, force: true })
    throw new OperationalError(`the folder ${parent} cannot be used: ${(fault as Error).message}`)
  }
}

function removeIfAbandoned(folder: string): void {
  // Without it, another process is just about to make it.
  if (!existsSync(join(folder, STAGING_LOCK_FILE))) return
  const lock = lockFile(join(folder, STAGING_LOCK_FILE), 'exclusive')
  if (lock === null) return
  lock.release()
  rmSync(folder, { recursive: true, force: true })
}
