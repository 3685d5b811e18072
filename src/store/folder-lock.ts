// Who may serve a data folder: one process alone, or one and the workers that it starts. The locks are SQLite's own on
// empty files: the system drops them with their process, however that ends, and no other program that is given the same
// number later can be taken for the holder.
import { Database } from 'bun:sqlite'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorFault } from '../kernel/errors.ts'

/** Held exclusively by the process that serves, or whose workers do. */
const LOCK = 'server.lock'
/** Shared by the workers, so that nobody takes the folder while one is left of a process that was killed. */
const WORKERS = 'workers.lock'
/** The holder's number, for messages, and a secret word, by which its workers know that it is theirs. */
const HOLDER = 'server.pid'

/** What a folder that was never used may hold nevertheless. */
export const lockFiles: ReadonlySet<string> = new Set([LOCK, WORKERS, HOLDER])

/** How long a start waits for workers whose parent was killed: they end by themselves, within a second if not busy. */
const ORPHANS_MS = 10_000

export interface FolderLock {
  release(): void
}

export interface HeldFolder extends FolderLock {
  /** To be shown by the workers of this process. */
  readonly proof: string
}

/** Makes the folder if need be. Throws OperatorFault when it cannot be written to, or is served by another process. */
export function lockFolder(folder: string): HeldFolder {
  let lock: HeldLock | null = null
  const proof = crypto.randomUUID()
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    lock = lockExclusively(join(folder, LOCK), 0)
    if (lock === null) throw new OperatorFault(`the folder ${folder} is served by ${holderOf(folder)}`)
    const workers = lockExclusively(join(folder, WORKERS), ORPHANS_MS)
    if (workers === null) throw new OperatorFault(`the folder ${folder} is served by workers whose parent has ended`)
    writeFileSync(join(folder, HOLDER), `${process.pid}\n${proof}\n`, { mode: 0o600 })
    workers.close()
  } catch (failure) {
    lock?.close()
    if (failure instanceof OperatorFault) throw failure
    const { code, message } = failure as { code?: string; message: string }
    throw new OperatorFault(`the folder ${folder} cannot be used: ${reasons.get(code) ?? message}`)
  }
  const held = lock
  return {
    proof,
    release() {
      rmSync(join(folder, HOLDER), { force: true })
      held.close()
    },
  }
}

/** For a worker of the process that holds the folder. Throws OperatorFault where nobody does, or somebody else. */
export function joinFolder(folder: string, proof: string): FolderLock {
  // First of all: whoever takes the folder from here on waits until this process is gone.
  const presence = new Database(join(folder, WORKERS))
  try {
    presence.run('BEGIN')
    presence.query('SELECT count(*) FROM sqlite_schema').get()
    const unheld = lockExclusively(join(folder, LOCK), 0)
    unheld?.close()
    if (unheld !== null || proofIn(folder) !== proof) throw notItsWorker(folder)
  } catch (failure) {
    presence.close()
    throw (failure as { code?: string }).code === 'SQLITE_BUSY' ? notItsWorker(folder) : failure
  }
  return { release: () => presence.close() }
}

function notItsWorker(folder: string): OperatorFault {
  return new OperatorFault(`the folder ${folder} is not served by the process that started this worker`)
}

export interface HeldLock {
  close(): void
}

/** A lock that nobody refers to any more would be collected, and given up without a word. */
const heldLocks = new Set<Database>()

/** Null when another process has it, after so long. */
export function lockExclusively(path: string, patienceMs: number): HeldLock | null {
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

function linesOfHolder(folder: string): readonly string[] {
  try {
    return readFileSync(join(folder, HOLDER), 'utf8').split('\n')
  } catch {
    // It has just begun, or it is ending.
    return []
  }
}

function holderOf(folder: string): string {
  const [pid = ''] = linesOfHolder(folder)
  return /^\d+$/.test(pid) ? `process ${pid}` : 'another process'
}

function proofIn(folder: string): string | null {
  return linesOfHolder(folder)[1] ?? null
}
