// A load of the hostile tenant: a row of the table of the isolation runs.
import type { Hostile } from './hostile-tenant.ts'

export interface HostileLoad {
  /** How many milliseconds the longest stall may be above the baseline, in the full form. */
  readonly bar: number
  /** Part of the short form. */
  readonly isShort?: boolean
  /** Settings of a separate server; without them the load shares a server with the others. */
  readonly flags?: readonly string[]
  /** Environment variables of the separate server. `{folder}` stands for a folder of the run. */
  readonly environment?: Readonly<Record<string, string>>
  /** Expected errors of the steady tenant: requests in a process that is killed. */
  readonly errorsMax?: number
  /** Prepares the requests before the measurement, and returns what is run during it. */
  prepare(hostile: Hostile): Promise<() => Promise<void>> | (() => Promise<void>)
}
