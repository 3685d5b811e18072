// Looks at an LMDB file before LMDB does, which maps it into memory, believes it, and ends the process where a page is missing.
// Always: both meta pages and what they lead to. Of the rest the pages that lead to others, as far as a start may wait for
// them; only a file that is shorter than it says is walked whole, because LMDB may leave free pages at the end unwritten.
import { type BigIntStats, closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OperatorFault } from '../../kernel/errors.ts'
import { faultOfTrees } from './page-walk.ts'
import { type Meta, metaAt, Page, PageFile } from './pages.ts'

/** A tenth of a second at most; the pages that lead to others are some hundredth of a file. */
const PAGES_AT_OPENING = 4000

/** A file that was written to so short a time ago may have been written to again within the same tick of its clock. */
const SETTLED_MS = 1000

/** Files whose look is remembered: forgotten when there are so many. */
const LOOKS_MAX = 100_000

/** By device and inode: what a file looked like that this process has checked, used and closed. */
const looks = new Map<string, string>()

/** To be called when LMDB has closed the file: as long as it looks the same, it need not be checked again. */
export function rememberLook(path: string): void {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (found === undefined) return
  const name = `${found.dev}:${found.ino}`
  if (looks.size >= LOOKS_MAX) looks.clear()
  if (Date.now() - Number(found.mtimeMs) > SETTLED_MS) looks.set(name, lookOf(found))
  else looks.delete(name)
}

function isAsLeft(path: string): boolean {
  const found = statSync(path, { bigint: true })
  return looks.get(`${found.dev}:${found.ino}`) === lookOf(found)
}

function lookOf({ size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${size} ${mtimeNs} ${ctimeNs}`
}

/**
 * What is wrong with the file, in words that follow its name; null when LMDB may open it. It need not exist. Nobody writes to
 * it meanwhile, or what changes would look damaged. A file that is as this process has left it is not looked at again.
 */
export function faultOfFile(path: string): string | null {
  if (!existsSync(path)) {
    const isOld = existsSync(join(dirname(path), 'lock.mdb'))
    return isOld ? 'is missing, though the folder has been used' : null
  }
  if (isAsLeft(path)) return null
  const found = faultOfSize(path)
  return 'fault' in found ? found.fault : faultOfPages(path, found.leaves)
}

function faultOfSize(path: string): { readonly fault: string } | { readonly leaves: boolean } {
  const file = openSync(path, 'r')
  try {
    const first = metaAt(file, 0)
    const second = first === null ? null : metaAt(file, first.pageBytes)
    const { size } = fstatSync(file)
    if (size === 0) return { fault: 'is empty' }
    if (first === null || second === null || first.pageBytes !== second.pageBytes) {
      return { fault: 'is not a database, or damaged' }
    }
    const { pageBytes } = first
    if (size % pageBytes !== 0) return { fault: `is damaged: ${size} bytes are no whole number of pages` }
    const newest = first.transaction >= second.transaction ? first : second
    if (newest.lastPage * pageBytes > newest.mapBytes) {
      return { fault: 'is damaged: it names more pages than it may have' }
    }
    const pages = size / pageBytes
    if (pages > newest.lastPage) return { leaves: false }
    const fault = faultOfPages(path, true)
    return fault === null ? { leaves: false } : { fault: `is damaged: it has ${pages} pages of ${newest.lastPage + 1}` }
  } finally {
    closeSync(file)
  }
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

function faultOfPages(path: string, leaves: boolean): string | null {
  const file = new PageFile(path)
  try {
    const metas = file.metas()
    if (metas === null) return 'is not a database, or damaged'
    const pagesMax = leaves ? Number.POSITIVE_INFINITY : PAGES_AT_OPENING
    const fault = faultOfMetas(file, metas) ?? faultOfTrees(file, metas[0], { leaves, pagesMax })
    return fault === null ? null : `is damaged: ${fault}`
  } finally {
    file.close()
  }
}

/**
 * Commits take turns at the two meta pages, and each of them writes a new root: a meta page whose number or root was
 * changed gives itself away, and does not bring back the state before the last commit.
 */
function faultOfMetas(file: PageFile, [newest, older]: readonly [Meta, Meta]): string | null {
  const { transaction, main } = newest
  if (transaction === 0) return null
  // LMDB writes a copy as one commit of pages of the first, with a number of its own.
  const isCopy = older.transaction === 0
  if (!isCopy && transaction !== older.transaction + 1) return 'its meta pages do not follow each other'
  if (main.root === null) return null
  const page = new Page(file.pageBytes)
  const fault = page.load(file, main.root)
  if (fault !== null) return fault
  const isOfCommit = page.transaction === transaction || (isCopy && page.transaction === 1)
  return isOfCommit ? null : `page ${main.root} is not of the commit that leads to it`
}
