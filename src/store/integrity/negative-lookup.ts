// Verifies negative lookups: before a snapshot reports that a key does not exist, the B-tree pages are checked.
import { join } from 'node:path'
import { DataCorruptionError } from '../../kernel/errors.ts'
import { DATA_FILE } from '../../kernel/folder/data-folder.ts'
import { type GraphVersion, readVersion } from '../format/header.ts'
import { type Database, KEY_BUFFER_BYTES } from '../lmdb/database.ts'
import { type Databases, GRAPH_DESCRIPTION, HEADER_KEY } from '../lmdb/databases.ts'
import { type EncodedRange, PageCounter, PageError, type VersionSource } from './page-count.ts'

/** Verifies the lookups of all snapshots of one environment. Opens the file with the first verification. */
export class NegativeLookup {
  private readonly path: string
  private readonly source: VersionSource
  private counter: PageCounter | null = null
  /** Reused for each call. */
  private readonly range: EncodedRange = {
    start: new Uint8Array(KEY_BUFFER_BYTES),
    end: new Uint8Array(KEY_BUFFER_BYTES),
    startLength: 0,
    endLength: null,
  }

  /** `folder` holds the environment. `latest` returns the version that a new read transaction would see. */
  constructor(folder: string, { meta }: Databases, latest: () => GraphVersion) {
    this.path = join(folder, DATA_FILE)
    this.source = { headerDatabase: meta.name, headerKey: meta.keyBytes(HEADER_KEY), readVersion, latest }
  }

  /**
   * Throws DataCorruptionError unless the database holds exactly `count` entries from `start` to `end` (exclusive), or with
   * `end` null, `count` entries of the key `start`. A read transaction of that version must be open, so that its pages are not
   * reused.
   */
  verifyCount<K>(database: Database<K>, start: K, end: K | null, count: number, version: GraphVersion): void {
    let found: number | null
    try {
      this.counter ??= new PageCounter(this.path, this.source)
      const { range } = this
      range.startLength = database.codec.writeKey(start, range.start, 0)
      range.endLength = end === null ? null : database.codec.writeKey(end, range.end, 0)
      found = this.counter.count(database, range, version)
    } catch (error) {
      if (error instanceof PageError) throw new DataCorruptionError(GRAPH_DESCRIPTION, error.message)
      throw error
    }
    if (found !== null && found !== count) throw database.damageError(start, 'exists, but a lookup does not find it')
  }

  close(): void {
    this.counter?.close()
    this.counter = null
  }
}
