// Reads the files of a log for verification: with what a file really contains, so that additions are found as well.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeEntries } from './entry-bundle.ts'
import { HASH_BYTES } from './merkle.ts'
import { TILE_WIDTH, type TileName, tilePath } from './tile-path.ts'

/** How often a partial tile is looked for that no wider one seems to replace. */
const ATTEMPTS = 5

/** The files of a log, in a folder or at a URL. */
export interface LogFiles {
  /** The bytes of a file; null if it does not exist. Rejects if it cannot be read. */
  read(path: string): Promise<Uint8Array | null>
  /** Names in a folder; empty if it does not exist, or names cannot be listed. */
  names(folder: string): Promise<readonly string[]>
}

/** A tile or bundle as it was found. */
export interface FoundTile {
  readonly path: string
  /** If `isExact`, the whole file of this width; otherwise a wider one that starts with it. */
  readonly bytes: Uint8Array
  readonly isExact: boolean
}

/** The files in a folder of this system. */
export function folderFiles(folder: string): LogFiles {
  return {
    read: async (path) => orNull(() => readFile(join(folder, path))),
    names: async (path) => (await orNull(() => readdir(join(folder, path)))) ?? [],
  }
}

async function orNull<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw fault
  }
}

/**
 * Reads a tile or bundle. A log removes a partial tile when a wider one exists: then reads a wider one. Null if no file has as many
 * hashes or entries. The log may grow during the call.
 */
export async function findTile(files: LogFiles, tile: TileName): Promise<FoundTile | null> {
  for (let attempt = 1; ; ) {
    const found = await tryTile(files, tile)
    // Between the listing and the reading of wider tiles, the log has removed them, because it has a wider one again.
    if (found === 'replaced') continue
    if (found !== null || tile.width === TILE_WIDTH || attempt === ATTEMPTS) return found
    attempt += 1
  }
}

async function tryTile(files: LogFiles, tile: TileName): Promise<FoundTile | 'replaced' | null> {
  const path = tilePath(tile)
  const exact = await files.read(path)
  if (exact !== null) return { path, bytes: exact, isExact: true }
  if (tile.width === TILE_WIDTH) return null
  const full = tilePath({ ...tile, width: TILE_WIDTH })
  const wider = (await files.names(`${full}.p`)).map(Number).filter((width) => width > tile.width && width < TILE_WIDTH)
  const paths = [...wider.sort((a, b) => a - b).map((width) => tilePath({ ...tile, width })), full]
  let isReplaced = false
  for (const other of paths) {
    const bytes = await files.read(other)
    // No checkpoint covers a wider tile yet: it may be half written.
    if (bytes !== null && prefixOf(bytes, tile) !== null) return { path: other, bytes, isExact: false }
    if (bytes === null && other !== full) isReplaced = true
  }
  return isReplaced ? 'replaced' : null
}

/** The first hashes or entries of a tile or bundle; null if there are fewer. */
export function prefixOf(bytes: Uint8Array, { level, width }: TileName): Uint8Array | null {
  if (level !== 'entries') return bytes.length < width * HASH_BYTES ? null : bytes.subarray(0, width * HASH_BYTES)
  const { entries, restBytes } = decodeEntries(bytes, width)
  return entries.length < width ? null : bytes.subarray(0, bytes.length - restBytes)
}
