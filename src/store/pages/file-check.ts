// Checks an LMDB file before LMDB maps it. LMDB trusts its pages and ends the process if one is missing or damaged. All pages in use
// are checked, unless a process that has checked them has the file open: then only LMDB has written to it since.
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { CREATING_FILE, LMDB_LOCK_FILE } from '../../kernel/folder/data-folder.ts'
import { type MetaPage, PageFile, readMetaPage, TreePage } from './page-file.ts'
import { runToEnd, type WalkOptions, walkTrees } from './page-walk.ts'

/** Branch pages of a file that another process has checked and has open. Their check takes a few milliseconds. */
const PAGES_IF_SOUND = 100

/** Longer than the timestamp resolution of file systems: a change within one tick would not be visible. */
const TIMESTAMP_TICK_MS = 20

/** Number of files whose state is remembered. The memory is cleared when it is full. */
const REMEMBERED_FILES_MAX = 100_000

/** How long `checkFileInSlices` blocks the event loop at a time. */
const SLICE_MS = 1

/** How often a check is repeated after commits of other processes made its result useless. */
const CHECK_ATTEMPTS_MAX = 3

interface CheckedState {
  /** Size, timestamps, and number of the newest commit. */
  readonly fileState: string
  /** The damage that the check found; null for a sound file. */
  readonly damage: string | null
}

/** By device and inode: state and result of files that this process has checked, or opened and closed. */
const checkedFiles = new Map<string, CheckedState>()

/** Call it after LMDB has closed the file. The file is not checked again until its state changes. */
export function rememberFileState(path: string): void {
  const state = readFileState(path)
  if (state === null) return
  if (Date.now() - state.changedMs > TIMESTAMP_TICK_MS) remember(state, null)
  else checkedFiles.delete(state.name)
}

interface FileState {
  readonly name: string
  readonly look: string
  readonly changedMs: number
}

function remember({ name, look }: FileState, damage: string | null): void {
  if (checkedFiles.size >= REMEMBERED_FILES_MAX) checkedFiles.clear()
  checkedFiles.set(name, { fileState: look, damage })
}

/**
 * Reads what identifies the content of the file. Each LMDB commit increments the transaction number, even within one tick of
 * the timestamps. Returns null if the file has no valid meta pages.
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
 * Runs the check of `findFileDamage` in slices of about 1 ms and remembers its result. The result counts only if no commit of another
 * process happened during the check.
 */
export async function checkFileInSlices(path: string): Promise<void> {
  for (let checks = 0; checks < CHECK_ATTEMPTS_MAX; checks++) {
    const before = readFileState(path)
    if (before === null || checkedFiles.get(before.name)?.fileState === before.look) return
    const damage = await runInSlices(checkFile(path, false))
    if (readFileState(path)?.look !== before.look) continue
    remember(before, damage)
    return
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
 * Returns the damage of the file as a phrase to follow its name, or null if LMDB may open it. The file need not exist. No
 * process may write to it during the call, because a change would look like damage. A file whose state is unchanged since
 * this process closed or checked it is not checked again. `isKnownSound`: a process that has checked the file has it open; then
 * only a few pages are checked.
 */
export function findFileDamage(path: string, isKnownSound = false): string | null {
  // The process that created it was killed before LMDB had written anything.
  if (isBeingCreated(path) && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return null
  if (!existsSync(path)) {
    const isOld = existsSync(join(dirname(path), LMDB_LOCK_FILE))
    return isOld ? 'is missing, although the folder was used before' : null
  }
  const state = readFileState(path)
  const remembered = state === null ? undefined : checkedFiles.get(state.name)
  if (remembered !== undefined && remembered.fileState === state?.look) return remembered.damage
  return runToEnd(checkFile(path, isKnownSound))
}

function isBeingCreated(path: string): boolean {
  return existsSync(join(dirname(path), CREATING_FILE))
}

/** Yields after each page, or each few pages. */
function* checkFile(path: string, isKnownSound: boolean): Generator<void, string | null> {
  const state = checkSize(path)
  if ('damage' in state) return state.damage
  const { missing } = state
  // A file that is too short is sound if only free pages are missing: LMDB may leave those at the end unwritten.
  const isPart = isKnownSound && missing === null
  const damage = yield* checkPages(path, isPart ? { leaves: 'none', pagesMax: PAGES_IF_SOUND } : { leaves: 'by page' })
  return damage === null || missing === null ? damage : missing
}

/** `missing`: the damage if one of the pages that the file lacks is in use; null: it has all pages. */
function checkSize(path: string): { readonly damage: string } | { readonly missing: string | null } {
  const file = openSync(path, 'r')
  try {
    const first = readMetaPage(file, 0)
    const second = first === null ? null : readMetaPage(file, first.pageBytes)
    const { size } = fstatSync(file)
    if (size === 0) return { damage: 'is empty' }
    if (first === null || second === null || first.pageBytes !== second.pageBytes) {
      return { damage: 'is not a database, or damaged' }
    }
    const { pageBytes } = first
    if (size % pageBytes !== 0) return { damage: `is damaged: ${size} bytes is not a multiple of the page size` }
    const newest = first.transaction >= second.transaction ? first : second
    if (newest.lastPage * pageBytes > newest.mapBytes) {
      return { damage: 'is damaged: it refers to more pages than its maximum size allows' }
    }
    const pages = size / pageBytes
    return {
      missing: pages > newest.lastPage ? null : `is damaged: it has ${pages} of ${newest.lastPage + 1} pages`,
    }
  } finally {
    closeSync(file)
  }
}

/** Returns the bytes of both meta pages. Throws OperationalError if the file is not an LMDB database. */
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
    const damage = findMetaDamage(file, metas) ?? (yield* walkTrees(file, metas[0], options))
    return damage === null ? null : `is damaged: ${damage}`
  } finally {
    file.close()
  }
}

/**
 * Commits alternate between the two meta pages, and each commit writes a new root page. So a meta page with a changed number
 * or root is detected and cannot silently restore the state before the last commit.
 */
function findMetaDamage(file: PageFile, [newest, older]: readonly [MetaPage, MetaPage]): string | null {
  const { transaction, main } = newest
  if (transaction === 0) return null
  // LMDB writes a compacted copy as one commit with its own number, whose pages have transaction 1.
  const isCopy = older.transaction === 0
  if (!isCopy && transaction !== older.transaction + 1) return 'its meta pages are not from consecutive commits'
  if (main.root === null) return null
  const page = new TreePage(file.pageBytes)
  const damage = page.load(file, main.root)
  if (damage !== null) return damage
  const isOfCommit = page.transaction === transaction || (isCopy && page.transaction === 1)
  return isOfCommit ? null : `root page ${main.root} is not from the newest commit`
}
