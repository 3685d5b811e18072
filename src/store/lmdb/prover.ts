// What the snapshots of one environment ask before they believe that something is not there.
import { join } from 'node:path'
import { DamageFault } from '../../kernel/errors.ts'
import { Absence, PageFault, type StateSource, type Stretch } from './absence.ts'
import { type Database, KEY_BYTES } from './database.ts'
import { type Databases, GRAPH, HEADER_KEY } from './databases.ts'
import { DATA_FILE } from './folder.ts'
import { type Stamp, stampIn } from './header.ts'

export class Prover {
  private readonly path: string
  private readonly source: StateSource
  private absence: Absence | null = null
  /** Filled for each question. */
  private readonly stretch: Stretch = {
    start: new Uint8Array(KEY_BYTES),
    end: new Uint8Array(KEY_BYTES),
    startLength: 0,
    endLength: null,
  }

  /** `latest` tells the stamp that a reading which begins now would find. */
  constructor(folder: string, { meta }: Databases, latest: () => Stamp) {
    this.path = join(folder, DATA_FILE)
    this.source = { headerDatabase: meta.name, headerKey: meta.keyBytes(HEADER_KEY), stampIn, latest }
  }

  /**
   * Throws DamageFault unless the database holds so many entries from `start` on to `end`, which is exclusive; without it,
   * of the one key `start`. The reading with that stamp is still open: so its pages are still what they were.
   */
  prove<K>(database: Database<K>, start: K, end: K | null, count: number, stamp: Stamp): void {
    let found: number | null
    try {
      this.absence ??= new Absence(this.path, this.source)
      const { stretch } = this
      stretch.startLength = database.codec.writeKey(start, stretch.start, 0)
      stretch.endLength = end === null ? null : database.codec.writeKey(end, stretch.end, 0)
      found = this.absence.count(database, stretch, stamp)
    } catch (fault) {
      if (fault instanceof PageFault) throw new DamageFault(GRAPH, fault.message)
      throw fault
    }
    if (found !== null && found !== count) throw database.damage(start, 'is there and cannot be found')
  }

  close(): void {
    this.absence?.close()
    this.absence = null
  }
}
