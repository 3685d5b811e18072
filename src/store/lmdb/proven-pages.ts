// Copies of pages of one file whose entries were checked, so that a page is read and checked once and not for each
// question. LMDB never changes a page that a commit leads to: it writes another one, or the same number again with the
// number of the transaction that writes it. So a page of the same number and transaction is the page that was checked.

import { faultOfOrder } from './page-walk.ts'
import { Page, type PageFile, type Tree } from './pages.ts'

/** What is wrong with the pages: an operator can read it. */
export class PageFault extends Error {
  override readonly name = 'PageFault'
}

/** Copies in memory, of pages of 4 KiB: 8 MiB. A power of two: the place of a copy is the end of its number. */
const COPIES_MAX = 2048

/** Pages known to be sound, by number: forgotten when there are so many. */
const SOUND_PAGES_MAX = 1 << 18

/** A question of one key leads to few pages. */
const SPARE_MAX = 16

export class ProvenPage extends Page {
  /** The state of the file in which the page was last seen to be a part of it. */
  moment = 0
  /** The tree, the page that led to it there, and the entry of that page: its keys were found to lie within that place. */
  within: Tree | null = null
  parent = 0
  place = 0
  /** By entry: 1 where it was found to fit its checksum in that database. */
  private readonly soundEntries: Uint8Array
  private database: object | null = null

  constructor(pageBytes: number) {
    super(pageBytes)
    // An entry takes ten bytes at least.
    this.soundEntries = new Uint8Array(Math.ceil(pageBytes / 10))
  }

  isKnownSound(index: number, database: object): boolean {
    return this.database === database && this.soundEntries[index] === 1
  }

  keepSound(index: number, database: object): void {
    if (this.database !== database) this.forgetChecks()
    this.database = database
    this.soundEntries[index] = 1
  }

  /** For other content. */
  forgetChecks(): void {
    this.within = null
    this.database = null
    this.soundEntries.fill(0)
  }
}

export class ProvenPages {
  readonly file: PageFile
  private readonly copies: (ProvenPage | undefined)[] = []
  /** Copies that made way for others in the present question, which may still use them. */
  private retired: ProvenPage[] = []
  /** Copies that are in no place, to be filled anew. */
  private spare: ProvenPage[] = []
  /** The transaction of each page that was found to be sound, copied or not. */
  private readonly sound = new Map<number, number>()
  private moment = 0

  constructor(file: PageFile) {
    this.file = file
  }

  /** The file has gone on to another state: its pages may be others under the same numbers. */
  moveOn(): void {
    this.moment += 1
  }

  /** Another question begins: the pages that the last one used are not used any more. */
  begin(): void {
    if (this.retired.length === 0) return
    this.spare = this.retired.slice(0, SPARE_MAX)
    this.retired = []
  }

  /**
   * The page of that number in the present state, to be used until the next question begins. Throws PageFault
   * for a page that is not made up of entries in their order.
   */
  at(number: number, integerKeys: boolean): ProvenPage {
    const slot = number & (COPIES_MAX - 1)
    const known = this.copies[slot]
    if (known !== undefined && known.number === number) {
      if (known.moment === this.moment) return known
      if (this.file.transactionOf(number) === known.transaction) {
        known.moment = this.moment
        known.within = null
        return known
      }
    }
    const page = this.load(number, integerKeys)
    if (known !== undefined) this.retired.push(known)
    this.copies[slot] = page
    return page
  }

  private load(number: number, integerKeys: boolean): ProvenPage {
    const page = this.spare.pop() ?? new ProvenPage(this.file.pageBytes)
    let fault = page.load(this.file, number)
    if (fault === null && this.sound.get(number) !== page.transaction) {
      fault = page.faultOfEntries(this.file) ?? faultOfOrder(page, integerKeys)
      if (this.sound.size >= SOUND_PAGES_MAX) this.sound.clear()
      if (fault === null) this.sound.set(number, page.transaction)
    }
    if (fault !== null) throw new PageFault(fault)
    page.moment = this.moment
    page.forgetChecks()
    return page
  }
}
