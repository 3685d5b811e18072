// Walks the B-trees of an LMDB file page by page and finds damage that LMDB would not notice: wrong page numbers, gaps, keys
// out of order or outside the range of the parent, and wrong counts.
import { findOverflowDamage, type MetaPage, type PageFile, type PageTree, TreePage } from './page-file.ts'

/** Greater than the depth of any tree of 2^48 pages. */
const DEPTH_MAX = 64

/** How much of a file is walked. */
export interface WalkOptions {
  /** False: leaf pages are counted and not read. Branch pages are a small part of the file. */
  readonly leaves: boolean
  /** Maximum number of pages to read. The rest is not checked. */
  readonly pagesMax: number
  /** Called with each leaf page of a named database after its checks, in key order. */
  readonly onLeaf?: (database: string, page: TreePage) => void
  /** Databases to walk before the others. */
  readonly first?: readonly string[]
}

/** Returns the first damage found in the trees of that meta page as a phrase, or null. */
export function findTreeDamage(file: PageFile, meta: MetaPage, options: WalkOptions): string | null {
  return runToEnd(walkTrees(file, meta, options))
}

/** As `findTreeDamage`, yielding after each page. */
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

class TreeWalk {
  private readonly file: PageFile
  private readonly meta: MetaPage
  private readonly options: WalkOptions
  private readonly pages: TreePage[] = []
  /** One bit per page: set if a tree refers to it. */
  private readonly reached: Uint8Array
  private left: number
  /** True while the named databases are walked. */
  private areNamed = false

  constructor(file: PageFile, meta: MetaPage, options: WalkOptions) {
    this.file = file
    this.meta = meta
    this.options = options
    this.left = options.pagesMax
    this.reached = new Uint8Array((meta.lastPage >>> 3) + 1)
  }

  *run(): Generator<void, string | null> {
    try {
      yield* this.tree('free pages', this.meta.free)
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
      return null
    } catch (error) {
      if (error instanceof TreeDamageError) return error.message
      throw error
    }
  }

  private *tree(name: string, tree: PageTree, each?: (page: TreePage, i: number) => void): Generator<void, void> {
    if (tree.root === null) {
      if (tree.entries !== 0) throw new TreeDamageError(`${name}: the tree has no pages but ${tree.entries} entries`)
      return
    }
    if (tree.depth < 1 || tree.depth > DEPTH_MAX)
      throw new TreeDamageError(`${name}: the depth ${tree.depth} is invalid`)
    const counts: PageCounts = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 }
    const bounds: KeyBounds = { low: null, high: null, transaction: this.meta.transaction }
    if (this.countPage(name, tree, tree.root, 1, counts, each !== undefined)) {
      yield* this.page(name, tree, tree.root, 1, bounds, counts, each)
    }
    if (this.left <= 0) return
    const leaves = this.options.leaves || each !== undefined
    const counted: readonly (keyof PageCounts)[] = leaves
      ? ['branchPages', 'leafPages', 'overflowPages', 'entries']
      : ['branchPages', 'leafPages']
    for (const count of counted) {
      if (counts[count] !== tree[count])
        throw new TreeDamageError(`${name}: ${count} is ${tree[count]} and should be ${counts[count]}`)
    }
  }

  /** Counts a page that a tree refers to. Returns whether it is to be read. */
  private countPage(
    name: string,
    tree: PageTree,
    number: number,
    depth: number,
    counts: PageCounts,
    isRead: boolean,
  ): boolean {
    const isLeaf = depth === tree.depth
    this.markReached(name, number)
    if (isLeaf) counts.leafPages += 1
    else counts.branchPages += 1
    if ((isLeaf && !this.options.leaves && !isRead) || this.left <= 0) return false
    this.left -= 1
    return true
  }

  private *page(
    name: string,
    tree: PageTree,
    number: number,
    depth: number,
    bounds: KeyBounds,
    counts: PageCounts,
    each?: (page: TreePage, i: number) => void,
  ): Generator<void, void> {
    yield
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
      this.leaf(name, page, counts, each)
      if (this.areNamed) this.options.onLeaf?.(name, page)
    } else yield* this.branch(name, tree, page, depth, bounds, counts, each)
  }

  private pageFor(depth: number): TreePage {
    let page = this.pages[depth]
    if (page === undefined) {
      page = new TreePage(this.file.pageBytes)
      this.pages[depth] = page
    }
    return page
  }

  private *branch(
    name: string,
    tree: PageTree,
    page: TreePage,
    depth: number,
    bounds: KeyBounds,
    counts: PageCounts,
    each?: (page: TreePage, i: number) => void,
  ): Generator<void, void> {
    for (let i = 0; i < page.count; i++) {
      const child = page.child(i)
      if (!this.countPage(name, tree, child, depth + 1, counts, each !== undefined)) continue
      const low = i === 0 ? bounds.low : page.key(i)
      const high = i + 1 === page.count ? bounds.high : page.key(i + 1)
      yield* this.page(name, tree, child, depth + 1, { low, high, transaction: page.transaction }, counts, each)
    }
  }

  private leaf(name: string, page: TreePage, counts: PageCounts, each?: (page: TreePage, i: number) => void): void {
    counts.entries += page.count
    for (let i = 0; i < page.count; i++) {
      each?.(page, i)
      const overflow = page.overflow(i)
      if (overflow === null) continue
      const damage = findOverflowDamage(this.file, overflow, page.lengthOf(i))
      if (damage !== null) throw new TreeDamageError(`${name}: ${damage}`)
      counts.overflowPages += overflow.pages
      for (let at = overflow.page; at < overflow.page + overflow.pages; at++) this.markReached(name, at)
    }
  }

  private markReached(name: string, page: number): void {
    if (page < 2 || page > this.meta.lastPage) throw new TreeDamageError(`${name}: page ${page} is out of range`)
    const bit = 1 << (page & 7)
    if ((this.reached[page >>> 3]! & bit) !== 0) throw new TreeDamageError(`${name}: page ${page} is referenced twice`)
    this.reached[page >>> 3]! |= bit
  }
}

/** Returns a phrase if keys do not ascend, or null. The first key of a branch page is unused. */
export function findOrderDamage(page: TreePage, integers: boolean): string | null {
  for (let i = page.isLeaf ? 1 : 2; i < page.count; i++) {
    if (page.compare(i - 1, page.key(i), integers) >= 0) return outOfOrderMessage(page)
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
