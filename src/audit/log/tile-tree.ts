// Hashes of any range of a log, and proofs, computed from its tiles.
import { LRUCache } from 'lru-cache'
import {
  consistencyRanges,
  type EntryRange,
  HASH_BYTES,
  inclusionRanges,
  nodeHash,
  rootOf,
  type Subtree,
  subtreesOf,
} from './merkle.ts'
import { TILE_WIDTH, type TileName, tileAt } from './tile-path.ts'

/** Binary levels that one level of tiles spans. */
const LEVELS_PER_TILE = 8
/** Tiles with all their inner hashes, of 16 KiB each. */
const CACHED_TILES = 64

/** Reads the hashes of a tile. Rejects if the tile does not exist or is too short. */
export type ReadTile = (tile: TileName) => Promise<Uint8Array>

/** Splits the bytes of a tile into hashes, which are views of it. */
export function hashesOf(tile: Uint8Array): Uint8Array[] {
  return Array.from({ length: Math.floor(tile.length / HASH_BYTES) }, (_, at) =>
    tile.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  )
}

/** The hashes of the complete subtrees in a tile, by binary level. */
type TileNodes = readonly (readonly Uint8Array[])[]

function nodesOf(tile: Uint8Array): TileNodes {
  let below = hashesOf(tile)
  const levels = [below]
  while (below.length > 1) {
    const children = below
    below = Array.from({ length: Math.floor(children.length / 2) }, (_, at) =>
      nodeHash(children[2 * at] as Uint8Array, children[2 * at + 1] as Uint8Array),
    )
    levels.push(below)
  }
  return levels
}

/** The hash of a range of a proof inside of a tile of level 0. */
function hashInTile(range: EntryRange, nodes: TileNodes): Uint8Array {
  const edge = subtreesOf(range).map(({ level, index }) => {
    const hash = nodes[level]?.[index % (TILE_WIDTH / 2 ** level)]
    if (hash === undefined) throw new RangeError(`the tile does not have the entries ${range.from} to ${range.to}`)
    return hash
  })
  return rootOf({ edge })
}

/** Reads a log's tree through its tiles. Keeps the tiles that it read last. */
export class TileTree {
  private readonly read: ReadTile
  private readonly cached = new LRUCache<string, TileNodes>({ max: CACHED_TILES })

  constructor(read: ReadTile) {
    this.read = read
  }

  /** The root hash of the first `size` entries of a tree of `treeSize`, whose tiles are read. */
  async rootAt(size: number, treeSize: number): Promise<Uint8Array> {
    return this.rangeHash({ from: 0, to: size }, treeSize)
  }

  /** The inclusion proof of an entry in the tree of `size` entries. */
  async inclusionProof(index: number, size: number): Promise<Uint8Array[]> {
    return this.rangeHashes(inclusionRanges(index, size), size)
  }

  /**
   * Resolves with a function that returns the inclusion proof of an entry in the bundle of the entry `first`. Faster than one proof
   * after the other: the hashes outside of the bundle are the same for all its entries.
   */
  async inclusionProver(first: number, size: number): Promise<(index: number) => readonly Uint8Array[]> {
    const start = first - (first % TILE_WIDTH)
    const isOutside = ({ from, to }: EntryRange): boolean => to <= start || from >= start + TILE_WIDTH
    const outside = await this.rangeHashes(inclusionRanges(first, size).filter(isOutside), size)
    const nodes = await this.nodes(tileAt(0, first, size))
    return (index) => {
      const inside = inclusionRanges(index, size).filter((range) => !isOutside(range))
      return [...inside.map((range) => hashInTile(range, nodes)), ...outside]
    }
  }

  /** The proof that the tree of `from` entries is a prefix of the tree of `to` entries. */
  async consistencyProof(from: number, to: number): Promise<Uint8Array[]> {
    return this.rangeHashes(consistencyRanges(from, to), to)
  }

  private async rangeHashes(ranges: readonly EntryRange[], size: number): Promise<Uint8Array[]> {
    const hashes: Uint8Array[] = []
    for (const range of ranges) hashes.push(await this.rangeHash(range, size))
    return hashes
  }

  /** The range must be one of a proof, or start at 0. */
  private async rangeHash(range: EntryRange, size: number): Promise<Uint8Array> {
    const edge: Uint8Array[] = []
    for (const subtree of subtreesOf(range)) edge.push(await this.subtreeHash(subtree, size))
    return rootOf({ edge })
  }

  private async subtreeHash({ level, index }: Subtree, size: number): Promise<Uint8Array> {
    const inTile = level % LEVELS_PER_TILE
    const first = index * 2 ** inTile
    const tile = tileAt((level - inTile) / LEVELS_PER_TILE, first, size)
    const hash = (await this.nodes(tile))[inTile]?.[(first % TILE_WIDTH) / 2 ** inTile]
    if (hash === undefined)
      throw new RangeError(`the tree of ${size} entries has no subtree ${index} of level ${level}`)
    return hash
  }

  private async nodes(tile: TileName): Promise<TileNodes> {
    const key = `${tile.level}/${tile.index}`
    const known = this.cached.get(key)
    if (known !== undefined && (known[0]?.length ?? 0) >= tile.width) return known
    const nodes = nodesOf(await this.read(tile))
    this.cached.set(key, nodes)
    return nodes
  }
}
