// One graph in one folder, for those who embed the engine: no projects, no configuration.
import { type Clock, systemClock } from '../../kernel/clock.ts'
import type { LmdbFileOptions } from '../lmdb/open-file.ts'
import { type LmdbEnvironment, openEnvironment } from './environment.ts'

export interface StoreOptions extends LmdbFileOptions {
  /** The system's by default. */
  readonly clock?: Clock
}

/** Opens the folder, creating it if need be. Close it in the end: that waits for writes under way. */
export function openStore(path: string, options: StoreOptions = {}): LmdbEnvironment {
  return openEnvironment(path, { clock: systemClock, ...options })
}
