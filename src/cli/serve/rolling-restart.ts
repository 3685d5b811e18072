// The state of a rolling restart: the supervisor writes it to a file of the data folder, and the command `restart` reads it.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ROLLING_RESTART_FILE } from '../../kernel/folder/data-folder.ts'

const stateSchema = z.strictObject({
  /** The process id of the supervisor. */
  supervisor: z.number(),
  /** Counts the restarts of this supervisor. 0: there was no restart. */
  round: z.number(),
  state: z.enum(['idle', 'running', 'done', 'failed']),
  workers: z.number(),
  /** The numbers of the workers that were replaced, and of their successors. */
  replaced: z.array(z.strictObject({ worker: z.number(), by: z.number() })),
  error: z.string().nullable(),
})

/** The state of the last rolling restart. */
export type RollingRestartState = Readonly<z.infer<typeof stateSchema>>

/** Writes the state, readable by this user only. */
export function writeRestartState(dataDir: string, state: RollingRestartState): void {
  const path = join(dataDir, ROLLING_RESTART_FILE)
  writeFileSync(`${path}.next`, `${JSON.stringify(state)}\n`, { mode: 0o600 })
  renameSync(`${path}.next`, path)
}

/** Reads the state; null: no supervisor has written one. */
export function readRestartState(dataDir: string): RollingRestartState | null {
  try {
    return stateSchema.parse(JSON.parse(readFileSync(join(dataDir, ROLLING_RESTART_FILE), 'utf8')))
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw failure
  }
}

/** Removes the state, when no supervisor serves the folder. */
export function removeRestartState(dataDir: string): void {
  rmSync(join(dataDir, ROLLING_RESTART_FILE), { force: true })
}
