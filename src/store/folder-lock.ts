// One process at a time serves a data folder, because it decides by what it holds in memory of the configuration.
// The lock is SQLite's own on an empty file: the system drops it with its process, however that ends, and no other
// program that is given the same number later can be taken for the holder.
import { Database } from 'bun:sqlite'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorFault } from '../kernel/errors.ts'

const LOCK = 'server.lock'
/** For the message alone; nobody decides by it. */
const HOLDER = 'server.pid'

export interface FolderLock {
  release(): void
}

/** Makes the folder if need be. Throws OperatorFault when it cannot be written to, or is served by another process. */
export function lockFolder(folder: string): FolderLock {
  let database: Database | null = null
  try {
    mkdirSync(folder, { recursive: true })
    database = new Database(join(folder, LOCK))
    // Nothing is ever written, so there is nothing that a journal could bring back.
    database.run('PRAGMA journal_mode = OFF')
    database.run('PRAGMA locking_mode = EXCLUSIVE')
    database.run('BEGIN EXCLUSIVE')
    writeFileSync(join(folder, HOLDER), `${process.pid}\n`)
  } catch (failure) {
    database?.close()
    const { code, message } = failure as { code?: string; message: string }
    if (code === 'SQLITE_BUSY') throw new OperatorFault(`the folder ${folder} is served by ${holderOf(folder)}`)
    throw new OperatorFault(`the folder ${folder} cannot be used: ${reasons.get(code) ?? message}`)
  }
  const held = database
  return {
    release() {
      rmSync(join(folder, HOLDER), { force: true })
      held.close()
    },
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

function holderOf(folder: string): string {
  try {
    const pid = readFileSync(join(folder, HOLDER), 'utf8').trim()
    if (/^\d+$/.test(pid)) return `process ${pid}`
  } catch {
    // It has just begun, or it is ending.
  }
  return 'another process'
}
