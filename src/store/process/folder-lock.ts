// Who may serve a data folder: one process alone, or one and the workers that it starts. The locks are SQLite's own on
// empty files: the system drops them with their process, however that ends, and no other program that is given the same
// number later can be taken for the holder.
import { Database } from 'bun:sqlite'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'

/** Held exclusively by the process that serves, or whose workers do. */
const SERVER_LOCK = 'server.lock'
/** Shared by the workers, so that nobody takes the folder while one is left of a process that was killed. */
const WORKERS_LOCK = 'workers.lock'
/** The holder's number, for messages, and a secret word, by which its workers know that it is theirs. */
const HOLDER_FILE = 'server.pid'

/** What a folder that was never used may hold nevertheless. */
export const lockFileNames: ReadonlySet<string> = new Set([SERVER_LOCK, WORKERS_LOCK, HOLDER_FILE])

/** How long a start waits for workers whose parent was killed: they end by themselves, within a second if not busy. */
const ORPHAN_TIMEOUT_MS = 10_000

export interface FolderLock {
  release(): void
}

export interface ServedFolder extends FolderLock {
  /** To be shown by the workers of this process. */
  readonly workerToken: string
}

/** Makes the folder if need be. Throws OperatorFault when it cannot be written to, or is served by another process. */
export function lockFolder(folder: string): ServedFolder {
  let lock: ExclusiveLock | null = null
  const proof = crypto.randomUUID()
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    lock = lockExclusively(join(folder, SERVER_LOCK), 0)
    if (lock === null) throw new OperationalError(`the folder ${folder} is served by ${describeHolder(folder)}`)
    const workers = lockExclusively(join(folder, WORKERS_LOCK), ORPHAN_TIMEOUT_MS)
    if (workers === null) throw new OperationalError(`the folder ${folder} is served by workers whose parent has ended`)
    writeFileSync(join(folder, HOLDER_FILE), `${process.pid}\n${proof}\n`, { mode: 0o600 })
    workers.close()
  } catch (failure) {
    lock?.close()
    if (failure instanceof OperationalError) throw failure
    const { code, message } = failure as { code?: string; message: string }
    throw new OperationalError(`the folder ${folder} cannot be used: ${reasons.get(code) ?? message}`)
  }
  const held = lock
  return {
    workerToken: proof,
    release() {
      rmSync(join(folder, HOLDER_FILE), { force: true })
      held.close()
    },
  }
}

/** For a worker of the process that holds the folder. Throws OperatorFault where nobody does, or somebody else. */
export function joinFolder(folder: string, proof: string): FolderLock {
  // First of all: whoever takes the folder from here on waits until this process is gone.
  const presence = new Database(join(folder, WORKERS_LOCK))
  try {
    presence.run('BEGIN')
    presence.query('SELECT count(*) FROM sqlite_schema').get()
    const unheld = lockExclusively(join(folder, SERVER_LOCK), 0)
    unheld?.close()
    if (unheld !== null || readWorkerToken(folder) !== proof) throw foreignWorkerError(folder)
  } catch (failure) {
    presence.close()
    throw (failure as { code?: string }).code === 'SQLITE_BUSY' ? foreignWorkerError(folder) : failure
  }
  return { release: () => presence.close() }
}

function foreignWorkerError(folder: string): OperationalError {
  return new OperationalError(`the folder ${folder} is not served by the process that started this worker`)
}

export interface ExclusiveLock {
  close(): void
}

/** A lock that nobody refers to any more would be collected, and given up without a word. */
const heldLocks = new Set<Database>()

/** Null when another process has it, after so long. */
export function lockExclusively(path: string, patienceMs: number): ExclusiveLock | null {
  // SQLite would give its file the mode that the process has for new files, and its journals that of the file.
  closeSync(openSync(path, 'a', 0o600))
  const database = new Database(path)
  try {
    database.run(`PRAGMA busy_timeout = ${patienceMs}`)
    // Nothing is ever written, so there is nothing that a journal could bring back. The system's SQLite takes no OFF, and
    // a journal in a file would need room: a full disk would keep everybody from every lock.
    database.run('PRAGMA journal_mode = MEMORY')
    database.run('PRAGMA locking_mode = EXCLUSIVE')
    database.run('BEGIN EXCLUSIVE')
    heldLocks.add(database)
    return {
      close() {
        heldLocks.delete(database)
        database.close()
      },
    }
  } catch (failure) {
    database.close()
    if ((failure as { code?: string }).code === 'SQLITE_BUSY') return null
    throw failure
  }
}

const notAFolder = 'there is a file of that name'
const noPermission = 'no permission to write there'

const reasons: ReadonlyMap<string | undefined, string> = new Map([
  ['EEXIST', notAFolder],
  ['ENOTDIR', notAFolder],
  ['EACCES', noPermission],
  ['EPERM', noPermission],
  ['SQLITE_CANTOPEN', noPermission],
  ['SQLITE_READONLY', noPermission],
  ['EROFS', 'it is on a file system that is read-only'],
])

function readHolderLines(folder: string): readonly string[] {
  try {
    return readFileSync(join(folder, HOLDER_FILE), 'utf8').split('\n')
  } catch {
    // It has just begun, or it is ending.
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
