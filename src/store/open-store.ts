// One graph in one folder, for those who embed the engine: no projects, no configuration.
import { type Clock, systemClock } from '../kernel/clock.ts'
import { type LmdbEnvironment, openEnvironment } from './lmdb/environment.ts'
import type { FileOptions } from './lmdb/opening.ts'

export interface StoreOptions extends FileOptions {
  /** The system's by default. */
  readonly clock?: Clock
}

/** Opens the folder, creating it if need be. Close it in the end: that waits for writes under way. */
export function openStore(path: string, options: StoreOptions = {}): LmdbEnvironment {
  return openEnvironment(path, { clock: systemClock, ...options })
}
