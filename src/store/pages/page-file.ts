// Reads the pages of an LMDB file without LMDB, and checks that a page is well-formed. LMDB itself trusts every page: a damaged
// one hides keys or ends the process. Page layout: the LMDB fork of lmdb-js 3, 64 bits, little-endian (`mdb.c`, MDB_page).
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const MAGIC = 0xbeefc0de
const VERSION = 2
/** Page number, transaction, padding, flags, lower, upper. */
const PAGE_HEADER = 24
const TRANSACTION_AT = 8
const FLAGS_AT = 18
const LOWER_AT = 20
const UPPER_AT = 22
/** Flags, data length, key length; for a branch entry the page number of the child. */
const NODE_HEADER = 8
const OVERFLOW_REFERENCE = 24
const IS_BRANCH = 1
const IS_LEAF = 2
const IS_OVERFLOW = 4
const IS_META = 8
const HAS_OVERFLOW = 1
const HAS_DATABASE = 2
/** The flag of a tree whose keys are integers. */
export const INTEGER_KEYS = 8
/** Bytes read of a meta page. The first meta page gives the page size, hence the offset of the second. */
const META_BYTES = 192
/** The root of an empty tree. */
const NO_PAGE = 2n ** 64n - 1n

/** The description of one B-tree: of free pages, of database names, or of a named database. */
export interface PageTree {
  /** Null if the tree is empty. */
  readonly root: number | null
  readonly depth: number
  readonly integerKeys: boolean
  /** The flags with which LMDB opens the tree. */
  readonly flags: number
  readonly branchPages: number
  readonly leafPages: number
  readonly overflowPages: number
  readonly entries: number
}

/** A decoded meta page: the state of the file as of one commit. */
export interface MetaPage {
  readonly pageBytes: number
  readonly mapBytes: number
  readonly free: PageTree
  readonly main: PageTree
  readonly lastPage: number
  readonly transaction: number
}

/** Bytes of a tree description, in a meta page or as a value in the tree of names. */
const TREE_BYTES = 48

function readTree(view: DataView, at: number): PageTree {
  const long = (offset: number): number => Number(view.getBigUint64(at + offset, true))
  const root = view.getBigUint64(at + 40, true)
  return {
    root: root === NO_PAGE ? null : Number(root),
    depth: view.getUint16(at + 6, true),
    integerKeys: (view.getUint16(at + 4, true) & INTEGER_KEYS) !== 0,
    flags: view.getUint16(at + 4, true),
    branchPages: long(8),
    leafPages: long(16),
    overflowPages: long(24),
    entries: long(32),
  }
}

/** Reads a meta page of an open file. Returns null if there is no valid one at the offset. */
export function readMetaPage(file: number, offset: number): MetaPage | null {
  const bytes = new DataView(new ArrayBuffer(META_BYTES))
  if (readSync(file, bytes, 0, META_BYTES, offset) < META_BYTES) return null
  const word = (at: number): number => bytes.getUint32(at, true)
  const long = (at: number): number => Number(bytes.getBigUint64(at, true))
  if ((bytes.getUint16(FLAGS_AT, true) & IS_META) === 0) return null
  if (word(24) !== MAGIC || (word(28) & 0xffff) !== VERSION) return null
  const pageBytes = word(48)
  if (pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0) return null
  return {
    pageBytes,
    mapBytes: long(40),
    free: { ...readTree(bytes, 48), integerKeys: true },
    main: readTree(bytes, 96),
    lastPage: long(144),
    transaction: long(152),
  }
}

/** An LMDB file, open for reading pages. */
export class PageFile {
  readonly pageBytes: number
  readonly path: string
  /** Scratch memory for the check of one page, one byte for each byte of the page. */
  readonly marks: Uint8Array
  private readonly file: number
  private readonly head = new Uint8Array(FLAGS_AT)
  private readonly headView = new DataView(this.head.buffer)

  /** Throws the error of opening the file, or Error if it is not an LMDB database. */
  constructor(path: string) {
    this.path = path
    this.file = openSync(path, 'r')
    const first = readMetaPage(this.file, 0)
    if (first === null) {
      this.close()
      throw new Error('is not a database, or damaged')
    }
    this.pageBytes = first.pageBytes
    this.marks = new Uint8Array(first.pageBytes)
  }

  /** Both meta pages, the newer one first. Null if one of them is invalid: LMDB always keeps two. */
  metas(): readonly [MetaPage, MetaPage] | null {
    const first = readMetaPage(this.file, 0)
    const second = readMetaPage(this.file, this.pageBytes)
    if (first === null || second === null || first.pageBytes !== second.pageBytes) return null
    return first.transaction >= second.transaction ? [first, second] : [second, first]
  }

  /** The transaction that wrote the page. Null if the page is missing or has another page number. */
  transactionOf(page: number): number | null {
    if (!this.read(page, this.head) || Number(this.headView.getBigUint64(0, true)) !== page) return null
    return Number(this.headView.getBigUint64(TRANSACTION_AT, true))
  }

  /** Fills `bytes` from the start of the page. Returns false if the file ends before. */
  read(page: number, bytes: Uint8Array): boolean {
    return readSync(this.file, bytes, 0, bytes.length, page * this.pageBytes) === bytes.length
  }

  /** As `read`, and returns the number of whole pages that the file has there. */
  readPages(page: number, bytes: Uint8Array): number {
    return Math.floor(readSync(this.file, bytes, 0, bytes.length, page * this.pageBytes) / this.pageBytes)
  }

  /** The number of whole pages in the file now. */
  pageCount(): number {
    return Math.floor(fstatSync(this.file).size / this.pageBytes)
  }

  close(): void {
    closeSync(this.file)
  }
}

/** One page of a tree, in a buffer that is filled again for each page. */
export class TreePage {
  readonly bytes: Buffer
  number = 0
  transaction = 0
  isLeaf = false
  count = 0
  private readonly view: DataView
  private readonly halves: Uint16Array

  /** `bytes`: the memory of the page, at an even offset. */
  constructor(pageBytes: number, bytes: Buffer = Buffer.allocUnsafeSlow(pageBytes)) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, pageBytes)
    this.halves = new Uint16Array(bytes.buffer, bytes.byteOffset, pageBytes >>> 1)
  }

  /** Reads the page. Returns its damage as a phrase, or null if its header is that of a branch or leaf page. */
  load(file: PageFile, number: number): string | null {
    return file.read(number, this.bytes) ? this.decode(number) : `page ${number} is missing`
  }

  /** As `load`, for a page whose bytes are in its memory. */
  decode(number: number): string | null {
    const { view } = this
    this.number = number
    if (wordsAt(view, 0) !== number) return `page ${number} has the wrong page number`
    const flags = view.getUint16(FLAGS_AT, true)
    if (flags !== IS_BRANCH && flags !== IS_LEAF) return `page ${number} is neither a branch nor a leaf page`
    this.isLeaf = flags === IS_LEAF
    this.transaction = wordsAt(view, TRANSACTION_AT)
    this.count = view.getUint16(LOWER_AT, true) >>> 1
    return null
  }

  /**
   * LMDB leaves no gap between the entries of a page. Returns a phrase if entries overlap, leave a gap, exceed the page, have no key, or
   * are of a kind that the store does not write.
   */
  findEntryDamage({ marks: starts }: PageFile): string | null {
    const { halves, count } = this
    const end = this.bytes.length
    const lower = halves[LOWER_AT >>> 1]!
    const upper = PAGE_HEADER + halves[UPPER_AT >>> 1]!
    const wrong = `page ${this.number} has gaps or overlaps between its entries`
    if ((lower & 1) !== 0 || PAGE_HEADER + 2 * count > upper || upper > end) return wrong
    if (count < (this.isLeaf ? 1 : 2)) return wrong
    starts.fill(0, upper, end)
    for (let i = 0; i < count; i++) {
      const at = this.entryAt(i)
      if (at < upper || at + NODE_HEADER > end || (at & 1) !== 0 || starts[at] === 1) return wrong
      // The first entry of a branch page has no key.
      if (halves[(at >>> 1) + 3] === 0 && (this.isLeaf || i > 0))
        return `page ${this.number} has an entry without a key`
      starts[at] = 1
    }
    let at = upper
    for (let i = 0; i < count; i++) {
      if (at + NODE_HEADER > end || starts[at] !== 1) return wrong
      if (this.isLeaf && !this.hasValidFlags(at)) return `page ${this.number} has an entry with invalid flags`
      at += this.entrySize(at)
    }
    return at === end ? null : wrong
  }

  private entryAt(i: number): number {
    return PAGE_HEADER + this.halves[PAGE_HEADER / 2 + i]!
  }

  private hasValidFlags(at: number): boolean {
    const flags = this.halves[(at >>> 1) + 2]!
    return flags === 0 || flags === HAS_OVERFLOW || (flags === HAS_DATABASE && this.lengthAt(at) === TREE_BYTES)
  }

  private entrySize(at: number): number {
    const { halves } = this
    const key = halves[(at >>> 1) + 3]!
    if (!this.isLeaf) return (NODE_HEADER + key + 1) & ~1
    const isLong = (halves[(at >>> 1) + 2]! & HAS_OVERFLOW) !== 0
    const length = isLong ? OVERFLOW_REFERENCE : this.lengthAt(at)
    const size = NODE_HEADER + key + length
    return size + (size & 1)
  }

  private lengthAt(at: number): number {
    const half = at >>> 1
    return this.halves[half]! + this.halves[half + 1]! * 0x10000
  }

  /** Offset of the key of entry `i`. */
  keyStart(i: number): number {
    return this.entryAt(i) + NODE_HEADER
  }

  /** Offset after the key of entry `i`. */
  keyEnd(i: number): number {
    const at = this.entryAt(i)
    return at + NODE_HEADER + this.view.getUint16(at + 6, true)
  }

  /** The key of entry `i`, as a view on the page. */
  key(i: number): Buffer {
    return this.bytes.subarray(this.keyStart(i), this.keyEnd(i))
  }

  /** The child page of entry `i` of a branch page. */
  child(i: number): number {
    const at = this.entryAt(i)
    return this.view.getUint32(at, true) + this.view.getUint16(at + 4, true) * 2 ** 32
  }

  /** The database name in entry `i` of a leaf of the tree of names. lmdb-js ends each name with a zero byte. */
  name(i: number): string {
    return this.bytes.toString('latin1', this.keyStart(i), this.keyEnd(i) - 1)
  }

  /** The tree that entry `i` of a leaf describes, or null for a plain value. */
  tree(i: number): PageTree | null {
    const at = this.entryAt(i)
    if ((this.view.getUint16(at + 4, true) & HAS_DATABASE) === 0 || this.lengthAt(at) !== TREE_BYTES) return null
    return readTree(this.view, this.keyEnd(i))
  }

  /** The overflow pages of the value of entry `i` of a leaf, or null if the value is in the leaf. */
  overflow(i: number): { readonly page: number; readonly pages: number } | null {
    const at = this.entryAt(i)
    if ((this.view.getUint16(at + 4, true) & HAS_OVERFLOW) === 0) return null
    const data = this.keyEnd(i)
    return {
      page: Number(this.view.getBigUint64(data, true)),
      pages: Number(this.view.getBigUint64(data + 16, true)),
    }
  }

  /** The value of entry `i` of a leaf. Null if its overflow pages are missing or damaged. */
  value(i: number, file: PageFile): Uint8Array | null {
    const at = this.entryAt(i)
    const length = this.lengthAt(at)
    const overflow = this.overflow(i)
    const start = this.keyEnd(i)
    if (overflow === null) return this.bytes.subarray(start, start + length)
    if (findOverflowDamage(file, overflow, length) !== null) return null
    const bytes = new Uint8Array(overflow.pages * file.pageBytes)
    return file.read(overflow.page, bytes) ? bytes.subarray(PAGE_HEADER, PAGE_HEADER + length) : null
  }

  /**
   * Copies the value of entry `i` of a leaf into `words`, which may be larger. Returns the length in words. Null if the length is
   * not a multiple of four bytes, if the value does not fit, or if its overflow pages are missing or damaged.
   */
  copyWords(i: number, file: PageFile, words: Uint32Array): number | null {
    const at = this.entryAt(i)
    const length = this.lengthAt(at)
    if ((length & 3) !== 0 || length > words.byteLength) return null
    if ((this.view.getUint16(at + 4, true) & HAS_OVERFLOW) !== 0) {
      const value = this.value(i, file)
      if (value === null) return null
      new Uint8Array(words.buffer, words.byteOffset, length).set(value)
      return length >>> 2
    }
    const { view } = this
    const start = this.keyEnd(i)
    for (let word = 0, from = start; word < length >>> 2; word++, from += 4) words[word] = view.getUint32(from, true)
    return length >>> 2
  }

  /** Length in bytes of the value of entry `i` of a leaf. */
  lengthOf(i: number): number {
    return this.lengthAt(this.entryAt(i))
  }

  /** Whether the key of entry `i` comes after that of the entry before. */
  isAscending(i: number, integers: boolean): boolean {
    const { bytes } = this
    const before = this.keyStart(i - 1)
    const beforeEnd = this.keyEnd(i - 1)
    const start = this.keyStart(i)
    const end = this.keyEnd(i)
    if (integers) return integerAt(bytes, before, beforeEnd) < integerAt(bytes, start, end)
    const common = Math.min(beforeEnd - before, end - start)
    for (let byte = 0; byte < common; byte++) {
      const difference = bytes[start + byte]! - bytes[before + byte]!
      if (difference !== 0) return difference > 0
    }
    return end - start > beforeEnd - before
  }

  /** Whether the key of entry `i` has the length of an integer. */
  hasIntegerKey(i: number): boolean {
    const length = this.keyEnd(i) - this.keyStart(i)
    return length === 4 || length === 8
  }

  /** Compares the key of entry `i` with a key of `length` bytes. Negative if entry `i` comes first. */
  compare(i: number, key: Uint8Array, integers: boolean, length = key.length): number {
    const { bytes } = this
    const at = this.entryAt(i)
    const start = at + NODE_HEADER
    const own = this.halves[(at >>> 1) + 3]!
    if (integers) return integerAt(bytes, start, start + own) - integerAt(key, 0, length)
    const common = Math.min(own, length)
    for (let byte = 0; byte < common; byte++) {
      const difference = bytes[start + byte]! - key[byte]!
      if (difference !== 0) return difference
    }
    return own - length
  }
}

/** Reads a 64-bit number. Numbers that a file of pages can hold are exact. */
function wordsAt(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32
}

/** Reads an integer key, which has four or eight bytes in native byte order. */
function integerAt(bytes: Uint8Array, start: number, end: number): number {
  let number = 0
  for (let at = end - 1; at >= start; at--) number = number * 256 + bytes[at]!
  return number
}

const overflowHead = new Uint8Array(PAGE_HEADER)
const overflowView = new DataView(overflowHead.buffer)

/** Returns the damage of the overflow pages of a value as a phrase, or null. `length`: bytes of the value. */
export function findOverflowDamage(
  file: PageFile,
  { page, pages }: { page: number; pages: number },
  length: number,
): string | null {
  const wrong = `page ${page} is not the first overflow page of a value`
  // LMDB overwrites a value of the same transaction in its pages, also if the new value needs fewer.
  if (pages < Math.ceil((PAGE_HEADER + length) / file.pageBytes)) return wrong
  if (!file.read(page, overflowHead)) return `page ${page} is missing`
  const isOne = overflowView.getUint16(FLAGS_AT, true) === IS_OVERFLOW
  const says = Number(overflowView.getBigUint64(0, true))
  return isOne && says === page && overflowView.getUint32(LOWER_AT, true) === pages ? null : wrong
}
