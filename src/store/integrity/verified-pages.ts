// Copies of pages of one file whose entries were checked, so that a page is read and checked once and not for each
// question. LMDB never changes a page that a commit leads to: it writes another one, or the same number again with the
// number of the transaction that writes it. So a page of the same number and transaction is the page that was checked.

import { type PageFile, type PageTree, TreePage } from '../pages/page-file.ts'
import { findOrderDamage } from '../pages/page-walk.ts'

/** What is wrong with the pages: an operator can read it. */
export class PageError extends Error {
  override readonly name = 'PageFault'
}

/** Copies in memory, of pages of 4 KiB: 8 MiB. A power of two: the place of a copy is the end of its number. */
const COPIES_MAX = 2048

/** Pages known to be sound, by number: forgotten when there are so many. */
const VERIFIED_PAGES_MAX = 1 << 18

/** A question of one key leads to few pages. */
const SPARE_MAX = 16

export class VerifiedPage extends TreePage {
  /** The state of the file in which the page was last seen to be a part of it. */
  seenInVersion = 0
  /** The tree, the page that led to it there, and the entry of that page: its keys were found to lie within that place. */
  inTree: PageTree | null = null
  parent = 0
  parentIndex = 0
  /** By entry: 1 where it was found to fit its checksum in that database. */
  private readonly soundEntries: Uint8Array
  private database: object | null = null

  constructor(pageBytes: number) {
    super(pageBytes)
    // An entry takes ten bytes at least.
    this.soundEntries = new Uint8Array(Math.ceil(pageBytes / 10))
  }

  isVerified(index: number, database: object): boolean {
    return this.database === database && this.soundEntries[index] === 1
  }

  setVerified(index: number, database: object): void {
    if (this.database !== database) this.clearVerified()
    this.database = database
    this.soundEntries[index] = 1
  }

  /** For other content. */
  clearVerified(): void {
    this.inTree = null
    this.database = null
    this.soundEntries.fill(0)
  }
}

export class VerifiedPageCache {
  readonly file: PageFile
  private readonly copies: (VerifiedPage | undefined)[] = []
  /** Copies that made way for others in the present question, which may still use them. */
  private retired: VerifiedPage[] = []
  /** Copies that are in no place, to be filled anew. */
  private spare: VerifiedPage[] = []
  /** The transaction of each page that was found to be sound, copied or not. */
  private readonly sound = new Map<number, number>()
  private moment = 0

  constructor(file: PageFile) {
    this.file = file
  }

  /** The file has gone on to another state: its pages may be others under the same numbers. */
  nextVersion(): void {
    this.moment += 1
  }

  /** Another question begins: the pages that the last one used are not used any more. */
  beginLookup(): void {
    if (this.retired.length === 0) return
    this.spare = this.retired.slice(0, SPARE_MAX)
    this.retired = []
  }

  /**
   * The page of that number in the present state, to be used until the next question begins. Throws PageFault
   * for a page that is not made up of entries in their order.
   */
  load(number: number, integerKeys: boolean): VerifiedPage {
    const slot = number & (COPIES_MAX - 1)
    const known = this.copies[slot]
    if (known !== undefined && known.number === number) {
      if (known.seenInVersion === this.moment) return known
      if (this.file.transactionOf(number) === known.transaction) {
        known.seenInVersion = this.moment
        known.inTree = null
        return known
      }
    }
    const page = this.readAndVerify(number, integerKeys)
    if (known !== undefined) this.retired.push(known)
    this.copies[slot] = page
    return page
  }

  private readAndVerify(number: number, integerKeys: boolean): VerifiedPage {
    const page = this.spare.pop() ?? new VerifiedPage(this.file.pageBytes)
    let fault = page.load(this.file, number)
    if (fault === null && this.sound.get(number) !== page.transaction) {
      fault = page.findEntryDamage(this.file) ?? findOrderDamage(page, integerKeys)
      if (this.sound.size >= VERIFIED_PAGES_MAX) this.sound.clear()
      if (fault === null) this.sound.set(number, page.transaction)
    }
    if (fault !== null) throw new PageError(fault)
    page.seenInVersion = this.moment
    page.clearVerified()
    return page
  }
}
