// Finds the pages of an LMDB file that changed since a transaction. LMDB never changes a committed page: a changed page gets another
// number and the number of the new transaction, and so do all pages between it and the root. So a subtree whose first page is not
// newer than the transaction is unchanged, and the walk reads only changed pages (docs/decisions/0060-shipping.md).
import { DataCorruptionError } from '../../kernel/errors.ts'
import { findOverflowDamage, type MetaPage, type PageFile, type PageTree, TreePage } from './page-file.ts'

/** Greater than the depth of any tree of 2^48 pages. */
const DEPTH_MAX = 64

/** A part of a long value that is read at a time. */
const RUN_BYTES = 1 << 18

/** Consecutive pages: `bytes` is valid until the next step of the walk. */
export interface ChangedPages {
  readonly page: number
  readonly bytes: Uint8Array
}

/**
 * Walks the trees of `meta` and yields each page that a transaction after `since` has written, in the order of the trees; `since` -1:
 * all pages in use. A read transaction must protect the pages of `meta` until the end. Throws DataCorruptionError.
 */
export function* changedPages(file: PageFile, meta: MetaPage, since: number): Generator<ChangedPages, void> {
  try {
    yield* new DifferenceWalk(file, meta, since).run()
  } catch (failure) {
    if (failure instanceof PageDamageError) throw new DataCorruptionError(file.path, failure.message)
    throw failure
  }
}

/** Thrown and caught within a walk. */
class PageDamageError extends Error {}

class DifferenceWalk {
  private readonly file: PageFile
  private readonly meta: MetaPage
  private readonly since: number
  private readonly pages: TreePage[] = []
  private readonly buffer: Uint8Array

  constructor(file: PageFile, meta: MetaPage, since: number) {
    this.file = file
    this.meta = meta
    this.since = since
    this.buffer = new Uint8Array(Math.max(file.pageBytes, RUN_BYTES))
  }

  *run(): Generator<ChangedPages, void> {
    const { free, main, transaction } = this.meta
    if (transaction <= this.since) return
    yield* this.tree(free)
    const named: PageTree[] = []
    yield* this.tree(main, named)
    for (const tree of named) yield* this.tree(tree)
  }

  /** `named`: collects the trees that entries describe. */
  private *tree(tree: PageTree, named?: PageTree[]): Generator<ChangedPages, void> {
    if (tree.root === null) return
    if (tree.depth < 1 || tree.depth > DEPTH_MAX) throw damaged(`page ${tree.root} is the root of an invalid tree`)
    yield* this.page(tree, tree.root, 1, this.meta.transaction, named)
  }

  private *page(
    tree: PageTree,
    number: number,
    depth: number,
    parent: number,
    named?: PageTree[],
  ): Generator<ChangedPages, void> {
    this.requireInRange(number, 1)
    const transaction = this.file.transactionOf(number)
    if (transaction === null) throw damaged(`page ${number} is missing or has the wrong page number`)
    if (transaction > parent) throw damaged(`page ${number} is newer than its parent`)
    if (transaction <= this.since) return
    const page = this.pageFor(depth)
    const damage = page.load(this.file, number) ?? page.findEntryDamage(this.file)
    if (damage !== null) throw damaged(damage)
    if (page.isLeaf !== (depth === tree.depth)) throw damaged(`page ${number} is at the wrong depth`)
    yield { page: number, bytes: page.bytes }
    for (let i = 0; i < page.count; i++) {
      if (page.isLeaf) yield* this.entry(page, i, named)
      else yield* this.page(tree, page.child(i), depth + 1, transaction, named)
    }
  }

  private *entry(page: TreePage, i: number, named?: PageTree[]): Generator<ChangedPages, void> {
    const tree = named === undefined ? null : page.tree(i)
    if (tree !== null) named?.push(tree)
    const overflow = page.overflow(i)
    if (overflow === null) return
    this.requireInRange(overflow.page, overflow.pages)
    const damage = findOverflowDamage(this.file, overflow, page.lengthOf(i))
    if (damage !== null) throw damaged(damage)
    // Only the first page of a long value has a header.
    const transaction = this.file.transactionOf(overflow.page)
    if (transaction === null || transaction > page.transaction)
      throw damaged(`page ${overflow.page} is newer than its parent`)
    if (transaction <= this.since) return
    const pagesPerRun = Math.floor(this.buffer.length / this.file.pageBytes)
    for (let at = 0; at < overflow.pages; at += pagesPerRun) {
      const bytes = this.buffer.subarray(0, Math.min(pagesPerRun, overflow.pages - at) * this.file.pageBytes)
      if (!this.file.read(overflow.page + at, bytes)) throw damaged(`page ${overflow.page + at} is missing`)
      yield { page: overflow.page + at, bytes }
    }
  }

  private requireInRange(page: number, pages: number): void {
    if (page < 2 || page + pages - 1 > this.meta.lastPage) throw damaged(`page ${page} is out of range`)
  }

  private pageFor(depth: number): TreePage {
    let page = this.pages[depth]
    if (page === undefined) {
      page = new TreePage(this.file.pageBytes)
      this.pages[depth] = page
    }
    return page
  }
}

function damaged(how: string): PageDamageError {
  return new PageDamageError(how)
}
