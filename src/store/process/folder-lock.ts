// The lock of a data folder: one process serves it, alone or with workers that it starts. Other commands that need the folder
// for themselves acquire the same lock. See docs/decisions/0019-locks-and-processes.md.
//
// Compatibility: the first releases locked the same files with SQLite, whose locks flock does not see. Stop a server of such a
// release before another release is started on its folder.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { SERVER_LOCK_FILE, SERVER_PID_FILE, WORKERS_LOCK_FILE } from '../../kernel/folder/data-folder.ts'
import { fileProblemOf } from '../../kernel/folder/file-issue.ts'
import { type FileLock, lockFile } from './file-lock.ts'

/** Files of the lock. A folder that contains nothing else was never used. */
export const lockFileNames: ReadonlySet<string> = new Set([SERVER_LOCK_FILE, WORKERS_LOCK_FILE, SERVER_PID_FILE])

/** How long a start waits for workers of a killed process. They end by themselves, within a second unless they are busy. */
const ORPHAN_TIMEOUT_MS = 10_000

/** A locked data folder. */
interface FolderLock {
  /** Releases the folder. */
  release(): void
}

/** A data folder locked by the process that serves it. */
export interface ServedFolder extends FolderLock {
  /** The secret that workers of this process pass to `joinFolder`. */
  readonly workerToken: string
  /** The process that had locked the folder before did not release it: it was killed, or it crashed. */
  readonly isAfterCrash: boolean
}

/**
 * Locks the data folder for this process, and creates it if it does not exist. Blocks up to 10 s for workers of a killed
 * process. Throws OperationalError if the folder is not writable or another process serves it.
 */
export function lockFolder(folder: string): ServedFolder {
  let lock: FileLock | null = null
  let isAfterCrash = false
  const workerToken = crypto.randomUUID()
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    lock = lockFile(join(folder, SERVER_LOCK_FILE), 'exclusive')
    if (lock === null) throw new OperationalError(`the folder ${folder} is served by ${describeHolder(folder)}`)
    const workers = lockFile(join(folder, WORKERS_LOCK_FILE), 'exclusive', ORPHAN_TIMEOUT_MS)
    if (workers === null) {
      throw new OperationalError(`the folder ${folder} is still used by workers of a server that was killed`)
    }
    isAfterCrash = existsSync(join(folder, SERVER_PID_FILE))
    writeFileSync(join(folder, SERVER_PID_FILE), `${process.pid}\n${workerToken}\n`, { mode: 0o600 })
    workers.release()
  } catch (error) {
    lock?.release()
    if (error instanceof OperationalError) throw error
    const { code, message } = error as { code?: string; message: string }
    const reason = reasons.get(code) ?? fileProblemOf(error) ?? message
    throw new OperationalError(`the folder ${folder} cannot be used: ${reason}`)
  }
  const held = lock
  return {
    workerToken,
    isAfterCrash,
    release() {
      rmSync(join(folder, SERVER_PID_FILE), { force: true })
      held.release()
    },
  }
}

/** Whether a process serves the data folder, or another command has locked it. Throws OperationalError if the lock cannot be read. */
export function isFolderLocked(folder: string): boolean {
  const unserved = lockFile(join(folder, SERVER_LOCK_FILE), 'shared')
  unserved?.release()
  return unserved === null
}

/**
 * Joins the data folder as a worker of the process that serves it. `workerToken` is that of its ServedFolder. Throws
 * OperationalError if no process serves the folder, or another one.
 */
export function joinFolder(folder: string, workerToken: string): FolderLock {
  // First, so that a process that locks the folder from here on waits until this worker has ended.
  const presence = lockFile(join(folder, WORKERS_LOCK_FILE), 'shared')
  if (presence === null) throw foreignWorkerError(folder)
  try {
    // Shared, so that two workers that check at the same time do not take each other for the server.
    if (!isFolderLocked(folder) || readWorkerToken(folder) !== workerToken) throw foreignWorkerError(folder)
  } catch (error) {
    presence.release()
    throw error
  }
  return presence
}

function foreignWorkerError(folder: string): OperationalError {
  return new OperationalError(`the folder ${folder} is not served by the process that started this worker`)
}

const notAFolder = 'a file with this name exists; name a folder with `--data`'
const noPermission =
  'no permission to write to it; run the program as its owner, or give the folder to this user (`chown -R`)'

const reasons: ReadonlyMap<string | undefined, string> = new Map([
  ['EEXIST', notAFolder],
  ['ENOTDIR', notAFolder],
  ['EACCES', noPermission],
  ['EPERM', noPermission],
  ['EROFS', 'the file system is read-only; mount it writable'],
])

function readHolderLines(folder: string): readonly string[] {
  try {
    return readFileSync(join(folder, SERVER_PID_FILE), 'utf8').split('\n')
  } catch {
    // The holder is just starting or ending.
    return []
  }
}

function describeHolder(folder: string): string {
  const [pid = ''] = readHolderLines(folder)
  return /^\d+$/.test(pid) ? `process ${pid}` : 'another process'
}

function readWorkerToken(folder: string): string | null {
  return readHolderLines(folder)[1] ?? null
}
