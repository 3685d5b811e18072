// How far the changes of a data folder are shipped, in a file of its folder. A copy of the folder has other files (device and inode), and
// a restored folder has no state: both begin a new generation.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { SHIPPING_FOLDER } from '../../kernel/folder/data-folder.ts'
import { syncPath } from '../../transfer/files/sync-path.ts'

const STATE_FILE = 'state.json'

const generationSchema = z.strictObject({
  name: z.string(),
  /** Sequence and SHA-256 of its last object. */
  sequence: z.int().min(0),
  digest: z.string(),
  /** The moment of its last object, and of its base. */
  timeMs: z.number(),
  baseTimeMs: z.number(),
  baseBytes: z.number(),
  segmentBytes: z.number(),
  /** By folder in the data folder. */
  environments: z.record(z.string(), z.strictObject({ identity: z.string(), transaction: z.int() })),
  /** By the folder of a generation of an audit log: its number of entries, and the states of files that are replaced. */
  logs: z.record(z.string(), z.strictObject({ size: z.int(), files: z.record(z.string(), z.string()) })),
})

const stateSchema = z.strictObject({
  version: z.literal(1),
  /** The address of the place. */
  place: z.string(),
  generation: generationSchema,
  /** An object that is being sent: its name, and its length; null: nothing is. */
  outgoing: z.strictObject({ name: z.string(), bytes: z.int(), after: generationSchema }).nullable(),
})

/** A generation, as far as it is shipped. */
export type ShippedGeneration = z.infer<typeof generationSchema>
/** How far a data folder is shipped. */
type ShippingState = z.infer<typeof stateSchema>

/** The state of one data folder. */
export class ShippingStateFile {
  /** The folder for the state and for objects that are being written. */
  readonly folder: string

  constructor(dataDir: string) {
    this.folder = join(dataDir, SHIPPING_FOLDER)
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
  }

  /** Null: there is no state, or it cannot be read. */
  read(): ShippingState | null {
    try {
      return stateSchema.parse(JSON.parse(readFileSync(join(this.folder, STATE_FILE), 'utf8')))
    } catch {
      return null
    }
  }

  /** Replaces the state in one step. */
  write(state: ShippingState): void {
    const path = join(this.folder, STATE_FILE)
    writeFileSync(`${path}.next`, JSON.stringify(state), { mode: 0o600 })
    syncPath(`${path}.next`)
    renameSync(`${path}.next`, path)
  }

  /** Removes the state: the next object is the base of a new generation. */
  clear(): void {
    rmSync(join(this.folder, STATE_FILE), { force: true })
  }
}
