// Looks at an LMDB file before LMDB does, which maps it into memory, believes it, and ends the process where a page is missing.
// Always: both meta pages and what they lead to. Of the rest the pages that lead to others, as far as a start may wait for
// them; only a file that is shorter than it says is walked whole, because LMDB may leave free pages at the end unwritten.
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { type MetaPage, PageFile, readMetaPage, TreePage } from './page-file.ts'
import { runToEnd, type WalkOptions, walkTrees } from './page-walk.ts'

/** A tenth of a second at most; the pages that lead to others are some hundredth of a file. */
const PAGES_PER_OPEN = 4000

/** Some milliseconds: of a file that was found sound a few commits ago. */
const PAGES_SINCE_SOUND = 100

/** Longer than a tick of the clock of file systems: within one, a change by another program would not be seen. */
const TIMESTAMP_TICK_MS = 20

/** Files whose look is remembered: forgotten when there are so many. */
const REMEMBERED_FILES_MAX = 100_000

/** How long `checkAhead` keeps the event loop at a time. */
const SLICE_MS = 1

/** A check that commits of other processes make useless is repeated so often. */
const CHECK_ATTEMPTS_MAX = 3

interface CheckedState {
  /** Size, times, and the number of the newest commit. */
  readonly fileState: string
  /** What a check of the file found. */
  readonly fault: string | null
}

/** By device and inode: what a file looked like that this process has checked, or checked, used and closed. */
const checkedFiles = new Map<string, CheckedState>()

/** By device and inode: sound as of a commit, while other processes committed to it. */
const recentlySound = new Set<string>()

/** To be called when LMDB has closed the file: as long as it looks the same, it need not be checked again. */
export function rememberFileState(path: string): void {
  const found = readFileState(path)
  if (found === null) return
  if (Date.now() - found.changedMs > TIMESTAMP_TICK_MS) remember(found, null)
  else checkedFiles.delete(found.name)
}

interface FileState {
  readonly name: string
  readonly look: string
  readonly changedMs: number
}

function remember({ name, look }: FileState, fault: string | null): void {
  if (checkedFiles.size >= REMEMBERED_FILES_MAX) checkedFiles.clear()
  checkedFiles.set(name, { fileState: look, fault })
}

/**
 * Every commit of LMDB changes the number of the newest one, also within one tick of the file's times. Null where there is
 * no such number.
 */
function readFileState(path: string): FileState | null {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    return null
  }
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = fstatSync(file, { bigint: true })
    const first = readMetaPage(file, 0)
    const second = first === null ? null : readMetaPage(file, first.pageBytes)
    if (first === null || second === null) return null
    const commit = Math.max(first.transaction, second.transaction)
    return {
      name: `${dev}:${ino}`,
      look: `${size} ${mtimeNs} ${ctimeNs} ${commit}`,
      changedMs: Number(ctimeNs / 1_000_000n),
    }
  } catch {
    return null
  } finally {
    closeSync(file)
  }
}

/**
 * Checks the file as `faultOfFile` does, about a millisecond at a time, and remembers the result for it. Other processes may
 * write to the file: a result counts only if there was no commit while the file was checked.
 */
export async function checkFileInSlices(path: string): Promise<void> {
  for (let checks = 0; checks < CHECK_ATTEMPTS_MAX; checks++) {
    const before = readFileState(path)
    if (before === null || checkedFiles.get(before.name)?.fileState === before.look) return
    const fault = await runInSlices(checkFile(path, PAGES_PER_OPEN))
    if (readFileState(path)?.look === before.look) {
      remember(before, fault)
      return
    }
    // LMDB does not use a page again that a commit leads to without a newer number, so what was found sound was sound.
    if (recentlySound.size >= REMEMBERED_FILES_MAX) recentlySound.clear()
    if (fault === null) recentlySound.add(before.name)
    else recentlySound.delete(before.name)
  }
}

async function runInSlices<T>(steps: Generator<void, T>): Promise<T> {
  for (;;) {
    const until = performance.now() + SLICE_MS
    do {
      const step = steps.next()
      if (step.done === true) return step.value
    } while (performance.now() < until)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/**
 * What is wrong with the file, in words that follow its name; null when LMDB may open it. It need not exist. No process
 * writes to it during the call, or what changes would look damaged. A file that looks as it did when this process closed or
 * checked it is not checked again.
 */
export function findFileDamage(path: string): string | null {
  if (!existsSync(path)) {
    const isOld = existsSync(join(dirname(path), 'lock.mdb'))
    return isOld ? 'is missing, though the folder has been used' : null
  }
  const found = readFileState(path)
  if (found === null) return runToEnd(checkFile(path, PAGES_PER_OPEN))
  const known = checkedFiles.get(found.name)
  if (known?.fileState === found.look) return known.fault
  // For one opening: the next one checks ahead again.
  const wasSound = recentlySound.delete(found.name)
  return runToEnd(checkFile(path, wasSound ? PAGES_SINCE_SOUND : PAGES_PER_OPEN))
}

/** One step for each page. */
function* checkFile(path: string, pagesMax: number): Generator<void, string | null> {
  const found = yield* checkSize(path)
  if ('fault' in found) return found.fault
  // A file that lacks pages was walked whole.
  return found.isWalked ? null : yield* checkPages(path, { leaves: false, pagesMax })
}

function* checkSize(path: string): Generator<void, { readonly fault: string } | { readonly isWalked: boolean }> {
  const file = openSync(path, 'r')
  try {
    const first = readMetaPage(file, 0)
    const second = first === null ? null : readMetaPage(file, first.pageBytes)
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
    if (pages > newest.lastPage) return { isWalked: false }
    const fault = yield* checkPages(path, { leaves: true, pagesMax: Number.POSITIVE_INFINITY })
    return fault === null
      ? { isWalked: true }
      : { fault: `is damaged: it has ${pages} pages of ${newest.lastPage + 1}` }
  } finally {
    closeSync(file)
  }
}

/** The two meta pages as they stand. Throws when the file is no database. */
export function readMetaPages(path: string): Uint8Array {
  const file = openSync(path, 'r')
  try {
    const first = readMetaPage(file, 0)
    if (first === null) throw new OperationalError(`${path} is not a database, or damaged`)
    const pages = new Uint8Array(2 * first.pageBytes)
    readSync(file, pages, 0, pages.length, 0)
    return pages
  } finally {
    closeSync(file)
  }
}

function* checkPages(path: string, options: WalkOptions): Generator<void, string | null> {
  const file = new PageFile(path)
  try {
    const metas = file.metas()
    if (metas === null) return 'is not a database, or damaged'
    const fault = findMetaDamage(file, metas) ?? (yield* walkTrees(file, metas[0], options))
    return fault === null ? null : `is damaged: ${fault}`
  } finally {
    file.close()
  }
}

/**
 * Commits take turns at the two meta pages, and each of them writes a new root: a meta page whose number or root was
 * changed gives itself away, and does not bring back the state before the last commit.
 */
function findMetaDamage(file: PageFile, [newest, older]: readonly [MetaPage, MetaPage]): string | null {
  const { transaction, main } = newest
  if (transaction === 0) return null
  // LMDB writes a copy as one commit of pages of the first, with a number of its own.
  const isCopy = older.transaction === 0
  if (!isCopy && transaction !== older.transaction + 1) return 'its meta pages do not follow each other'
  if (main.root === null) return null
  const page = new TreePage(file.pageBytes)
  const fault = page.load(file, main.root)
  if (fault !== null) return fault
  const isOfCommit = page.transaction === transaction || (isCopy && page.transaction === 1)
  return isOfCommit ? null : `page ${main.root} is not of the commit that leads to it`
}
