// The folder of a log (C2SP tlog-tiles): appends entries as bundles and tiles, publishes checkpoints, and reads both.
import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { BytePool } from './byte-pool.ts'
import { type LogCheckpoint, parseCheckpoint } from './checkpoint.ts'
import { bundleLength, decodeEntries, writeEntries } from './entry-bundle.ts'
import { entryFacts } from './entry-facts.ts'
import { findTile, folderFiles, prefixOf } from './log-files.ts'
import { emptyTree, equalBytes, extendTree, leafHash, rootOf, type TreeState } from './merkle.ts'
import { PRUNED_FILE } from './pruned-note.ts'
import { parseNote } from './signed-note.ts'
import {
  hashesAtLevel,
  levelsOf,
  partialTile,
  TILE_WIDTH,
  type TileLevel,
  type TileName,
  tilePath,
} from './tile-path.ts'
import { hashesOf, TileTree } from './tile-tree.ts'

/** Name of the file with the signed checkpoint. */
export const CHECKPOINT_FILE = 'checkpoint'
/** Folder of the payloads that are too long for an entry. */
export const BODIES_FOLDER = 'bodies'

/** Memory of the bundles of one append. */
const pool = new BytePool(4, 8 * 1024 * 1024)

/** The member of an entry that refers to a payload. */
const DATAREF = '"dataref"'

/** Files that are written at the same time. */
const WRITES_AT_ONCE = 8

/** The files of a log differ from the state that its operator recorded: entries cannot be appended. */
export class LogDamagedError extends Error {
  override readonly name = 'LogDamagedError'
}

/** A file of the log does not exist: its entries were pruned, or never written. */
export class LogFileMissingError extends Error {
  override readonly name = 'LogFileMissingError'
  /** Below the folder of the log. */
  readonly path: string
  constructor(path: string) {
    super(`the file ${path} does not exist in the log`)
    this.path = path
  }
}

/** The result of an append. */
interface AppendedEntries {
  readonly state: TreeState
  readonly root: Uint8Array
  /** Of the appended entries, in order. */
  readonly leafHashes: readonly Uint8Array[]
}

/** The right edge of a log, as it is on disk. */
interface Tail {
  readonly state: TreeState
  /** The hashes of the partial tile of each level. */
  readonly tiles: readonly (readonly Uint8Array[])[]
  /** The bytes of the partial bundle. */
  readonly bundle: Uint8Array
}

interface PendingFile {
  readonly path: string
  readonly bytes: Uint8Array
}

/** One log in one folder. Only one object at a time may append. */
export class TileFolder {
  /** The folder. */
  readonly path: string
  private tree: TileTree
  /** After the last append of this object. */
  private tail: Tail | null = null
  /** Partial tiles that wider ones replaced since the last checkpoint. */
  private superseded: TileName[] = []
  private readonly knownFolders = new Set<string>()

  constructor(path: string) {
    this.path = path
    this.tree = new TileTree((tile) => this.readTile(tile))
  }

  /**
   * Writes entries after `state` as bundles and tiles; durable when it resolves. Overwrites files that a killed process left
   * beyond `state.size`. Rejects with EntryTooLongError before it writes, and with LogDamagedError if the files of the right
   * edge do not have the hashes of `state`.
   */
  async append(state: TreeState, entries: readonly Uint8Array[]): Promise<AppendedEntries> {
    const length = bundleLength(entries)
    const tail =
      this.tail?.state.size === state.size && hasEdge(this.tail.state, state) ? this.tail : await this.load(state)
    // An append that fails leaves files beyond the state.
    this.tail = null
    const leafHashes = entries.map(leafHash)
    const { files, ...edge } = tileFiles(tail, leafHashes)
    const memory = pool.take(tail.bundle.length + length)
    let bundle: Uint8Array
    try {
      const bundles = bundleFiles(tail, entries, memory)
      await this.write([...bundles.files, ...files])
      bundle = new Uint8Array(bundles.last)
    } finally {
      pool.give(memory)
    }
    this.superseded.push(...partialTiles(state.size))
    this.tail = { ...edge, bundle }
    return { state: edge.state, root: rootOf(edge.state), leafHashes }
  }

  /**
   * Writes the signed checkpoint; durable when it resolves. Then removes partial tiles that wider ones replaced, and that
   * neither this checkpoint nor the last append needs.
   */
  async publish(note: string): Promise<void> {
    await this.replaceFile(CHECKPOINT_FILE, Buffer.from(note))
    const sizes = [sizeOf(note), this.tail?.state.size ?? null].filter((size) => size !== null)
    const needed = new Set(sizes.flatMap(partialTiles).map(tilePath))
    const replaced = this.superseded.filter((tile) => !needed.has(tilePath(tile)))
    this.superseded = this.superseded.filter((tile) => needed.has(tilePath(tile)))
    for (const tile of replaced) await this.removePartial(tile)
  }

  /** The signed checkpoint; null if there was no publication yet. */
  async checkpoint(): Promise<string | null> {
    return (await this.readFile(CHECKPOINT_FILE))?.toString() ?? null
  }

  /** The content of the signed checkpoint, whose signatures are not verified; null if there was no publication yet. */
  async published(): Promise<LogCheckpoint | null> {
    return checkpointOf((await this.checkpoint()) ?? '')
  }

  /** Whether there is any tile. A removed log may have a checkpoint without, because a start publishes it again. */
  async hasTiles(): Promise<boolean> {
    return (await namesIn(join(this.path, 'tile'))).length > 0
  }

  /** Writes the signed note about removed entries; durable when it resolves. See `pruned-note.ts`. */
  async writePrunedNote(note: string): Promise<void> {
    await this.replaceFile(PRUNED_FILE, Buffer.from(note))
  }

  /** The signed note about removed entries; null: there is no note. */
  async prunedNote(): Promise<string | null> {
    return (await this.readFile(PRUNED_FILE))?.toString() ?? null
  }

  /**
   * Rejects with LogDamagedError if the published checkpoint has more entries than a state of the log, or other ones: to continue
   * from that state would fork the log.
   */
  async checkContinues({ size, root }: Pick<LogCheckpoint, 'size' | 'root'>): Promise<void> {
    const published = await this.published()
    if (published === null || published.size < size) return
    if (published.size > size)
      throw new LogDamagedError(
        `${this.path}: the checkpoint has ${published.size} entries, and the state ${size}: to append would fork the log`,
      )
    if (!equalBytes(published.root, root))
      throw new LogDamagedError(`${this.path}: the checkpoint has another root hash than the state of equal size`)
  }

  /** The entries `from` to `to` (exclusive). Rejects with LogFileMissingError if they were pruned. */
  async entries(from: number, to: number): Promise<readonly Uint8Array[]> {
    const entries: Uint8Array[] = []
    if (from >= to) return entries
    for (let index = Math.floor(from / TILE_WIDTH); index * TILE_WIDTH < to; index += 1) {
      const start = index * TILE_WIDTH
      const name: TileName = { level: 'entries', index, width: Math.min(TILE_WIDTH, to - start) }
      const bundle = await this.read(name)
      if (bundle === null) throw new LogFileMissingError(tilePath(name))
      entries.push(...decodeEntries(bundle).entries.slice(Math.max(0, from - start), name.width))
    }
    return entries
  }

  /** Proves that the tree of `size` entries has the entry `index`. */
  async inclusionProof(index: number, size: number): Promise<readonly Uint8Array[]> {
    return this.tree.inclusionProof(index, size)
  }

  /** Resolves with a function that returns the inclusion proof of an entry in the bundle of the entry `first`. */
  async inclusionProver(first: number, size: number): Promise<(index: number) => readonly Uint8Array[]> {
    return this.tree.inclusionProver(first, size)
  }

  /** Proves that the tree of `from` entries is a prefix of the tree of `to` entries. */
  async consistencyProof(from: number, to: number): Promise<readonly Uint8Array[]> {
    return this.tree.consistencyProof(from, to)
  }

  /**
   * The bytes of a tile or bundle of exactly this width, which may come from a wider one; null if it does not exist, or was
   * pruned.
   */
  async read(tile: TileName): Promise<Uint8Array | null> {
    const found = await findTile(folderFiles(this.path), tile)
    return found === null ? null : prefixOf(found.bytes, tile)
  }

  /** Stores a payload that is too long for an entry; durable when it resolves. Returns its SHA-256 hash in hexadecimal. */
  async writeBody(body: Uint8Array): Promise<string> {
    const hash = createHash('sha256').update(body).digest('hex')
    await this.folder(BODIES_FOLDER)
    await this.replaceFile(`${BODIES_FOLDER}/${hash}`, body)
    return hash
  }

  /** A payload by its SHA-256 hash; null if it does not exist. */
  async readBody(hash: string): Promise<Uint8Array | null> {
    return /^[0-9a-f]{64}$/.test(hash) ? this.readFile(`${BODIES_FOLDER}/${hash}`) : null
  }

  /**
   * Removes the entry bundles that lie completely before `beforeIndex`, the oldest first, and the payloads to which only their
   * entries refer. Tiles stay, so that proofs remain possible. Before, the log must have an entry of the type `PRUNED_TYPE`
   * with the result as `data.firstIndex`, or verification reports the entries as removed. `isEnd`: `beforeIndex` is the size of a log
   * that no longer grows, so its last bundle is removed even if it is partial. Returns the index of the first entry that is left.
   */
  async prune(beforeIndex: number, isEnd = false): Promise<number> {
    const end = Math.floor(beforeIndex / TILE_WIDTH)
    const first = await this.oldestBundle(end)
    const last = isEnd ? partialTile('entries', beforeIndex) : null
    if (first === end && last === null) return end * TILE_WIDTH
    // Bundles go last: until then, a repetition after a crash finds the payloads.
    for (const body of await this.bodiesOnlyBefore(first, last === null ? end : end + 1))
      await rm(join(this.path, BODIES_FOLDER, body), { force: true })
    const changed = new Set<string>()
    for (let index = first; index < end; index += 1) {
      const path = join(this.path, tilePath({ level: 'entries', index, width: TILE_WIDTH }))
      await rm(path, { force: true })
      changed.add(dirname(path))
    }
    if (last !== null) {
      const folder = join(this.path, dirname(tilePath(last)))
      await rm(folder, { recursive: true, force: true })
      changed.add(dirname(folder))
    }
    for (const folder of changed) if (await exists(folder)) await syncPath(folder)
    return last === null ? end * TILE_WIDTH : beforeIndex
  }

  /** The payloads of the bundles from `first` on that no bundle from `end` on refers to. */
  private async bodiesOnlyBefore(first: number, end: number): Promise<ReadonlySet<string>> {
    const bodies = new Set<string>()
    // Most logs have no payloads outside of their entries.
    if ((await namesIn(join(this.path, BODIES_FOLDER))).length === 0) return bodies
    for (let index = first; index < end; index += 1)
      for (const body of await this.bodiesOfBundle(index)) bodies.add(body)
    for (let index = end; bodies.size > 0; index += 1) {
      const path = tilePath({ level: 'entries', index, width: TILE_WIDTH })
      for (const body of await this.bodiesOfBundle(index)) bodies.delete(body)
      if (!(await exists(join(this.path, path)))) break
    }
    return bodies
  }

  /** The payloads to which the entries of a bundle refer; the widest one if it is partial. */
  private async bodiesOfBundle(index: number): Promise<readonly string[]> {
    const path = tilePath({ level: 'entries', index, width: TILE_WIDTH })
    const bytes = (await this.readFile(path)) ?? (await this.widestPartial(path))
    // Few entries refer to a payload: the others are not parsed, and most bundles are not decoded.
    if (bytes?.includes(DATAREF) !== true) return []
    const referring = decodeEntries(bytes).entries.filter((entry) =>
      Buffer.from(entry.buffer, entry.byteOffset, entry.length).includes(DATAREF),
    )
    return referring.map((entry) => entryFacts(entry).body).filter((body) => body !== null)
  }

  private async widestPartial(path: string): Promise<Buffer | null> {
    const widths = (await namesIn(join(this.path, `${path}.p`))).map(Number)
    return widths.length === 0 ? null : this.readFile(`${path}.p/${Math.max(...widths)}`)
  }

  /** The index of the first full bundle before `end` that exists. Pruned bundles are always the first ones. */
  private async oldestBundle(end: number): Promise<number> {
    let [low, high] = [0, end]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const path = tilePath({ level: 'entries', index: middle, width: TILE_WIDTH })
      if (await exists(join(this.path, path))) high = middle
      else low = middle + 1
    }
    return low
  }

  private async readTile(tile: TileName): Promise<Uint8Array> {
    const bytes = await this.read(tile)
    if (bytes === null) throw new LogFileMissingError(tilePath(tile))
    return bytes
  }

  private async readFile(path: string): Promise<Buffer | null> {
    try {
      return await readFile(join(this.path, path))
    } catch (fault) {
      if (isMissing(fault)) return null
      throw fault
    }
  }

  /** Reads the right edge of `state` from disk, and removes files beyond it. */
  private async load(state: TreeState): Promise<Tail> {
    await this.checkContinues({ size: state.size, root: rootOf(state) })
    const tiles: Uint8Array[][] = []
    for (let level = 0; level < levelsOf(state.size); level += 1) {
      const tile = partialTile(level, state.size)
      tiles.push(tile === null ? [] : hashesOf(await this.readEdge(tile)))
    }
    const edge = tiles.toReversed().flatMap((hashes) => extendTree(emptyTree, hashes).edge)
    if (!hasEdge({ size: state.size, edge }, state))
      throw new LogDamagedError(`${this.path}: the tiles do not have the hashes of the recorded state`)
    const name = partialTile('entries', state.size)
    const bundle = name === null ? new Uint8Array() : await this.readEdge(name)
    const leaves = decodeEntries(bundle).entries.map(leafHash)
    if (name !== null && !leaves.every((leaf, at) => equalBytes(leaf, tiles[0]?.[at] as Uint8Array)))
      throw new LogDamagedError(`${this.path}: ${tilePath(name)} does not have the hashes of its tile`)
    await this.removeBeyond(state.size)
    this.knownFolders.clear()
    this.tree = new TileTree((tile) => this.readTile(tile))
    return { state, tiles, bundle }
  }

  /** The file of exactly this width: if a later checkpoint was published and it is gone, an append would fork the log. */
  private async readEdge(tile: TileName): Promise<Uint8Array> {
    const bytes = await this.readFile(tilePath(tile))
    const prefix = bytes === null ? null : prefixOf(bytes, tile)
    if (prefix === null || prefix.length !== bytes?.length)
      throw new LogDamagedError(`${this.path}: ${tilePath(tile)} does not exist, or has another length than recorded`)
    return bytes
  }

  /**
   * Removes what a killed process left beyond `size`: it would differ from what follows. Also removes partial tiles next to
   * a full one.
   */
  private async removeBeyond(size: number): Promise<void> {
    const levels: TileLevel[] = [
      'entries',
      ...(await namesIn(join(this.path, 'tile'))).map(Number).filter(Number.isInteger),
    ]
    for (const level of levels) {
      const hashes = hashesAtLevel(level, size)
      const next: TileName = { level, index: Math.floor(hashes / TILE_WIDTH), width: TILE_WIDTH }
      await this.removeAfter(`tile/${level}`, tilePath(next).split('/').slice(2), hashes % TILE_WIDTH)
    }
  }

  /**
   * Removes the tiles after the one at `path` in a folder of tiles, and of this one all but the first `width` hashes; in the
   * same folder also partial tiles before it.
   */
  private async removeAfter(folder: string, [name = '', ...path]: readonly string[], width: number): Promise<void> {
    const isFolder = path.length > 0
    for (const other of await namesIn(join(this.path, folder))) {
      const [stem = '', suffix] = other.split('.')
      const order = compareNames(stem, name)
      const isBeyond = order > 0 || (order === 0 && !isFolder && suffix === undefined)
      const isReplaced = order < 0 && suffix !== undefined
      if (isBeyond || isReplaced) await rm(join(this.path, folder, other), { recursive: true, force: true })
      else if (order === 0 && suffix !== undefined) {
        for (const partial of await namesIn(join(this.path, folder, other)))
          if (Number(partial) > width) await rm(join(this.path, folder, other, partial), { force: true })
      }
    }
    if (isFolder) await this.removeAfter(`${folder}/${name}`, path, width)
  }

  private async removePartial(tile: TileName): Promise<void> {
    const path = join(this.path, tilePath(tile))
    await rm(path, { force: true })
    // Fails while the folder has wider tiles.
    await rmdir(dirname(path)).catch(() => {})
    this.knownFolders.delete(dirname(tilePath(tile)))
  }

  /** Writes and syncs files, then the folders that have new names. */
  private async write(files: readonly PendingFile[]): Promise<void> {
    const folders = new Set<string>()
    for (const { path } of files) for (const folder of await this.folder(dirname(path))) folders.add(folder)
    const queue = files.values()
    const writeNext = async (): Promise<void> => {
      for (const { path, bytes } of queue) await writeSynced(join(this.path, path), bytes)
    }
    await Promise.all(Array.from({ length: WRITES_AT_ONCE }, writeNext))
    await Promise.all(Array.from(folders, (folder) => syncPath(folder)))
  }

  /** Creates a folder of the log. Returns the folders whose names must be synced, this one included. */
  private async folder(path: string): Promise<string[]> {
    const folder = join(this.path, path)
    if (this.knownFolders.has(path)) return [folder]
    const created = await mkdir(folder, { recursive: true, mode: 0o700 })
    this.knownFolders.add(path)
    const folders = [folder]
    if (created === undefined) return folders
    for (let parent = folder; parent !== dirname(created); parent = dirname(parent)) folders.push(dirname(parent))
    return folders
  }

  /** Replaces a file in one step: a reader sees the old or the new content. */
  private async replaceFile(path: string, bytes: Uint8Array): Promise<void> {
    for (const folder of await this.folder(dirname(path))) await syncPath(folder)
    const target = join(this.path, path)
    const temporary = join(dirname(target), `.${basename(target)}.new`)
    await writeSynced(temporary, bytes)
    await rename(temporary, target)
    await syncPath(dirname(target))
  }
}

function hasEdge(a: TreeState, b: TreeState): boolean {
  return (
    a.size === b.size &&
    a.edge.length === b.edge.length &&
    a.edge.every((hash, at) => equalBytes(hash, b.edge[at] as Uint8Array))
  )
}

/** Names of tiles in one folder in the order of their indexes: `999` is before `x001`. */
function compareNames(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : Number(a > b))
}

/** The size in a checkpoint; null if the text is not one. */
function sizeOf(note: string): number | null {
  return checkpointOf(note)?.size ?? null
}

/** Null: the text is not a checkpoint. */
function checkpointOf(note: string): LogCheckpoint | null {
  const parsed = parseNote(note)
  const checkpoint = parsed.ok ? parseCheckpoint(parsed.value.text) : null
  return checkpoint?.ok ? checkpoint.value : null
}

/** The partial tiles and the partial bundle of a tree. */
function partialTiles(size: number): TileName[] {
  const levels: TileLevel[] = ['entries', ...Array.from({ length: levelsOf(size) }, (_, level) => level)]
  return levels.map((level) => partialTile(level, size)).filter((tile) => tile !== null)
}

/** The bundles that change, with the content of the partial one. Both are views of `memory`. */
function bundleFiles(
  { state, bundle }: Tail,
  entries: readonly Uint8Array[],
  memory: Uint8Array,
): { files: PendingFile[]; last: Uint8Array } {
  const files: PendingFile[] = []
  memory.set(bundle)
  let [index, width, start, end] = [Math.floor(state.size / TILE_WIDTH), state.size % TILE_WIDTH, 0, bundle.length]
  for (let at = 0; at < entries.length; ) {
    const added = entries.slice(at, at + TILE_WIDTH - width)
    end = writeEntries(added, memory, end)
    width += added.length
    at += added.length
    files.push({ path: tilePath({ level: 'entries', index, width }), bytes: memory.subarray(start, end) })
    if (width === TILE_WIDTH) [index, width, start] = [index + 1, 0, end]
  }
  return { files, last: memory.subarray(start, end) }
}

/** The tiles that change, and the right edge after them. */
function tileFiles(tail: Tail, leafHashes: readonly Uint8Array[]): { files: PendingFile[] } & Omit<Tail, 'bundle'> {
  const { size } = tail.state
  const files: PendingFile[] = []
  const tiles: (readonly Uint8Array[])[] = []
  const edges: (readonly Uint8Array[])[] = []
  let added = leafHashes
  for (let level = 0; level < tail.tiles.length || added.length > 0; level += 1) {
    const full: Uint8Array[] = []
    let index = Math.floor(hashesAtLevel(level, size) / TILE_WIDTH)
    let hashes = tail.tiles[level] ?? []
    let subtree: TreeState = { size: hashes.length, edge: edgeOfLevel(tail.state, level) }
    for (let at = 0; at < added.length; ) {
      const chunk = added.slice(at, at + TILE_WIDTH - hashes.length)
      hashes = [...hashes, ...chunk]
      subtree = extendTree(subtree, chunk)
      at += chunk.length
      files.push({ path: tilePath({ level, index, width: hashes.length }), bytes: Buffer.concat(hashes) })
      if (hashes.length < TILE_WIDTH) continue
      full.push(...subtree.edge)
      subtree = emptyTree
      hashes = []
      index += 1
    }
    tiles.push(hashes)
    edges.push(subtree.edge)
    added = full
  }
  return { files, state: { size: size + leafHashes.length, edge: edges.toReversed().flat() }, tiles }
}

/** The hashes of the right edge that lie in the partial tile of a level: one for each bit of the tile's width. */
function edgeOfLevel({ size, edge }: TreeState, level: number): readonly Uint8Array[] {
  const bitsIn = (count: number): number => count.toString(2).replaceAll('0', '').length
  const above = bitsIn(hashesAtLevel(level + 1, size))
  return edge.slice(above, above + bitsIn(hashesAtLevel(level, size) % TILE_WIDTH))
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Syncs the names in a folder to disk. */
async function syncPath(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Names in a folder; empty if it does not exist. */
async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path)
  } catch (fault) {
    if (isMissing(fault)) return []
    throw fault
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (fault) {
    if (isMissing(fault)) return false
    throw fault
  }
}

function isMissing(fault: unknown): boolean {
  const { code } = fault as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}
