// Reads the files of a log for verification: with what a file really contains, so that additions are found as well.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TILE_WIDTH, type TileName, tilePath } from './tile-path.ts'

/** The files of a log, in a folder or behind a URL. */
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
 * Reads a tile or bundle. A log may remove a partial tile when a wider one exists: then reads the next wider one. Null if neither
 * exists.
 */
export async function findTile(files: LogFiles, tile: TileName): Promise<FoundTile | null> {
  const path = tilePath(tile)
  const exact = await files.read(path)
  if (exact !== null) return { path, bytes: exact, isExact: true }
  if (tile.width === TILE_WIDTH) return null
  const full = tilePath({ ...tile, width: TILE_WIDTH })
  const wider = (await files.names(`${full}.p`)).map(Number).filter((width) => width > tile.width && width < TILE_WIDTH)
  const paths = [...wider.sort((a, b) => a - b).map((width) => tilePath({ ...tile, width })), full]
  for (const other of paths) {
    const bytes = await files.read(other)
    if (bytes !== null) return { path: other, bytes, isExact: false }
  }
  return null
}
