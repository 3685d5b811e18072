// Counts the database reads and writes of a store, to distinguish work that grows with the graph from work that does
// not.
import type { LmdbEnvironment } from '../../src/store/graph/environment.ts'
import type { RawDatabase } from '../../src/store/lmdb/raw-database.ts'

export interface ReadStatistics {
  /** Values read individually, and values in ranges that were scanned. */
  reads: number
  bytesRead: number
  writes: number
  bytesWritten: number
}

/** Starts counting; the returned object is updated continuously. */
export function countReads(environment: LmdbEnvironment): ReadStatistics {
  const touched: ReadStatistics = { reads: 0, bytesRead: 0, writes: 0, bytesWritten: 0 }
  for (const database of Object.values(environment.databases) as { raw: RawDatabase<unknown> }[]) {
    database.raw = counted(database.raw, touched)
  }
  return touched
}

export function reset(touched: ReadStatistics): void {
  Object.assign(touched, { reads: 0, bytesRead: 0, writes: 0, bytesWritten: 0 })
}

function counted(raw: RawDatabase<unknown>, touched: ReadStatistics): RawDatabase<unknown> {
  const read = (bytes: number): void => {
    touched.reads += 1
    touched.bytesRead += bytes
  }
  return {
    getBinaryFast(key, reading) {
      const value = raw.getBinaryFast(key, reading)
      read(value?.length ?? 0)
      return value
    },
    *getRange(range) {
      for (const entry of raw.getRange(range)) {
        read(entry.value.length)
        yield entry
      }
    },
    *getKeys(range) {
      for (const key of raw.getKeys(range)) {
        read(0)
        yield key
      }
    },
    put(key, value) {
      touched.writes += 1
      touched.bytesWritten += value.length
      return raw.put(key, value)
    },
    getStats: () => raw.getStats(),
    remove(key) {
      touched.writes += 1
      return raw.remove(key)
    },
  }
}
