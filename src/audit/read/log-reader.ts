// Reads the sealed state of the logs: generations with their files, and checkpoints by size. Files may have more than is sealed, which
// nothing here reads. A file that is missing although retention has not removed it is an error: an answer without its entries would
// look complete.
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { DataCorruptionError } from '../../kernel/errors.ts'
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditCheckpoint, AuditGeneration, AuditLog } from '../../store/audit/audit-types.ts'
import { equalBytes, leafHash } from '../log/merkle.ts'
import { LogFileMissingError, TileFolder } from '../log/tile-folder.ts'
import { TILE_WIDTH, tileAt } from '../log/tile-path.ts'
import { hashesOf } from '../log/tile-tree.ts'

/** Generations whose tiles are cached. */
const FOLDERS_MAX = 16

/** The files of the logs of a data folder, for reading. */
export class LogReader {
  private readonly path: string
  private readonly folders = new LRUCache<string, TileFolder>({ max: FOLDERS_MAX })

  /** `path`: the folder with one folder per log. */
  constructor(path: string) {
    this.path = path
  }

  /** One generation of a log. */
  generation(index: AuditIndex, log: Pick<AuditLog, 'id'>, generation: AuditGeneration): GenerationReader {
    return new GenerationReader(index, log.id, generation, this.files(log.id, generation))
  }

  private files(id: string, { name }: AuditGeneration): TileFolder {
    const path = join(this.path, id, name)
    let folder = this.folders.get(path)
    if (folder === undefined) {
      folder = new TileFolder(path)
      this.folders.set(path, folder)
    }
    return folder
  }
}

/** Reads one generation. Calls reject with DataCorruptionError if a file is missing that retention has not removed. */
export class GenerationReader {
  /** Its state when it was opened. */
  readonly generation: AuditGeneration
  /** Its files, which may have more than is sealed. */
  readonly files: TileFolder
  private readonly index: AuditIndex
  private readonly id: string

  /** `id`: of the log. */
  constructor(index: AuditIndex, id: string, generation: AuditGeneration, files: TileFolder) {
    this.index = index
    this.id = id
    this.generation = generation
    this.files = files
  }

  /** Whether retention has removed an entry; it may have done so since the generation was opened. */
  isPruned(at: number): boolean {
    const log = this.index.state(this.id)
    const now = log?.generations.find(({ number }) => number === this.generation.number)
    return now === undefined || at < now.prunedTo
  }

  /** The entries `from` to `to` (exclusive). Null: retention has removed the first of them. */
  async entries(from: number, to: number): Promise<readonly Uint8Array[] | null> {
    if (from < this.generation.prunedTo) return null
    try {
      return await this.files.entries(from, to)
    } catch (fault) {
      if (!(fault instanceof LogFileMissingError)) throw fault
      if (this.isPruned(from)) return null
      throw this.damaged(from, to, fault.message)
    }
  }

  /**
   * The same for entries of one bundle, which have the hashes in the tree. Other calls leave this to the reader, who verifies the
   * answer.
   */
  async intactEntries(from: number, to: number): Promise<readonly Uint8Array[] | null> {
    const entries = await this.entries(from, to)
    if (entries === null) return null
    const tile = tileAt(0, from, to)
    const bytes = await this.files.read(tile)
    if (bytes === null) throw this.damaged(from, to, `a tile of level 0 does not exist`)
    const hashes = hashesOf(bytes)
    const changed = entries.findIndex(
      (entry, at) => !equalBytes(leafHash(entry), hashes[(from % TILE_WIDTH) + at] ?? new Uint8Array()),
    )
    if (changed >= 0)
      throw this.damaged(from + changed, from + changed + 1, 'the entry does not have the hash in its tile')
    return entries
  }

  /** The payload of the entry `at`. Null: retention has removed it. */
  async body(at: number, hash: string): Promise<Uint8Array | null> {
    const body = await this.files.readBody(hash)
    if (body === null && !this.isPruned(at)) throw this.damaged(at, at + 1, `the payload ${hash} does not exist`)
    return body
  }

  /** See `TileFolder`. */
  inclusionProof(at: number, size: number): Promise<readonly Uint8Array[]> {
    return this.proven(size, this.files.inclusionProof(at, size))
  }

  /** See `TileFolder`. */
  inclusionProver(first: number, size: number): Promise<(index: number) => readonly Uint8Array[]> {
    return this.proven(size, this.files.inclusionProver(first, size))
  }

  /** See `TileFolder`. */
  consistencyProof(from: number, to: number): Promise<readonly Uint8Array[]> {
    return this.proven(to, this.files.consistencyProof(from, to))
  }

  /** Retention removes no tiles. */
  private async proven<T>(size: number, proof: Promise<T>): Promise<T> {
    try {
      return await proof
    } catch (fault) {
      if (fault instanceof LogFileMissingError) throw this.damaged(0, size, fault.message)
      throw fault
    }
  }

  private damaged(from: number, to: number, place: string): DataCorruptionError {
    const { name } = this.generation
    const entries = to - from === 1 ? `entry ${from}` : `entries ${from} to ${to - 1}`
    return new DataCorruptionError(`the audit log (generation ${name}, ${entries})`, `${this.files.path}: ${place}`)
  }
}

/** A generation by its name; the newest one without a name. Null: it does not exist. */
export function generationOf(log: AuditLog, name: string | null): AuditGeneration | null {
  if (name === null) return log.generations.at(-1) ?? null
  return log.generations.find((each) => each.name === name) ?? null
}

/**
 * The newest checkpoint of a generation, or the newest one with this size. Null: it does not exist. Numbers of checkpoints grow
 * with generations and sizes.
 */
export function checkpointOf(
  index: AuditIndex,
  log: AuditLog,
  generation: number,
  size: number | null,
): AuditCheckpoint | null {
  const order = new Map(log.generations.map(({ number }, at) => [number, at]))
  const wanted = [order.get(generation) ?? -1, size ?? Number.POSITIVE_INFINITY] as const
  // The last number whose checkpoint is not after the wanted one.
  let [low, high] = [0, log.checkpoint]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const [found] = index.checkpoints(log.id, middle + 1, 1)
    const place = order.get(found?.generation ?? -1) ?? -1
    const isAfter = place > wanted[0] || (place === wanted[0] && (found?.size ?? 0) > wanted[1])
    if (isAfter) high = middle - 1
    else low = middle
  }
  const [found] = index.checkpoints(log.id, low + 1, 1)
  if (found === undefined || found.generation !== generation) return null
  return size === null || found.size === size ? found : null
}
