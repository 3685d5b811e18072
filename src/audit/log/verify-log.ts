// Verifies a log: the signatures of its checkpoint, its tiles from the signed root down to the leaves, every entry against its
// leaf hash, payloads outside of entries, and an older checkpoint. Reads one bundle after the other, so that the memory does not
// grow with the log.
import { createHash } from 'node:crypto'
import { assert } from '../../kernel/assert.ts'
import { type LogCheckpoint, parseCheckpoint } from './checkpoint.ts'
import { decodeEntries } from './entry-bundle.ts'
import { entryFacts, type ReplacedLog } from './entry-facts.ts'
import { type FoundTile, findTile, type LogFiles } from './log-files.ts'
import { emptyTree, equalBytes, extendTree, HASH_BYTES, leafHash, rootOf, rootOfHashes } from './merkle.ts'
import { PRUNED_FILE, parsePruned } from './pruned-note.ts'
import { type NoteVerifier, openNote } from './signed-note.ts'
import { BODIES_FOLDER, CHECKPOINT_FILE } from './tile-folder.ts'
import { levelsOf, partialTile, TILE_WIDTH, type TileName, tileAt, tilePath } from './tile-path.ts'
import { hashesOf, type ReadTile, TileTree } from './tile-tree.ts'

/** Tiles and bundles that are read ahead. */
const READ_AHEAD = 8
/** Later faults are not reported. */
const FAULTS_MAX = 100

/**
 * - `removed`: an entry or file is missing, or the log is shorter than it was.
 * - `changed`: an entry, tile or payload has other bytes.
 * - `inserted`: an entry was added between others, or occurs twice.
 * - `forked`: another tree than the signed one, or two signed trees of which neither continues the other.
 * - `unsigned`: the checkpoint is not signed by a given key, or is missing.
 */
export type LogFaultKind = 'removed' | 'changed' | 'inserted' | 'forked' | 'unsigned'

/** One reason why a log is not sound. */
export interface LogFault {
  readonly kind: LogFaultKind
  /** Index of the first entry concerned; null if it cannot be known. */
  readonly index: number | null
  /** The file and how it differs. */
  readonly message: string
}

/** The keys and the log that a verification expects. */
export interface VerifyOptions {
  /** At least one of these keys must have signed. */
  readonly verifiers: readonly NoteVerifier[]
  /** Null: the name of one of the keys. */
  readonly origin: string | null
  /** A checkpoint that the log must continue: its own, or that of the log that it replaced after a restore. */
  readonly against: LogCheckpoint | null
}

/** The result of a verification. */
export interface LogVerdict {
  /** Null if the checkpoint is not valid. */
  readonly checkpoint: LogCheckpoint | null
  /** The names and ids of the keys that signed the checkpoint. */
  readonly signedBy: readonly string[]
  /** Index of the first entry that was not removed by retention. */
  readonly firstEntry: number
  /** Entries that were read. */
  readonly entries: number
  /** Payloads that were read from the folder of bodies. */
  readonly bodies: number
  /** The log that this one replaced, as its first entry states. */
  readonly previous: ReplacedLog | null
  /** False if `against` belongs to another log, or to more of the replaced log than this one states. */
  readonly isCompared: boolean
  /** By index; empty if the log is sound. At most 100. */
  readonly faults: readonly LogFault[]
}

/** Verifies a log. Rejects if its files cannot be read. */
export async function verifyLog(files: LogFiles, options: VerifyOptions): Promise<LogVerdict> {
  const note = await files.read(CHECKPOINT_FILE)
  const opened =
    note === null
      ? { ok: false as const, error: `the file ${CHECKPOINT_FILE} does not exist` }
      : openCheckpoint(Buffer.from(note).toString(), options)
  if (!opened.ok) {
    const fault: LogFault = { kind: 'unsigned', index: null, message: opened.error }
    const nothing = { firstEntry: 0, entries: 0, bodies: 0, previous: null, isCompared: false }
    return { ...nothing, checkpoint: null, signedBy: [], faults: [fault] }
  }
  const { checkpoint, signedBy } = opened.value
  const walk = new LogWalk(files, checkpoint)
  await walk.readPrunedNote(options.verifiers)
  await walk.run()
  const isCompared = options.against !== null && (await walk.compare(options.against))
  const { firstEntry, entries, bodies, previous } = walk
  return { checkpoint, signedBy, firstEntry, entries, bodies, previous, isCompared, faults: walk.sortedFaults() }
}

/** A checkpoint with the keys that signed it. */
interface OpenedCheckpoint {
  readonly checkpoint: LogCheckpoint
  readonly signedBy: readonly string[]
}

/** Verifies the signatures and the origin of a checkpoint. */
export function openCheckpoint(
  note: string,
  { verifiers, origin }: Pick<VerifyOptions, 'verifiers' | 'origin'>,
): { readonly ok: true; readonly value: OpenedCheckpoint } | { readonly ok: false; readonly error: string } {
  const opened = openNote(note, verifiers)
  if (!opened.ok) return { ok: false, error: `the checkpoint: ${opened.error}` }
  const checkpoint = parseCheckpoint(opened.value.text)
  if (!checkpoint.ok) return checkpoint
  const found = checkpoint.value.origin
  if (origin === null ? !verifiers.some(({ name }) => name === found) : found !== origin)
    return { ok: false, error: `the checkpoint is of the log ${found}, which is not the expected one` }
  const signedBy = opened.value.verified.map(({ name, keyId }) => `${name}+${Buffer.from(keyId).toString('hex')}`)
  return { ok: true, value: { checkpoint: checkpoint.value, signedBy } }
}

/** The leaf hashes of a bundle, and what follows the last complete entry. */
interface BundleLeaves {
  readonly entries: readonly Uint8Array[]
  readonly leaves: readonly Uint8Array[]
  readonly restBytes: number
}

class LogWalk {
  firstEntry = 0
  entries = 0
  bodies = 0
  previous: ReplacedLog | null = null
  private readonly files: LogFiles
  private readonly origin: string
  private readonly size: number
  private readonly root: Uint8Array
  private readonly faults: LogFault[] = []
  /** The hashes of the partial tile of each level, which together have the signed root. */
  private edge: (readonly Uint8Array[])[] = []
  /** The full tile that was read last, by level. */
  private readonly current: { index: number; hashes: readonly Uint8Array[] | null }[] = []
  private readonly ahead = new Map<string, Promise<FoundTile | null>>()
  private readonly sequences = new Map<string, string>()
  private prunedTo = 0
  private readonly missingBodies: LogFault[] = []

  constructor(files: LogFiles, { origin, size, root }: LogCheckpoint) {
    this.files = files
    this.origin = origin
    this.size = size
    this.root = root
  }

  sortedFaults(): readonly LogFault[] {
    const at = ({ index }: LogFault): number => index ?? Number.POSITIVE_INFINITY
    return this.faults.toSorted((a, b) => at(a) - at(b) || 0)
  }

  /** Reads the note about removed entries, which a log has that a restore has replaced. */
  async readPrunedNote(verifiers: readonly NoteVerifier[]): Promise<void> {
    const note = await this.files.read(PRUNED_FILE)
    if (note === null) return
    const opened = openNote(Buffer.from(note).toString(), verifiers)
    const pruned = opened.ok ? parsePruned(opened.value.text) : opened
    if (!pruned.ok) this.report('unsigned', null, `the file ${PRUNED_FILE}: ${pruned.error}`)
    else if (pruned.value.origin !== this.origin)
      this.report('unsigned', null, `the file ${PRUNED_FILE} is of the log ${pruned.value.origin}`)
    else this.prunedTo = pruned.value.firstIndex
  }

  async run(): Promise<void> {
    const hasRoot = await this.readEdge()
    for (let start = 0; start < this.size; start += TILE_WIDTH) {
      this.readAhead(start)
      await this.readBundle(start)
    }
    this.checkPruned()
    if (!hasRoot && this.faults.length === 0) {
      const how = 'the entries and tiles agree with each other, and not with the root hash in the signed checkpoint'
      this.report('forked', null, how)
    }
  }

  /** Checks that the log continues an older checkpoint. Returns false if the checkpoint is of a log about which nothing is known. */
  async compare(against: LogCheckpoint): Promise<boolean> {
    if (against.origin !== this.origin) return this.compareWithPrevious(against)
    if (against.size > this.size) {
      const how = `the other checkpoint has ${against.size} entries, this log has ${this.size}`
      this.report('removed', this.size, how)
      return true
    }
    const root = against.size === this.size ? this.root : await this.rootAt(against.size)
    if (root !== null && !equalBytes(root, against.root))
      this.report('forked', null, `the first ${against.size} entries are not those of the other checkpoint`)
    return true
  }

  private compareWithPrevious({ origin, size, root }: LogCheckpoint): boolean {
    const { previous } = this
    if (previous === null || previous.origin !== origin || previous.size > size) return false
    if (previous.size < size) {
      const loss = previous.isDamaged
        ? 'the last ones are not in the index that replaced it'
        : 'a restore lost the last ones'
      const how = `this log replaced ${origin} at ${previous.size} entries, and the other checkpoint has ${size}: ${loss}`
      this.report('removed', previous.size, how)
    } else if (!equalBytes(previous.root, root))
      this.report(
        'forked',
        null,
        `the ${size} entries of ${origin} that this log replaced are not those of the other checkpoint`,
      )
    return true
  }

  /** Null if a tile is missing, which is reported already. */
  private async rootAt(size: number): Promise<Uint8Array | null> {
    try {
      return await new TileTree(tileReader(this.files)).rootAt(size, this.size)
    } catch (fault) {
      if (!(fault instanceof TileMissingError)) throw fault
      assert(this.faults.length > 0, 'a missing tile is reported')
      return null
    }
  }

  /** Reads the right edge of the tree. Returns whether it has the signed root, if necessary after the repair of some tiles. */
  private async readEdge(): Promise<boolean> {
    const found: (readonly Uint8Array[] | null)[] = []
    const tiles: (TileName | null)[] = []
    for (let level = 0; level < levelsOf(this.size); level += 1) {
      const tile = partialTile(level, this.size)
      tiles.push(tile)
      found.push(tile === null ? [] : await this.readHashes(tile))
    }
    if (this.hasSignedRoot(found)) return true
    const repaired = await Promise.all(tiles.map(async (tile) => (tile === null ? [] : this.fromBelow(tile))))
    const all = found.map((_, level) => level)
    for (const replaced of [...all.map((level) => [level]), all]) {
      const candidate = found.map((hashes, level) =>
        hashes === null || replaced.includes(level) ? (repaired[level] ?? null) : hashes,
      )
      if (!this.hasSignedRoot(candidate)) continue
      for (const [level, tile] of tiles.entries()) this.reportDifference(tile, found[level], candidate[level])
      return true
    }
    this.edge = found.map((hashes, level) => hashes ?? repaired[level] ?? [])
    return false
  }

  private hasSignedRoot(candidate: readonly (readonly Uint8Array[] | null)[]): boolean {
    const levels = candidate.filter((hashes) => hashes !== null)
    if (levels.length < candidate.length) return false
    const edge = levels.toReversed().flatMap((hashes) => extendTree(emptyTree, hashes).edge)
    if (!equalBytes(rootOf({ edge }), this.root)) return false
    this.edge = levels
    return true
  }

  private reportDifference(
    tile: TileName | null,
    found: readonly Uint8Array[] | null | undefined,
    right: readonly Uint8Array[] | null | undefined,
  ): void {
    // A missing tile is reported already.
    if (tile === null || !found || !right) return
    const at = found.findIndex((hash, index) => !equalBytes(hash, right[index] ?? new Uint8Array()))
    if (at >= 0)
      this.report('changed', firstEntryOf(tile, at), `${tilePath(tile)}: hash ${at} is not that of its entries`)
  }

  /** The hashes that a tile must have according to the files below it; null if they are incomplete. */
  private async fromBelow({ level, index, width }: TileName): Promise<readonly Uint8Array[] | null> {
    assert(level !== 'entries', 'bundles have no tiles below')
    if (level === 0) {
      const bundle = await this.readLeaves(index * TILE_WIDTH)
      return bundle === null || bundle.leaves.length < width ? null : bundle.leaves.slice(0, width)
    }
    const hashes: Uint8Array[] = []
    for (let at = 0; at < width; at += 1) {
      const child = await this.find({ level: level - 1, index: index * TILE_WIDTH + at, width: TILE_WIDTH })
      if (child === null || child.bytes.length < TILE_WIDTH * HASH_BYTES) return null
      hashes.push(rootOfHashes(hashesOf(child.bytes).slice(0, TILE_WIDTH)))
    }
    return hashes
  }

  /** The hashes of a tile; null if they cannot be known, which is reported. */
  private async hashes(level: number, index: number): Promise<readonly Uint8Array[] | null> {
    const tile = tileAt(level, index * TILE_WIDTH, this.size)
    if (tile.width < TILE_WIDTH) return this.edge[level] ?? null
    const current = this.current[level]
    if (current?.index === index) return current.hashes
    const parent = await this.hashes(level + 1, Math.floor(index / TILE_WIDTH))
    const expected = parent?.[index % TILE_WIDTH] ?? null
    const hashes = await this.verifiedHashes(tile, expected)
    this.current[level] = { index, hashes }
    return hashes
  }

  private async verifiedHashes(tile: TileName, expected: Uint8Array | null): Promise<readonly Uint8Array[] | null> {
    const found = await this.readHashes(tile)
    if (expected === null || (found !== null && equalBytes(rootOfHashes(found), expected))) return found
    const right = await this.fromBelow(tile)
    if (right !== null && equalBytes(rootOfHashes(right), expected)) {
      this.reportDifference(tile, found, right)
      return right
    }
    if (found !== null)
      this.report('changed', firstEntryOf(tile, 0), `${tilePath(tile)} does not have the hash in the tile above`)
    return null
  }

  /** Reads a tile and reports if it is missing, or has another length than its width. */
  private async readHashes(tile: TileName): Promise<readonly Uint8Array[] | null> {
    const found = await this.find(tile)
    const path = tilePath(tile)
    const first = firstEntryOf(tile, 0)
    if (found === null) {
      this.report('removed', first, `${path} does not exist`)
      return null
    }
    const { bytes, isExact } = found
    const length = tile.width * HASH_BYTES
    if (bytes.length < length) {
      const complete = Math.floor(bytes.length / HASH_BYTES)
      this.report(
        'removed',
        firstEntryOf(tile, complete),
        `${found.path} has ${bytes.length} bytes instead of ${length}`,
      )
      return null
    }
    if (isExact && bytes.length > length)
      this.report('inserted', firstEntryOf(tile, tile.width), `${path} has ${bytes.length} bytes instead of ${length}`)
    return hashesOf(bytes.subarray(0, length))
  }

  private async readLeaves(start: number): Promise<(BundleLeaves & { readonly found: FoundTile }) | null> {
    const found = await this.find(tileAt('entries', start, this.size))
    if (found === null) return null
    const { width } = tileAt('entries', start, this.size)
    const { entries, restBytes } = decodeEntries(found.bytes, found.isExact ? undefined : width)
    return { found, entries, restBytes: found.isExact ? restBytes : 0, leaves: entries.map(leafHash) }
  }

  private async readBundle(start: number): Promise<void> {
    const tile = tileAt('entries', start, this.size)
    const path = tilePath(tile)
    const expected = await this.hashes(0, tile.index)
    const bundle = await this.readLeaves(start)
    this.ahead.delete(path)
    this.ahead.delete(tilePath({ ...tile, level: 0 }))
    if (bundle === null) {
      // Retention removes the first bundles; of a log that no longer grows also the last one.
      const isRemoved = tile.width === TILE_WIDTH || start + tile.width <= this.prunedTo
      if (this.firstEntry === start && isRemoved) this.firstEntry = start + tile.width
      else this.report('removed', start, `${path} does not exist`)
      return
    }
    const { entries, leaves, restBytes } = bundle
    this.entries += Math.min(entries.length, tile.width)
    if (expected === null) {
      this.report('changed', start, `${bundle.found.path} cannot be verified: its tile is not valid`)
      return
    }
    const fault = differenceOf(expected, leaves, restBytes)
    if (fault !== null) this.report(fault.kind, start + fault.at, `${bundle.found.path}: ${fault.message}`)
    for (let at = 0; at < (fault?.at ?? tile.width); at += 1)
      await this.readFacts(start + at, entries[at] as Uint8Array)
  }

  /** Checks the members of an authentic entry. */
  private async readFacts(index: number, entry: Uint8Array): Promise<void> {
    const { source, sequence, body, prunedTo, previous } = entryFacts(entry)
    if (index === 0) this.previous = previous
    if (prunedTo !== null) this.prunedTo = Math.max(this.prunedTo, prunedTo)
    if (source !== null) {
      const last = this.sequences.get(source)
      if (last !== undefined && sequence <= last)
        this.report('inserted', index, `entry ${index} has the sequence ${sequence} of ${source}, which is at ${last}`)
      else this.sequences.set(source, sequence)
    }
    if (body !== null) await this.readBody(index, body)
  }

  private async readBody(index: number, hash: string): Promise<void> {
    const path = `${BODIES_FOLDER}/${hash}`
    const bytes = await this.files.read(path)
    if (bytes === null) {
      if (this.missingBodies.length < FAULTS_MAX)
        this.missingBodies.push({
          kind: 'removed',
          index,
          message: `${path}, the payload of entry ${index}, does not exist`,
        })
      return
    }
    this.bodies += 1
    if (createHash('sha256').update(bytes).digest('hex') !== hash)
      this.report('changed', index, `${path}, the payload of entry ${index}, does not have this hash`)
  }

  /** Entries may be missing at the start, up to the index that an entry of the log or the note about removed entries names. */
  private checkPruned(): void {
    for (const fault of this.missingBodies)
      if ((fault.index as number) >= this.prunedTo) this.report(fault.kind, fault.index, fault.message)
    if (this.firstEntry <= this.prunedTo) return
    const stated =
      this.prunedTo === 0
        ? 'no entry says that entries were removed'
        : `only ${this.prunedTo} were removed by retention`
    this.report('removed', this.prunedTo, `the entries before ${this.firstEntry} do not exist, and ${stated}`)
  }

  private readAhead(start: number): void {
    for (let index = start / TILE_WIDTH; index < start / TILE_WIDTH + READ_AHEAD; index += 1) {
      const at = index * TILE_WIDTH
      if (at >= this.size) return
      for (const tile of [tileAt('entries', at, this.size), tileAt(0, at, this.size)]) {
        const path = tilePath(tile)
        if (this.ahead.has(path)) continue
        const reading = findTile(this.files, tile)
        // Handled where it is awaited.
        reading.catch(() => {})
        this.ahead.set(path, reading)
      }
    }
  }

  private find(tile: TileName): Promise<FoundTile | null> {
    return this.ahead.get(tilePath(tile)) ?? findTile(this.files, tile)
  }

  private report(kind: LogFaultKind, index: number | null, message: string): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push({ kind, index, message })
  }
}

/** The first entry below hash `at` of a tile. */
function firstEntryOf({ level, index }: TileName, at: number): number {
  return (index * TILE_WIDTH + at) * (level === 'entries' ? 1 : TILE_WIDTH ** level)
}

/** How the leaf hashes of a bundle differ from those of its tile; null if they do not. */
function differenceOf(
  expected: readonly Uint8Array[],
  leaves: readonly Uint8Array[],
  restBytes: number,
): { readonly kind: LogFaultKind; readonly at: number; readonly message: string } | null {
  const at = expected.findIndex((hash, index) => !isHash(leaves[index], hash))
  if (at < 0) {
    const more = leaves.length - expected.length
    if (more === 0 && restBytes === 0) return null
    const message = more > 0 ? `${more} more entries than the tree has` : `${restBytes} bytes after the last entry`
    return { kind: 'inserted', at: expected.length, message }
  }
  if (leaves.length <= at) {
    return { kind: 'removed', at, message: `${leaves.length} entries instead of ${expected.length}` }
  }
  const isShifted = (from: readonly Uint8Array[], to: readonly Uint8Array[]): boolean => {
    const place = from.findIndex((hash, index) => index > at && isHash(to[at], hash))
    return place > at && isHash(to[at + 1], from[place + 1] ?? new Uint8Array())
  }
  if (leaves.length > expected.length || isShifted(leaves, expected))
    return { kind: 'inserted', at, message: `entry ${at} of the bundle is not in the tree` }
  if (leaves.length < expected.length || isShifted(expected, leaves))
    return { kind: 'removed', at, message: `entry ${at} of the bundle is missing` }
  return { kind: 'changed', at, message: `entry ${at} of the bundle does not have the hash in the tree` }
}

function isHash(found: Uint8Array | undefined, expected: Uint8Array): boolean {
  return found !== undefined && equalBytes(found, expected)
}

/** A tile of a log does not exist, or is too short. */
export class TileMissingError extends Error {
  override readonly name = 'TileMissingError'
}

/** Reads tiles of a log for proofs. */
export function tileReader(files: LogFiles): ReadTile {
  return async (tile) => {
    const found = await findTile(files, tile)
    if (found === null || found.bytes.length < tile.width * HASH_BYTES)
      throw new TileMissingError(`${tilePath(tile)} does not exist, or is too short`)
    return found.bytes.subarray(0, tile.width * HASH_BYTES)
  }
}
