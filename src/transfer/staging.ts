// A folder beside the place where something is to appear: it is made there, whole, and renamed at the end. Whoever makes
// it holds a lock in it, so that what a killed process left is told from what another one is at, and goes with the next.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorFault } from '../kernel/errors.ts'
import { type HeldLock, lockExclusively } from '../store/folder-lock.ts'

const LOCK = 'staging.lock'
/** As the system ends the names that it makes. */
const ENDING = /^[A-Za-z0-9]{6}$/

export interface Staging {
  readonly folder: string
  /** Before the folder itself is renamed: leaves nothing of ours in it. */
  strip(): void
  /** Removes what is left of it. */
  end(): void
}

/** Names begin with `prefix`, which belongs to one place alone. */
export function stage(parent: string, prefix: string): Staging {
  for (const name of readdirSync(parent)) {
    if (name.startsWith(prefix) && ENDING.test(name.slice(prefix.length))) removeIfLeft(join(parent, name))
  }
  const folder = mkdtempSync(join(parent, prefix))
  const lock = lockIn(folder, parent)
  return {
    folder,
    strip() {
      lock?.close()
      for (const name of [LOCK, `${LOCK}-journal`]) rmSync(join(folder, name), { force: true })
    },
    end() {
      lock?.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function lockIn(folder: string, parent: string): HeldLock | null {
  try {
    return lockExclusively(join(folder, LOCK), 0)
  } catch (fault) {
    rmSync(folder, { recursive: true, force: true })
    throw new OperatorFault(`the folder ${parent} cannot be used: ${(fault as Error).message}`)
  }
}

function removeIfLeft(folder: string): void {
  // Without it, another process is just about to make it.
  if (!existsSync(join(folder, LOCK))) return
  const lock = lockExclusively(join(folder, LOCK), 0)
  if (lock === null) return
  lock.close()
  rmSync(folder, { recursive: true, force: true })
}
