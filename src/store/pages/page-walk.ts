// Walks the B-trees of an LMDB file page by page and finds damage that LMDB would not notice: wrong page numbers, gaps, keys
// out of order or outside the range of the parent, and wrong counts.
import { findOverflowDamage, INTEGER_KEYS, type MetaPage, type PageFile, type PageTree, TreePage } from './page-file.ts'

/** Greater than the depth of any tree of 2^48 pages. */
const DEPTH_MAX = 64

/** Leaf pages that are read at once in the order of the file. */
const READ_PAGES = 32

/** Their check takes about 0.1 ms. */
const STEP_PAGES = 16

/**
 * Which leaf pages are read, and when. `by key`: in key order, and their keys are compared with those of the branch pages above.
 * `by page`: after all branch pages, in the order of the file, which is many times as fast. `none`: they are counted and not read.
 */
type LeafReads = 'by key' | 'by page' | 'none'

/** How much of a file is walked. */
export interface WalkOptions {
  readonly leaves: LeafReads
  /** Maximum number of branch pages, or of pages `by key`, to read. The rest is not checked. Absent: all. */
  readonly pagesMax?: number
  /** Called with each leaf page of a named database after its checks, in key order. Needs `by key`. */
  readonly onLeaf?: (database: string, page: TreePage) => void
  /** Databases to walk before the others. */
  readonly first?: readonly string[]
}

/** Returns the first damage found in the trees of that meta page as a phrase, or null. */
export function findTreeDamage(file: PageFile, meta: MetaPage, options: WalkOptions): string | null {
  return runToEnd(walkTrees(file, meta, options))
}

/** As `findTreeDamage`, yielding after each page, or after each `STEP_PAGES` pages in the order of the file. */
export function walkTrees(file: PageFile, meta: MetaPage, options: WalkOptions): Generator<void, string | null> {
  return new TreeWalk(file, meta, options).run()
}

/** Runs a generator to its end and returns its result. */
export function runToEnd<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Thrown and caught within a walk. */
class TreeDamageError extends Error {}

/** The keys of a page are at or above `low` and below `high`; null: no bound. */
interface KeyBounds {
  readonly low: Uint8Array | null
  readonly high: Uint8Array | null
  readonly transaction: number
}

interface PageCounts {
  branchPages: number
  leafPages: number
  overflowPages: number
  entries: number
}

/** A tree, and what was counted of it. */
interface WalkedTree {
  readonly name: string
  readonly tree: PageTree
  readonly counts: PageCounts
  /** Called with each entry of the tree, whose leaf pages are then read in key order. */
  readonly each?: ((page: TreePage, i: number) => void) | undefined
}

class TreeWalk {
  private readonly file: PageFile
  private readonly meta: MetaPage
  private readonly options: WalkOptions
  private readonly pages: TreePage[] = []
  /** Number of pages in the file. LMDB need not have written free pages at its end. */
  private readonly pageCount: number
  /** One bit per page: set if a tree refers to it. */
  private readonly reached: Uint8Array
  /** One bit per page: set if the free list contains it. */
  private readonly free: Uint8Array
  /** By page: the number of the tree whose leaf page is still to be read, counted from 1. Empty unless leaves are read `by page`. */
  private readonly unread: Uint8Array
  private readonly walked: WalkedTree[] = []
  private left: number
  /** True while the named databases are walked. */
  private areNamed = false

  constructor(file: PageFile, meta: MetaPage, options: WalkOptions) {
    this.file = file
    this.meta = meta
    this.options = options
    this.left = options.pagesMax ?? Number.POSITIVE_INFINITY
    this.pageCount = Math.min(file.pageCount(), meta.lastPage + 1)
    this.reached = new Uint8Array((this.pageCount >>> 3) + 1)
    this.free = new Uint8Array(this.reached.length)
    this.unread = new Uint8Array(options.leaves === 'by page' ? this.pageCount : 0)
  }

  *run(): Generator<void, string | null> {
    try {
      yield* this.tree('free pages', this.meta.free, (page, i) => this.freePages(page, i))
      const named: [string, PageTree][] = []
      yield* this.tree('names', this.meta.main, (page, i) => {
        const tree = page.tree(i)
        const name = page.name(i)
        if (tree !== null) named.push([name, tree])
      })
      const { first = [] } = this.options
      const rank = (name: string): number => (first.includes(name) ? first.indexOf(name) : first.length)
      named.sort(([a], [b]) => rank(a) - rank(b))
      this.areNamed = true
      for (const [name, tree] of named) yield* this.tree(name, tree)
      yield* this.leavesByPage()
      if (this.left > 0) for (const walked of this.walked) this.compareCounts(walked)
      this.compareFreePages()
      return null
    } catch (error) {
      if (error instanceof TreeDamageError) return error.message
      throw error
    }
  }

  private *tree(name: string, tree: PageTree, each?: WalkedTree['each']): Generator<void, void> {
    if (this.areNamed && (tree.flags & ~INTEGER_KEYS) !== 0)
      throw new TreeDamageError(`${name}: the flags ${tree.flags} are invalid`)
    if (tree.root === null) {
      if (tree.entries !== 0) throw new TreeDamageError(`${name}: the tree has no pages but ${tree.entries} entries`)
      return
    }
    if (tree.depth < 1 || tree.depth > DEPTH_MAX)
      throw new TreeDamageError(`${name}: the depth ${tree.depth} is invalid`)
    const counts: PageCounts = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 }
    const walked: WalkedTree = { name, tree, counts, each }
    this.walked.push(walked)
    const bounds: KeyBounds = { low: null, high: null, transaction: this.meta.transaction }
    if (this.countPage(walked, tree.root, 1)) yield* this.page(walked, tree.root, 1, bounds)
  }

  private compareCounts({ name, tree, counts, each }: WalkedTree): void {
    const leaves = this.options.leaves !== 'none' || each !== undefined
    const counted: readonly (keyof PageCounts)[] = leaves
      ? ['branchPages', 'leafPages', 'overflowPages', 'entries']
      : ['branchPages', 'leafPages']
    for (const count of counted) {
      if (counts[count] !== tree[count])
        throw new TreeDamageError(`${name}: ${count} is ${tree[count]} and should be ${counts[count]}`)
    }
  }

  /** Counts a page that a tree refers to. Returns whether it is to be read now. */
  private countPage({ name, tree, counts, each }: WalkedTree, number: number, depth: number): boolean {
    const isLeaf = depth === tree.depth
    this.markReached(name, number)
    if (isLeaf) counts.leafPages += 1
    else counts.branchPages += 1
    if (isLeaf && each === undefined) {
      if (this.unread.length > 0) this.unread[number] = this.walked.length
      if (this.options.leaves !== 'by key') return false
    }
    if (this.left <= 0) return false
    this.left -= 1
    return true
  }

  private *page(walked: WalkedTree, number: number, depth: number, bounds: KeyBounds): Generator<void, void> {
    yield
    const { name, tree } = walked
    const isLeaf = depth === tree.depth
    const page = this.pageFor(depth)
    const { integerKeys } = tree
    const damage =
      page.load(this.file, number) ??
      page.findEntryDamage(this.file) ??
      findOrderDamage(page, integerKeys) ??
      findBoundsDamage(page, integerKeys, bounds.low, bounds.high)
    if (damage !== null) throw new TreeDamageError(`${name}: ${damage}`)
    if (page.isLeaf !== isLeaf) throw new TreeDamageError(`${name}: page ${number} is at the wrong depth`)
    if (page.transaction > bounds.transaction)
      throw new TreeDamageError(`${name}: page ${number} is newer than its parent`)
    if (isLeaf) {
      this.leaf(walked, page)
      if (this.areNamed) this.options.onLeaf?.(name, page)
    } else yield* this.branch(walked, page, depth, bounds)
  }

  /** Reads the leaf pages that are left, in the order of the file. */
  private *leavesByPage(): Generator<void, void> {
    const { file, unread } = this
    if (unread.length === 0) return
    const { pageBytes } = file
    const buffer = Buffer.allocUnsafeSlow(READ_PAGES * pageBytes)
    const pages = Array.from(
      { length: READ_PAGES },
      (_, at) => new TreePage(pageBytes, buffer.subarray(at * pageBytes, (at + 1) * pageBytes)),
    )
    for (let number = 2; number < unread.length; ) {
      if (unread[number] === 0) {
        number += 1
        continue
      }
      const count = Math.min(file.readPages(number, buffer), unread.length - number)
      if (count === 0) throw new TreeDamageError(`page ${number} is missing`)
      for (let at = 0; at < count; at++) {
        const owner = unread[number + at]!
        if (owner === 0) continue
        this.leafByPage(this.walked[owner - 1]!, pages[at]!, number + at)
        if (at % STEP_PAGES === STEP_PAGES - 1) yield
      }
      number += count
      yield
    }
  }

  private leafByPage(walked: WalkedTree, page: TreePage, number: number): void {
    const { name, tree } = walked
    const damage = page.decode(number) ?? page.findEntryDamage(this.file) ?? findOrderDamage(page, tree.integerKeys)
    if (damage !== null) throw new TreeDamageError(`${name}: ${damage}`)
    if (!page.isLeaf) throw new TreeDamageError(`${name}: page ${number} is at the wrong depth`)
    if (page.transaction > this.meta.transaction)
      throw new TreeDamageError(`${name}: page ${number} is newer than the file`)
    this.leaf(walked, page)
  }

  /**
   * Notes the pages that an entry of the free list contains: a count of words, then page numbers; 0 is a gap, and a negative number is
   * the length of the run that begins at the next one (`midl.c` of lmdb-js). LMDB copies as many words as the count says.
   */
  private freePages(page: TreePage, i: number): void {
    const bytes = page.value(i, this.file)
    const wrong = new TreeDamageError(`free pages: page ${page.number} has an invalid list of pages`)
    if (bytes === null || bytes.length < 8 || (bytes.length & 7) !== 0) throw wrong
    const words = new BigInt64Array(new Uint8Array(bytes).buffer)
    const count = Number(words[0])
    if (count < 0 || count >= words.length) throw wrong
    for (let at = 1; at <= count; at++) {
      let length = 1
      let first = Number(words[at])
      if (first === 0) continue
      if (first < 0) {
        // A run that the next entry continues.
        if (at === count) return
        length = -first
        at += 1
        first = Number(words[at])
      }
      if (first < 2 || first + length - 1 > this.meta.lastPage) throw wrong
      for (let free = first; free < Math.min(first + length, this.pageCount); free++)
        this.free[free >>> 3]! |= 1 << (free & 7)
    }
  }

  /** LMDB would write new pages over pages in use. */
  private compareFreePages(): void {
    if (this.left <= 0) return
    for (let at = 0; at < this.reached.length; at++) {
      const both = this.reached[at]! & this.free[at]!
      if (both !== 0) throw new TreeDamageError(`free pages: page ${at * 8 + 31 - Math.clz32(both)} is in use`)
    }
  }

  private pageFor(depth: number): TreePage {
    let page = this.pages[depth]
    if (page === undefined) {
      page = new TreePage(this.file.pageBytes)
      this.pages[depth] = page
    }
    return page
  }

  private *branch(walked: WalkedTree, page: TreePage, depth: number, bounds: KeyBounds): Generator<void, void> {
    for (let i = 0; i < page.count; i++) {
      const child = page.child(i)
      if (!this.countPage(walked, child, depth + 1)) continue
      const low = i === 0 ? bounds.low : page.key(i)
      const high = i + 1 === page.count ? bounds.high : page.key(i + 1)
      yield* this.page(walked, child, depth + 1, { low, high, transaction: page.transaction })
    }
  }

  private leaf({ name, counts, each }: WalkedTree, page: TreePage): void {
    counts.entries += page.count
    for (let i = 0; i < page.count; i++) {
      if (each === undefined && page.tree(i) !== null)
        throw new TreeDamageError(`${name}: page ${page.number} has an entry with invalid flags`)
      const overflow = page.overflow(i)
      if (overflow !== null) {
        const damage = findOverflowDamage(this.file, overflow, page.lengthOf(i))
        if (damage !== null) throw new TreeDamageError(`${name}: ${damage}`)
        counts.overflowPages += overflow.pages
        for (let at = overflow.page; at < overflow.page + overflow.pages; at++) this.markReached(name, at)
      }
      each?.(page, i)
    }
  }

  private markReached(name: string, page: number): void {
    if (page < 2 || page > this.meta.lastPage) throw new TreeDamageError(`${name}: page ${page} is out of range`)
    if (page >= this.pageCount) throw new TreeDamageError(`${name}: page ${page} is missing`)
    const bit = 1 << (page & 7)
    if ((this.reached[page >>> 3]! & bit) !== 0) throw new TreeDamageError(`${name}: page ${page} is referenced twice`)
    this.reached[page >>> 3]! |= bit
  }
}

/** Returns a phrase if keys do not ascend, or are no integers in a tree of integers, or null. The first key of a branch page is unused. */
export function findOrderDamage(page: TreePage, integers: boolean): string | null {
  const first = page.isLeaf ? 0 : 1
  for (let i = first; i < page.count; i++) {
    if (integers && !page.hasIntegerKey(i)) return `page ${page.number} has a key that is no integer`
    if (i > first && !page.isAscending(i, integers)) return outOfOrderMessage(page)
  }
  return null
}

/** Returns a phrase if a key is below `low` or not below `high`, or null. */
export function findBoundsDamage(
  page: TreePage,
  integers: boolean,
  low: Uint8Array | null,
  high: Uint8Array | null,
): string | null {
  const first = page.isLeaf ? 0 : 1
  if (page.count <= first) return null
  if (low !== null && page.compare(first, low, integers) < 0) return outOfOrderMessage(page)
  return high !== null && page.compare(page.count - 1, high, integers) >= 0 ? outOfOrderMessage(page) : null
}

function outOfOrderMessage(page: TreePage): string {
  return `the keys of page ${page.number} are out of order`
}
