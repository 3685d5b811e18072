// Opens a single graph in a folder for embedders: no projects, no configuration.
import { type Clock, systemClock } from '../../kernel/clock.ts'
import type { LmdbFileOptions } from '../lmdb/open-file.ts'
import { type LmdbEnvironment, openEnvironment } from './environment.ts'

/** Options of `openStore`. */
export interface StoreOptions extends LmdbFileOptions {
  /** Default: the system clock. */
  readonly clock?: Clock
}

/**
 * Opens the graph in the folder `path`, and creates it if it does not exist. Close it at the end; `close` waits for pending
 * writes. Throws OperationalError if the folder cannot be opened or is damaged, LayoutError for another layout version, and
 * LockTimeoutError if other processes keep writing to it.
 *
 * @example
 * const store = openStore('./graph')
 * await store.write((batch) => batch.upsertNode({ type: 'User', externalId: 'ada' }))
 * await store.close()
 */
export function openStore(path: string, options: StoreOptions = {}): LmdbEnvironment {
  return openEnvironment(path, { clock: systemClock, ...options })
}
