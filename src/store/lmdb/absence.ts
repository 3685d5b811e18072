// Whether a key that LMDB does not find is truly not there. Checksums tell of what is found; a damaged page can hide a key,
// and what is missing may be what a decision hangs on. So the way to the gap is walked again beside LMDB: every page on it
// is made up of its entries, lies within what the page above says, and both entries around the gap fit their checksums.
import type { Stamp } from './header.ts'
import { faultOfBounds, faultOfOrder } from './page-walk.ts'
import { Page, PageFile, type Tree } from './pages.ts'

/** Pages known to be sound, by number: forgotten when there are so many. */
const SOUND_PAGES_MAX = 1 << 18
/** The file may be written to between two looks at it. */
const LOOKS_MAX = 5

export interface Stretch {
  /** Of the named database. */
  readonly name: string
  readonly start: Uint8Array
  /** Exclusive; null: of the one key `start`. */
  readonly end: Uint8Array | null
  /** Whether an entry fits its checksum. */
  isSound(key: Uint8Array, value: Uint8Array): boolean
}

/** The state of the file as a reading sees it. */
export interface Moment {
  readonly stamp: Stamp
  /** The stamp that a reading that begins now would find. */
  latest(): Stamp
  /** The stamp in the value of the header. */
  stampIn(header: Uint8Array): Stamp | null
  readonly headerDatabase: string
  readonly headerKey: Uint8Array
}

/** What is wrong with the pages: an operator can read it. */
export class PageFault extends Error {
  override readonly name = 'PageFault'
}

export class Absence {
  private readonly file: PageFile
  /** The transaction of the page when it was looked at. */
  private readonly sound = new Map<number, number>()
  private stamp: Stamp = { writer: 0, commit: 0 }
  private trees: ReadonlyMap<string, Tree> | null = null
  private readonly here: Path
  private readonly before: Path

  constructor(path: string) {
    this.file = new PageFile(path)
    this.here = new Path(this.file, this.sound)
    this.before = new Path(this.file, this.sound)
  }

  close(): void {
    this.file.close()
  }

  /**
   * How many entries there truly are from `start` on to `end`. Null when the file has gone on to a later state than the
   * reading's, whose pages are then not to be found any more. Throws PageFault.
   */
  count(stretch: Stretch, moment: Moment): number | null {
    const trees = this.treesAt(moment)
    if (trees === null) return null
    const tree = trees.get(stretch.name)
    if (tree === undefined) throw new PageFault(`there is no database ${stretch.name}`)
    if (tree.root === null) {
      if (tree.entries !== 0) throw new PageFault(`${stretch.name} is empty and counts ${tree.entries} entries`)
      return 0
    }
    return this.countIn(tree, stretch)
  }

  private countIn(tree: Tree, { start, end, name, isSound }: Stretch): number {
    const { here, before, file } = this
    const around = (path: Path): void => {
      const value = path.leaf.value(path.index, file)
      if (value === null || !isSound(path.leaf.key(path.index), value)) {
        throw new PageFault(`${name}: an entry of page ${path.leaf.number} does not fit its checksum`)
      }
    }
    here.seek(tree, start)
    if (here.index > 0) {
      here.index -= 1
      around(here)
      here.index += 1
    } else {
      before.seek(tree, start)
      if (before.stepBack(tree)) around(before)
    }
    let found = 0
    for (;;) {
      if (here.index === here.leaf.count && !here.step(tree)) return found
      const order = here.leaf.compare(here.index, end ?? start, tree.integerKeys)
      if (end === null ? order !== 0 : order >= 0) break
      found += 1
      here.index += 1
    }
    around(here)
    return found
  }

  private treesAt(moment: Moment): ReadonlyMap<string, Tree> | null {
    const { writer, commit } = moment.stamp
    if (this.trees !== null && writer === this.stamp.writer && commit === this.stamp.commit) return this.trees
    this.trees = null
    for (let look = 0; look < LOOKS_MAX; look++) {
      const metas = this.file.metas()
      if (metas === null) throw new PageFault('a meta page is damaged')
      // The newest may be on its way to the disk still: until it is there, everybody reads the one before.
      for (const { main } of metas) {
        const trees = this.named(main)
        const found = this.stampOf(trees.get(moment.headerDatabase), moment)
        if (found.writer !== writer || found.commit !== commit) continue
        this.stamp = found
        this.trees = trees
        return trees
      }
      const latest = moment.latest()
      if (latest.writer !== writer || latest.commit !== commit) return null
    }
    throw new PageFault('the meta pages do not lead to what is read')
  }

  private named(main: Tree): Map<string, Tree> {
    const { here } = this
    const trees = new Map<string, Tree>()
    if (main.root === null) return trees
    here.seek(main, new Uint8Array(0))
    do {
      for (let i = 0; i < here.leaf.count; i++) {
        const tree = here.leaf.tree(i)
        if (tree !== null) trees.set(here.leaf.name(i), tree)
      }
      here.index = here.leaf.count
    } while (here.step(main))
    return trees
  }

  private stampOf(tree: Tree | undefined, { headerKey, stampIn }: Moment): Stamp {
    const { here } = this
    if (tree !== undefined && tree.root !== null) {
      here.seek(tree, headerKey)
      const isThere = here.index < here.leaf.count && here.leaf.compare(here.index, headerKey, false) === 0
      const value = isThere ? here.leaf.value(here.index, this.file) : null
      const stamp = value === null ? null : stampIn(value)
      if (stamp !== null) return stamp
    }
    throw new PageFault('the header is damaged')
  }
}

/** From a root down to a leaf. */
class Path {
  leaf: Page
  /** In the leaf; its count when the key comes behind all of it. */
  index = 0
  private readonly file: PageFile
  private readonly sound: Map<number, number>
  private readonly pages: Page[] = []
  private readonly indexes: number[] = []

  constructor(file: PageFile, sound: Map<number, number>) {
    this.file = file
    this.sound = sound
    this.leaf = new Page(file.pageBytes)
  }

  /** To the first entry that is not below the key. */
  seek(tree: Tree, key: Uint8Array): void {
    this.descend(tree, tree.root!, 1, (page, from) => {
      let low = from
      let high = page.count
      while (low < high) {
        const middle = (low + high) >>> 1
        const order = page.compare(middle, key, tree.integerKeys)
        if (page.isLeaf ? order < 0 : order <= 0) low = middle + 1
        else high = middle
      }
      return page.isLeaf ? low : low - 1
    })
  }

  /** To the first entry of the next leaf; false at the end. */
  step(tree: Tree): boolean {
    for (let depth = tree.depth - 1; depth >= 1; depth--) {
      const next = this.indexes[depth]! + 1
      if (next >= this.pages[depth]!.count) continue
      this.indexes[depth] = next
      this.descend(tree, this.pages[depth]!.child(next), depth + 1, () => 0)
      return true
    }
    return false
  }

  /** From the first entry of a leaf to the last of the one before; false at the start. */
  stepBack(tree: Tree): boolean {
    for (let depth = tree.depth - 1; depth >= 1; depth--) {
      const previous = this.indexes[depth]! - 1
      if (previous < 0) continue
      this.indexes[depth] = previous
      this.descend(tree, this.pages[depth]!.child(previous), depth + 1, (page) => page.count - 1)
      return true
    }
    return false
  }

  private descend(tree: Tree, root: number, from: number, choose: (page: Page, first: number) => number): void {
    let number = root
    for (let depth = from; ; depth++) {
      const page = this.pageFor(depth)
      this.load(page, number, tree, depth)
      // The first key of a branch says nothing.
      const index = choose(page, page.isLeaf ? 0 : 1)
      this.indexes[depth] = index
      if (depth === tree.depth) {
        this.leaf = page
        this.index = index
        return
      }
      number = page.child(index)
    }
  }

  private pageFor(depth: number): Page {
    let page = this.pages[depth]
    if (page === undefined) {
      page = new Page(this.file.pageBytes)
      this.pages[depth] = page
    }
    return page
  }

  private load(page: Page, number: number, tree: Tree, depth: number): void {
    let fault = page.load(this.file, number)
    if (fault === null && page.isLeaf !== (depth === tree.depth)) fault = `page ${number} is at another depth`
    if (fault === null && this.sound.get(number) !== page.transaction) {
      fault = page.faultOfEntries() ?? faultOfOrder(page, tree.integerKeys)
      if (this.sound.size >= SOUND_PAGES_MAX) this.sound.clear()
      if (fault === null) this.sound.set(number, page.transaction)
    }
    if (fault === null) {
      fault = faultOfBounds(page, tree.integerKeys, this.bound(depth, 0), this.bound(depth, 1))
    }
    if (fault !== null) throw new PageFault(fault)
  }

  /** The key of the pages above that begins the page, or that follows it; null where there is none. */
  private bound(depth: number, step: number): Uint8Array | null {
    for (let above = depth - 1; above >= 1; above--) {
      const at = this.indexes[above]! + step
      const page = this.pages[above]!
      if (at > 0 && at < page.count) return page.key(at)
    }
    return null
  }
}
