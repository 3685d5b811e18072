// Caches copies of verified pages of one file, so that a page is read and checked once and not for each lookup. LMDB never
// changes a committed page: it writes another page, or reuses the number with the number of the new transaction. So a page
// with the same page number and transaction is the page that was verified.

import { type PageFile, type PageTree, TreePage } from '../pages/page-file.ts'
import { findOrderDamage } from '../pages/page-walk.ts'

/** A damaged page. The message is a phrase for an operator. */
export class PageError extends Error {
  override readonly name = 'PageError'
}

/** Number of page copies in memory: 8 MiB at 4 KiB each. A power of two, because the low bits of a page number select its slot. */
const COPIES_MAX = 2048

/** Number of pages remembered as sound. The memory is cleared when it is full. */
const VERIFIED_PAGES_MAX = 1 << 18

/** A lookup of one key uses few pages. */
const SPARE_MAX = 16

/** A copy of a page, with the results of its checks. */
export class VerifiedPage extends TreePage {
  /** The version counter of the cache when the page was last seen in the file. */
  seenInVersion = 0
  /** The tree, parent page and entry of the parent under which the keys of this page were found to be in range. */
  inTree: PageTree | null = null
  parent = 0
  parentIndex = 0
  /** By entry: 1 if it matches its checksum in `database`. */
  private readonly soundEntries: Uint8Array
  private database: object | null = null

  constructor(pageBytes: number) {
    super(pageBytes)
    // An entry takes at least ten bytes.
    this.soundEntries = new Uint8Array(Math.ceil(pageBytes / 10))
  }

  /** Whether the entry is known to match its checksum in that database. */
  isVerified(index: number, database: object): boolean {
    return this.database === database && this.soundEntries[index] === 1
  }

  /** Records that the entry matches its checksum in that database. */
  setVerified(index: number, database: object): void {
    if (this.database !== database) this.clearVerified()
    this.database = database
    this.soundEntries[index] = 1
  }

  /** Clears all results, before the copy is filled with another page. */
  clearVerified(): void {
    this.inTree = null
    this.database = null
    this.soundEntries.fill(0)
  }
}

/** The verified pages of one file. */
export class VerifiedPageCache {
  readonly file: PageFile
  private readonly copies: (VerifiedPage | undefined)[] = []
  /** Copies evicted during the current lookup, which may still use them. */
  private retired: VerifiedPage[] = []
  /** Unused copies to be filled again. */
  private spare: VerifiedPage[] = []
  /** The transaction of each page found to be sound, whether it is copied or not. */
  private readonly sound = new Map<number, number>()
  private version = 0

  constructor(file: PageFile) {
    this.file = file
  }

  /** The file has another version: pages may have other content under the same number. */
  nextVersion(): void {
    this.version += 1
  }

  /** Starts another lookup. The pages of the previous one must not be used any more. */
  beginLookup(): void {
    if (this.retired.length === 0) return
    this.spare = this.retired.slice(0, SPARE_MAX)
    this.retired = []
  }

  /**
   * Returns the page in the current version, valid until the next lookup begins. Throws PageError if the page is not
   * well-formed or its keys are not in order.
   */
  load(number: number, integerKeys: boolean): VerifiedPage {
    const slot = number & (COPIES_MAX - 1)
    const copy = this.copies[slot]
    if (copy !== undefined && copy.number === number) {
      if (copy.seenInVersion === this.version) return copy
      if (this.file.transactionOf(number) === copy.transaction) {
        copy.seenInVersion = this.version
        copy.inTree = null
        return copy
      }
    }
    const page = this.readAndVerify(number, integerKeys)
    if (copy !== undefined) this.retired.push(copy)
    this.copies[slot] = page
    return page
  }

  private readAndVerify(number: number, integerKeys: boolean): VerifiedPage {
    const page = this.spare.pop() ?? new VerifiedPage(this.file.pageBytes)
    let damage = page.load(this.file, number)
    if (damage === null && this.sound.get(number) !== page.transaction) {
      damage = page.findEntryDamage(this.file) ?? findOrderDamage(page, integerKeys)
      if (this.sound.size >= VERIFIED_PAGES_MAX) this.sound.clear()
      if (damage === null) this.sound.set(number, page.transaction)
    }
    if (damage !== null) throw new PageError(damage)
    page.seenInVersion = this.version
    page.clearVerified()
    return page
  }
}
