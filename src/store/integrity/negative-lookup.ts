// What the snapshots of one environment ask before they believe that something is not there.
import { join } from 'node:path'
import { DataCorruptionError } from '../../kernel/errors.ts'
import { type GraphVersion, readVersion } from '../format/header.ts'
import { type Database, KEY_BUFFER_BYTES } from '../lmdb/database.ts'
import { type Databases, GRAPH_DESCRIPTION, HEADER_KEY } from '../lmdb/databases.ts'
import { DATA_FILE } from '../lmdb/environment-folder.ts'
import { type EncodedRange, PageCounter, PageError, type VersionSource } from './page-count.ts'

export class NegativeLookup {
  private readonly path: string
  private readonly source: VersionSource
  private absence: PageCounter | null = null
  /** Filled for each question. */
  private readonly stretch: EncodedRange = {
    start: new Uint8Array(KEY_BUFFER_BYTES),
    end: new Uint8Array(KEY_BUFFER_BYTES),
    startLength: 0,
    endLength: null,
  }

  /** `latest` tells the stamp that a reading which begins now would find. */
  constructor(folder: string, { meta }: Databases, latest: () => GraphVersion) {
    this.path = join(folder, DATA_FILE)
    this.source = { headerDatabase: meta.name, headerKey: meta.keyBytes(HEADER_KEY), readVersion, latest }
  }

  /**
   * Throws DamageFault unless the database holds so many entries from `start` on to `end`, which is exclusive; without it,
   * of the one key `start`. The reading with that stamp is still open: so its pages are still what they were.
   */
  verifyCount<K>(database: Database<K>, start: K, end: K | null, count: number, stamp: GraphVersion): void {
    let found: number | null
    try {
      this.absence ??= new PageCounter(this.path, this.source)
      const { stretch } = this
      stretch.startLength = database.codec.writeKey(start, stretch.start, 0)
      stretch.endLength = end === null ? null : database.codec.writeKey(end, stretch.end, 0)
      found = this.absence.count(database, stretch, stamp)
    } catch (fault) {
      if (fault instanceof PageError) throw new DataCorruptionError(GRAPH_DESCRIPTION, fault.message)
      throw fault
    }
    if (found !== null && found !== count) throw database.damageError(start, 'is there and cannot be found')
  }

  close(): void {
    this.absence?.close()
    this.absence = null
  }
}
