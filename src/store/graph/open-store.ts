// Opens a single graph in a folder or in memory for embedders: no projects, no configuration.
import type { GraphStore } from '../../engine/store.ts'
import { type Clock, systemClock } from '../../kernel/time/clock.ts'
import { openEnvironment } from './environment.ts'

/** The path of a store in memory. A folder of that name is opened as `./:memory:`. */
export const IN_MEMORY = ':memory:'

/** Options of `openStore`. */
export interface StoreOptions {
  /** Source of creation and update times. Default: the system clock. */
  readonly clock?: Clock
  /** Writes are refused, and the folder must contain a graph. */
  readonly readOnly?: boolean
  /** False: commits are not flushed to disk. For tests. */
  readonly sync?: boolean
  /** How long to wait for writers of other processes when the folder is opened, in milliseconds. Default: 10 s. */
  readonly lockTimeoutMs?: number
  /**
   * False: under Node, other processes are not excluded, for a system without the `flock` command. Make sure that no other process
   * opens the folder: it could lose commits.
   */
  readonly lockFolder?: boolean
}

/** A store that `openStore` opened. */
export interface OpenStore extends GraphStore {
  /** Closes the store after pending writes. Nothing may use it afterwards. */
  close(): Promise<void>
}

/**
 * Opens the graph in the folder `path`, and creates it if it does not exist. Close it at the end; `close` waits for pending
 * writes. The path `:memory:` gives a new empty graph that exists only in this process, until it is closed; nothing is written to
 * a disk. Throws OperationalError if the folder cannot be opened, is damaged or is in use by another process that excludes this
 * one, LayoutError for another layout version, and LockTimeoutError if other processes keep writing to it.
 *
 * @example
 * const store = openStore('./graph')
 * await store.write((batch) => batch.upsertNode({ type: 'User', externalId: 'ada' }))
 * await store.close()
 */
export function openStore(path: string, options: StoreOptions = {}): OpenStore {
  if (typeof path !== 'string' || path === '')
    throw new TypeError('openStore: expected the path of a folder, or `:memory:`')
  if (path !== IN_MEMORY) return openEnvironment(path, { clock: systemClock, ...options })
  if (options.readOnly === true) throw new TypeError('a store in memory is new and empty, so it cannot be read-only')
  return openEnvironment(null, { clock: systemClock, ...options })
}
