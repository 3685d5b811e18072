// Looks at an LMDB file before LMDB does, which maps it into memory and ends the process where a page is missing.
// Reads the two meta pages alone; only a file that is shorter than they say is walked page by page, because LMDB may
// leave free pages at the end unwritten. Layout: lmdb-js 3, 64 bits, little-endian.
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OperatorFault } from '../../kernel/errors.ts'

const MAGIC = 0xbeefc0de
const VERSION = 2
const PAGE_HEADER = 24
/** Where the second meta page lies is told by the first; this holds both for every page size. */
const META_BYTES = 192
const IS_BRANCH = 1
const IS_LEAF = 2
const IS_META = 8
const HAS_OVERFLOW = 1
const HAS_DATABASE = 2
/** Root of an empty tree. */
const NO_PAGE = 2n ** 64n - 1n
/** Deeper than any tree of 2^48 pages. */
const DEPTH_MAX = 64

interface Meta {
  readonly pageBytes: number
  readonly mapBytes: number
  /** Of the free list and of the main tree. */
  readonly roots: readonly bigint[]
  readonly lastPage: number
  readonly transaction: number
}

/** What is wrong with the file, in words that follow its name; null when LMDB may open it. It need not exist. */
export function faultOfFile(path: string): string | null {
  if (!existsSync(path)) {
    const isOld = existsSync(join(dirname(path), 'lock.mdb'))
    return isOld ? 'is missing, though the folder has been used' : null
  }
  const file = openSync(path, 'r')
  try {
    return faultOf(file)
  } finally {
    closeSync(file)
  }
}

function faultOf(file: number): string | null {
  const first = metaAt(file, 0)
  // The size is read after the meta pages, so that a process that is writing meanwhile has grown the file before.
  const second = first === null ? null : metaAt(file, first.pageBytes)
  const { size } = fstatSync(file)
  if (size === 0) return 'is empty'
  if (first === null || second === null || first.pageBytes !== second.pageBytes) return 'is not a database, or damaged'
  const { pageBytes } = first
  if (size % pageBytes !== 0) return `is damaged: ${size} bytes are no whole number of pages`
  const meta = first.transaction >= second.transaction ? first : second
  if (meta.lastPage * pageBytes > meta.mapBytes) return 'is damaged: it names more pages than it may have'
  const pages = size / pageBytes
  if (pages > meta.lastPage || new Walk(file, pageBytes, pages).reaches(meta.roots)) return null
  return `is damaged: it has ${pages} pages of ${meta.lastPage + 1}`
}

/** The two meta pages as they stand. Throws when the file is no database. */
export function metaPages(path: string): Uint8Array {
  const file = openSync(path, 'r')
  try {
    const first = metaAt(file, 0)
    if (first === null) throw new OperatorFault(`${path} is not a database, or damaged`)
    const pages = new Uint8Array(2 * first.pageBytes)
    readSync(file, pages, 0, pages.length, 0)
    return pages
  } finally {
    closeSync(file)
  }
}

function metaAt(file: number, offset: number): Meta | null {
  const bytes = new DataView(new ArrayBuffer(META_BYTES))
  if (readSync(file, bytes, 0, META_BYTES, offset) < META_BYTES) return null
  const word = (at: number): number => bytes.getUint32(at, true)
  const long = (at: number): bigint => bytes.getBigUint64(at, true)
  if ((bytes.getUint16(18, true) & IS_META) === 0 || word(24) !== MAGIC || (word(28) & 0xffff) !== VERSION) return null
  const pageBytes = word(48)
  if (pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0) return null
  return {
    pageBytes,
    mapBytes: Number(long(40)),
    roots: [long(88), long(136)],
    lastPage: Number(long(144)),
    transaction: Number(long(152)),
  }
}

/** Follows the trees from their roots, and finds whether every page that they name is there. */
class Walk {
  private readonly file: number
  private readonly pageBytes: number
  private readonly pages: bigint

  constructor(file: number, pageBytes: number, pages: number) {
    this.file = file
    this.pageBytes = pageBytes
    this.pages = BigInt(pages)
  }

  reaches(roots: readonly bigint[]): boolean {
    return roots.every((root) => this.tree(root, 0))
  }

  private tree(page: bigint, depth: number): boolean {
    if (page === NO_PAGE) return true
    if (page >= this.pages || depth > DEPTH_MAX) return false
    const bytes = new DataView(new ArrayBuffer(this.pageBytes))
    readSync(this.file, bytes, 0, this.pageBytes, Number(page) * this.pageBytes)
    const flags = bytes.getUint16(18, true)
    const count = bytes.getUint16(20, true) >> 1
    if ((flags & (IS_BRANCH | IS_LEAF)) === 0 || PAGE_HEADER + 2 * count > this.pageBytes) return false
    for (let i = 0; i < count; i++) {
      const node = PAGE_HEADER + bytes.getUint16(PAGE_HEADER + 2 * i, true)
      if (node + 8 > this.pageBytes) return false
      const isThere = (flags & IS_BRANCH) !== 0 ? this.child(bytes, node, depth) : this.data(bytes, node, depth)
      if (!isThere) return false
    }
    return true
  }

  private child(bytes: DataView, node: number, depth: number): boolean {
    const page = BigInt(bytes.getUint32(node, true)) | (BigInt(bytes.getUint16(node + 4, true)) << 32n)
    return this.tree(page, depth + 1)
  }

  private data(bytes: DataView, node: number, depth: number): boolean {
    const flags = bytes.getUint16(node + 4, true)
    const data = node + 8 + bytes.getUint16(node + 6, true)
    if ((flags & HAS_OVERFLOW) !== 0) {
      if (data + 24 > this.pageBytes) return false
      return bytes.getBigUint64(data, true) + bytes.getBigUint64(data + 16, true) <= this.pages
    }
    if ((flags & HAS_DATABASE) !== 0) {
      return data + 48 <= this.pageBytes && this.tree(bytes.getBigUint64(data + 40, true), depth + 1)
    }
    return true
  }
}
