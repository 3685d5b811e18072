// Counts entries on the B-tree pages without LMDB, to verify that a key which LMDB does not find does not exist. Checksums
// protect the values that are found; but a damaged page can hide a key, and a decision may depend on it. The search path is
// walked again on copies of the pages. Each page must be well-formed and within the range of its parent, and both entries
// next to the gap must match their checksums. Results are remembered per page (VerifiedPageCache), so that a miss costs little.
import type { GraphVersion } from '../format/header.ts'
import { PageFile, type PageTree } from '../pages/page-file.ts'
import { findBoundsDamage } from '../pages/page-walk.ts'
import { PageError, VerifiedPage, VerifiedPageCache } from './verified-pages.ts'

export { PageError } from './verified-pages.ts'

const FIRST_KEY = new Uint8Array(0)

/** The file may be written to between two reads of its meta pages. */
const READ_ATTEMPTS_MAX = 5

/** The part of a named database that is needed here. */
export interface ChecksummedEntries {
  readonly name: string
  /** Whether the value matches its checksum under that key. */
  hasValidChecksum(key: Uint8Array, value: Uint8Array): boolean
}

/** Encoded keys from `start` to `end` (exclusive). `endLength` null: only the key `start`. Lengths are in bytes. */
export interface EncodedRange {
  readonly start: Uint8Array
  readonly end: Uint8Array
  startLength: number
  endLength: number | null
}

/** How the version of a read transaction is determined. */
export interface VersionSource {
  /** The version that a new read transaction would see. */
  latest(): GraphVersion
  /** Reads the version from the stored value of the header. */
  readVersion(header: Uint8Array): GraphVersion | null
  readonly headerDatabase: string
  readonly headerKey: Uint8Array
}

/** Counts entries of one file as of a version. */
export class PageCounter {
  private readonly file: PageFile
  private readonly source: VersionSource
  private readonly pages: VerifiedPageCache
  private version: GraphVersion = { writer: 0, commit: 0 }
  private trees: ReadonlyMap<string, PageTree> | null = null
  private readonly cursor: TreeCursor
  private readonly previous: TreeCursor

  constructor(path: string, source: VersionSource) {
    this.file = new PageFile(path)
    this.source = source
    this.pages = new VerifiedPageCache(this.file)
    this.cursor = new TreeCursor(this.pages)
    this.previous = new TreeCursor(this.pages)
  }

  close(): void {
    this.file.close()
  }

  /**
   * Counts the entries of the range in that version. Returns null if the file has a later version, because the pages of the
   * older one can no longer be found. Throws PageError for a damaged page.
   */
  count(database: ChecksummedEntries, range: EncodedRange, version: GraphVersion): number | null {
    this.pages.beginLookup()
    const trees = this.treesAt(version)
    if (trees === null) return null
    const { name } = database
    const tree = trees.get(name)
    if (tree === undefined) throw new PageError(`the database ${name} is missing`)
    if (tree.root === null) {
      if (tree.entries !== 0) throw new PageError(`${name} has no pages but ${tree.entries} entries`)
      return 0
    }
    return this.countIn(database, tree, range)
  }

  private countIn(
    database: ChecksummedEntries,
    tree: PageTree,
    { start, startLength, end, endLength }: EncodedRange,
  ): number {
    const { cursor, previous } = this
    cursor.seek(tree, start, startLength)
    if (cursor.index > 0) this.expectSound(database, cursor.leaf, cursor.index - 1)
    else {
      previous.seek(tree, start, startLength)
      if (previous.stepBack(tree)) this.expectSound(database, previous.leaf, previous.index)
    }
    let found = 0
    for (;;) {
      if (cursor.index === cursor.leaf.count && !cursor.step(tree)) return found
      if (endLength === null) {
        if (cursor.leaf.compare(cursor.index, start, tree.integerKeys, startLength) !== 0) break
      } else if (cursor.leaf.compare(cursor.index, end, tree.integerKeys, endLength) >= 0) break
      found += 1
      cursor.index += 1
    }
    this.expectSound(database, cursor.leaf, cursor.index)
    return found
  }

  private expectSound(database: ChecksummedEntries, leaf: VerifiedPage, index: number): void {
    if (leaf.isVerified(index, database)) return
    const value = leaf.value(index, this.file)
    if (value === null || !database.hasValidChecksum(leaf.key(index), value)) {
      throw new PageError(`${database.name}: an entry of page ${leaf.number} has a wrong checksum`)
    }
    leaf.setVerified(index, database)
  }

  private treesAt({ writer, commit }: GraphVersion): ReadonlyMap<string, PageTree> | null {
    if (this.trees !== null && writer === this.version.writer && commit === this.version.commit) return this.trees
    this.trees = null
    for (let look = 0; look < READ_ATTEMPTS_MAX; look++) {
      const metas = this.file.metas()
      if (metas === null) throw new PageError('a meta page is damaged')
      // The newest meta page may not be on disk yet. Until it is, all read transactions see the one before.
      for (const { main } of metas) {
        this.pages.nextVersion()
        const trees = this.named(main)
        const found = this.stampOf(trees.get(this.source.headerDatabase))
        if (found.writer !== writer || found.commit !== commit) continue
        this.version = found
        this.trees = trees
        return trees
      }
      const latest = this.source.latest()
      if (latest.writer !== writer || latest.commit !== commit) return null
    }
    throw new PageError('no meta page refers to the version that is read')
  }

  private named(main: PageTree): Map<string, PageTree> {
    const { cursor } = this
    const trees = new Map<string, PageTree>()
    if (main.root === null) return trees
    cursor.seek(main, FIRST_KEY, 0)
    do {
      for (let i = 0; i < cursor.leaf.count; i++) {
        const tree = cursor.leaf.tree(i)
        if (tree !== null) trees.set(cursor.leaf.name(i), tree)
      }
      cursor.index = cursor.leaf.count
    } while (cursor.step(main))
    return trees
  }

  private stampOf(tree: PageTree | undefined): GraphVersion {
    const { cursor } = this
    const { headerKey, readVersion } = this.source
    if (tree !== undefined && tree.root !== null) {
      cursor.seek(tree, headerKey, headerKey.length)
      const isThere = cursor.index < cursor.leaf.count && cursor.leaf.compare(cursor.index, headerKey, false) === 0
      const value = isThere ? cursor.leaf.value(cursor.index, this.file) : null
      const version = value === null ? null : readVersion(value)
      if (version !== null) return version
    }
    throw new PageError('the header is damaged')
  }
}

/** A path from the root of a tree to an entry of a leaf. */
class TreeCursor {
  leaf: VerifiedPage
  /** Index in the leaf; the count of its entries if the key comes after all of them. */
  index = 0
  private readonly pageCache: VerifiedPageCache
  private readonly pages: VerifiedPage[] = []
  private readonly indexes: number[] = []

  constructor(pageCache: VerifiedPageCache) {
    this.pageCache = pageCache
    this.leaf = new VerifiedPage(pageCache.file.pageBytes)
  }

  /** Moves to the first entry that is not below the key. `length`: bytes of the key. */
  seek(tree: PageTree, key: Uint8Array, length: number): void {
    const { integerKeys } = tree
    let page = this.load(tree, tree.root!, 1)
    while (!page.isLeaf) {
      // The first key of a branch page is unused.
      let low = 1
      let high = page.count
      while (low < high) {
        const middle = (low + high) >>> 1
        if (page.compare(middle, key, integerKeys, length) <= 0) low = middle + 1
        else high = middle
      }
      page = this.below(tree, page, low - 1)
    }
    let low = 0
    let high = page.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (page.compare(middle, key, integerKeys, length) < 0) low = middle + 1
      else high = middle
    }
    this.leaf = page
    this.index = low
  }

  /** Moves to the first entry of the next leaf. Returns false at the end of the tree. */
  step(tree: PageTree): boolean {
    for (let depth = tree.depth - 1; depth >= 1; depth--) {
      const next = this.indexes[depth]! + 1
      const above = this.pages[depth]!
      if (next >= above.count) continue
      this.depth = depth
      let page = this.below(tree, above, next)
      while (!page.isLeaf) page = this.below(tree, page, 0)
      this.leaf = page
      this.index = 0
      return true
    }
    return false
  }

  /** Moves from the first entry of a leaf to the last entry of the previous leaf. Returns false at the start of the tree. */
  stepBack(tree: PageTree): boolean {
    for (let depth = tree.depth - 1; depth >= 1; depth--) {
      const previous = this.indexes[depth]! - 1
      if (previous < 0) continue
      this.depth = depth
      let page = this.below(tree, this.pages[depth]!, previous)
      while (!page.isLeaf) page = this.below(tree, page, page.count - 1)
      this.leaf = page
      this.index = page.count - 1
      return true
    }
    return false
  }

  /** Depth of the page that was loaded last. */
  private depth = 0

  /** Loads the child of entry `index` of the page that was loaded last. */
  private below(tree: PageTree, page: VerifiedPage, index: number): VerifiedPage {
    this.indexes[this.depth] = index
    return this.load(tree, page.child(index), this.depth + 1, page.number, index)
  }

  private load(tree: PageTree, number: number, depth: number, parent = 0, parentIndex = 0): VerifiedPage {
    const page = this.pageCache.load(number, tree.integerKeys)
    this.pages[depth] = page
    this.depth = depth
    if (page.isLeaf !== depth >= tree.depth) throw new PageError(`page ${number} is at the wrong depth`)
    // The key ranges of two positions in a tree are disjoint: a page that fits one position fits no other.
    if (page.inTree === tree && page.parent === parent && page.parentIndex === parentIndex) return page
    const damage = findBoundsDamage(page, tree.integerKeys, this.bound(depth, 0), this.bound(depth, 1))
    if (damage !== null) throw new PageError(damage)
    page.inTree = tree
    page.parent = parent
    page.parentIndex = parentIndex
    return page
  }

  /** The key of a page above that starts the range of the page (`step` 0) or ends it (1). Null: no bound. */
  private bound(depth: number, step: number): Uint8Array | null {
    for (let above = depth - 1; above >= 1; above--) {
      const at = this.indexes[above]! + step
      const page = this.pages[above]!
      if (at > 0 && at < page.count) return page.key(at)
    }
    return null
  }
}
