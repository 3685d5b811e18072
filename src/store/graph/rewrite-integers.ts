// Writes the records again in which an earlier version stored an integer in more bits than it needs. Times, ids and indexes stay as they are.
import { systemClock } from '../../kernel/time/clock.ts'
import { hasWideIntegers } from '../format/records.ts'
import type { Database } from '../lmdb/database.ts'
import { openEnvironment } from './environment.ts'

const BATCH_RECORDS = 10_000

/** Returns how many records of the graph in `folder` were written again. No other process may use the folder. */
export async function rewriteIntegers(folder: string): Promise<number> {
  const environment = openEnvironment(folder, { clock: systemClock, forLoad: true })
  try {
    let written = 0
    for (const kind of ['nodes', 'relationships'] as const) {
      for (let from: number | null = 1; from !== null; ) {
        const start: number = from
        const found = environment.inspect((databases, transaction) => {
          const ids: number[] = []
          const database: Database<number> = databases[kind]
          for (const { key, valueView } of database.entries({ start, end: undefined, ...transaction })) {
            if (hasWideIntegers(valueView)) ids.push(key)
            if (ids.length === BATCH_RECORDS) return { ids, next: key + 1 }
          }
          return { ids, next: null }
        })
        if (found.ids.length > 0) await environment.write((batch) => batch.rewrite(kind, found.ids))
        written += found.ids.length
        from = found.next
      }
    }
    return written
  } finally {
    await environment.close()
  }
}
