// A folder in which backups are kept. Objects are written to a staging folder inside it and renamed when they are complete.
import {
  createReadStream,
  createWriteStream,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pathToFileURL } from 'node:url'
import { fileProblemOf } from '../../kernel/folder/file-issue.ts'
import { chunksOf } from '../../transfer/files/byte-stream.ts'
import { createStaging, removeAbandoned } from '../../transfer/files/staging.ts'
import { syncPath } from '../../transfer/files/sync-path.ts'
import { type BackupPlace, isPlaceName, type PlacedObject, PlaceError, requirePlaceName } from './place.ts'

const STAGING_PREFIX = '.verdigraph-writing-'
const READ_BYTES = 1 << 20

/** A folder as a place. */
export class FolderPlace implements BackupPlace {
  readonly address: string
  private readonly folder: string

  /** `folder`: created by the first `put` if it does not exist. */
  constructor(folder: string) {
    this.folder = resolve(folder)
    this.address = pathToFileURL(this.folder).href
  }

  async put(name: string, body: ReadableStream<Uint8Array> | Uint8Array): Promise<void> {
    requirePlaceName(name)
    const target = join(this.folder, name)
    // The first of the folders that this call creates.
    let created: string | undefined
    try {
      created = mkdirSync(this.folder, { recursive: true, mode: 0o700 })
      const staging = createStaging(this.folder, STAGING_PREFIX)
      try {
        const partial = join(staging.folder, 'object')
        const source = body instanceof Uint8Array ? Readable.from([body]) : chunksOf(body)
        await pipeline(source, createWriteStream(partial, { flags: 'wx', mode: 0o600 }))
        syncPath(partial)
        const inside = mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
        created ??= inside
        renameSync(partial, target)
        syncPath(dirname(target))
      } finally {
        staging.remove()
      }
    } catch (failure) {
      if (created !== undefined) removeEmpty(dirname(target), created)
      throw this.placeError(name, failure)
    }
  }

  async get(name: string): Promise<ReadableStream<Uint8Array>> {
    requirePlaceName(name)
    const path = join(this.folder, name)
    try {
      if (!statSync(path).isFile()) throw new PlaceError('absent', `${path} is not a file`)
    } catch (failure) {
      throw this.placeError(name, failure)
    }
    return Readable.toWeb(createReadStream(path, { highWaterMark: READ_BYTES })) as ReadableStream<Uint8Array>
  }

  async *list(prefix: string): AsyncIterable<PlacedObject> {
    // Only the folder that the prefix names is read.
    const end = prefix.lastIndexOf('/') + 1
    yield* this.listFolder(prefix.slice(0, end), prefix)
  }

  async remove(name: string): Promise<void> {
    requirePlaceName(name)
    try {
      rmSync(join(this.folder, name), { force: true })
    } catch (failure) {
      throw this.placeError(name, failure)
    }
  }

  /** A staging folder is locked while its writer runs: all without a lock are removed, whatever their object is. */
  async removeIncomplete(): Promise<number> {
    try {
      return removeAbandoned(this.folder, STAGING_PREFIX)
    } catch (failure) {
      if (codeOf(failure) === 'ENOENT') return 0
      throw this.placeError('', failure)
    }
  }

  private *listFolder(inside: string, prefix: string): Iterable<PlacedObject> {
    for (const entry of this.entries(inside)) {
      const name = inside + entry.name
      if (!isPlaceName(name)) continue
      if (entry.isDirectory()) {
        if (`${name}/`.startsWith(prefix)) yield* this.listFolder(`${name}/`, prefix)
      } else if (entry.isFile() && name.startsWith(prefix)) {
        // Another process may have removed it since the folder was read.
        const found = statSync(join(this.folder, name), { throwIfNoEntry: false })
        if (found !== undefined) yield { name, size: found.size, modifiedMs: found.mtimeMs }
      }
    }
  }

  private entries(inside: string) {
    try {
      return readdirSync(join(this.folder, inside), { withFileTypes: true })
    } catch (failure) {
      if (codeOf(failure) === 'ENOENT') return []
      throw this.placeError(inside, failure)
    }
  }

  private placeError(name: string, failure: unknown): unknown {
    const path = name === '' ? this.folder : this.folder + sep + name
    switch (codeOf(failure)) {
      case 'ENOENT':
        return new PlaceError('absent', `${path} does not exist`)
      case 'EACCES':
      case 'EPERM':
      case 'EROFS':
        return new PlaceError(
          'refused',
          fileProblemOf(failure) ?? `${path} cannot be used: ${(failure as Error).message}`,
        )
      case 'ENOSPC':
      case 'EDQUOT':
        return new PlaceError('failed', `the disk is full: ${path} cannot be written`)
      case 'ENOTDIR':
      case 'EISDIR':
      case 'EEXIST':
      case 'EIO':
      case 'ESTALE':
      case 'EFBIG':
        return new PlaceError(
          'failed',
          fileProblemOf(failure) ?? `${path} cannot be used: ${(failure as Error).message}`,
        )
      default:
        return failure
    }
  }
}

/** Removes the folder `path` and those above it up to `first`, as far as they are empty. */
function removeEmpty(path: string, first: string): void {
  for (let folder = path; folder.length >= resolve(first).length; folder = dirname(folder)) {
    try {
      rmdirSync(folder)
    } catch (failure) {
      // One that was not created, such as the folder of an object whose body has failed.
      if (codeOf(failure) !== 'ENOENT') return
    }
  }
}

function codeOf(failure: unknown): string | undefined {
  return (failure as { code?: string } | null)?.code
}
