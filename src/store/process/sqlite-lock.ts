// The fallback for systems without flock (Windows): SQLite's own locks on an empty database file.
import type { Database as SqliteDatabase } from 'bun:sqlite'
import { closeSync, openSync } from 'node:fs'
import type { FileLock, LockMode } from './flock.ts'

/** SQLite connections that hold locks. Without a reference they would be garbage-collected, and their locks released. */
const held = new Set<SqliteDatabase>()

/** As `lockFile` with a timeout of 0. */
export function lockWithSqlite(path: string, mode: LockMode): FileLock | null {
  // SQLite would create the file with the default mode of the process.
  closeSync(openSync(path, 'a', 0o600))
  const { Database } = process.getBuiltinModule('bun:sqlite') as typeof import('bun:sqlite')
  const database = new Database(path)
  try {
    // Nothing is ever written, so no journal is needed. A journal file would need disk space, and a full disk would prevent
    // every lock.
    database.run('PRAGMA journal_mode = MEMORY')
    if (mode === 'exclusive') database.run('BEGIN EXCLUSIVE')
    else {
      database.run('BEGIN')
      // The shared lock is acquired by the first read.
      database.query('SELECT count(*) FROM sqlite_schema').get()
    }
  } catch (error) {
    database.close()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return null
    throw error
  }
  held.add(database)
  return {
    release() {
      held.delete(database)
      database.close()
    },
  }
}
