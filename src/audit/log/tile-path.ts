// Paths of tiles and entry bundles (C2SP tlog-tiles).

/** Hashes in a full tile, and entries in a full bundle. */
export const TILE_WIDTH = 256

/** `entries`: the bundles of entries. A number: the tiles of this level. */
export type TileLevel = number | 'entries'

/** A tile or bundle. `width`: 1 to 256; below 256 it is partial. */
export interface TileName {
  readonly level: TileLevel
  readonly index: number
  readonly width: number
}

/** The path of a tile below the prefix of the log, such as `tile/0/x001/234.p/17`. */
export function tilePath({ level, index, width }: TileName): string {
  const path = `tile/${level}/${indexPath(index)}`
  return width === TILE_WIDTH ? path : `${path}.p/${width}`
}

function indexPath(index: number): string {
  const last = String(index % 1000).padStart(3, '0')
  const parts = [last]
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000))
    parts.unshift(`x${String(rest % 1000).padStart(3, '0')}`)
  return parts.join('/')
}

const PATH = /^tile\/(entries|0|[1-9]\d?)\/((?:x\d{3}\/)*)(\d{3})(?:\.p\/([1-9]\d{0,2}))?$/

/** The tile at a path; null if the path is not the one path of a tile. */
export function parseTilePath(path: string): TileName | null {
  const [, level = '', folders = '', last = '', partial] = PATH.exec(path) ?? []
  if (level === '') return null
  const tile: TileName = {
    level: level === 'entries' ? level : Number(level),
    index: Number(folders.replaceAll(/[x/]/g, '') + last),
    width: partial === undefined ? TILE_WIDTH : Number(partial),
  }
  const isValid = Number.isSafeInteger(tile.index) && (tile.level === 'entries' || tile.level <= 63)
  return isValid && tile.width <= TILE_WIDTH && tilePath(tile) === path ? tile : null
}

/** The hashes of level `level` in a tree of `size` entries. */
export function hashesAtLevel(level: TileLevel, size: number): number {
  return level === 'entries' ? size : Math.floor(size / TILE_WIDTH ** level)
}

/** The tile with hash `at` of its level, as wide as a tree of `size` entries has it. */
export function tileAt(level: TileLevel, at: number, size: number): TileName {
  const index = Math.floor(at / TILE_WIDTH)
  return { level, index, width: Math.min(TILE_WIDTH, hashesAtLevel(level, size) - index * TILE_WIDTH) }
}

/** Number of levels with tiles in a tree of `size` entries. */
export function levelsOf(size: number): number {
  let levels = 0
  while (hashesAtLevel(levels, size) > 0) levels += 1
  return levels
}

/** The tile that a tree of `size` entries has only partially at this level; null if its last tile is full. */
export function partialTile(level: TileLevel, size: number): TileName | null {
  const hashes = hashesAtLevel(level, size)
  return hashes % TILE_WIDTH === 0 ? null : tileAt(level, hashes - 1, size)
}
