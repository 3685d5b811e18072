// Copies several environments as they all were at one moment, while other processes write to them. The write locks of all
// are held together for as long as it takes to begin a reading of each, so the copies are what a power cut at that moment
// would have left. Then the readings keep the pages from being used again while the files are copied and compacted.
import { closeSync, fsyncSync, mkdirSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { readMetaPages } from '../pages/file-check.ts'
import { GRAPH_DESCRIPTION, LAYOUT_KEY, openMeta } from './databases.ts'
import { DATA_FILE } from './environment-folder.ts'
import { LmdbFile } from './lmdb-file.ts'
import { openWhenUnwritten } from './open-file.ts'

const COPY_BYTES = 1 << 20

/** One environment, held as it was at the moment. */
export interface PinnedEnvironment {
  readonly folder: string
  /** Writes the compacted file into a folder of its own, which it makes. */
  copyTo(target: string): Promise<void>
}

/**
 * `work` may take its time: writers go on meanwhile, though the pages that they free are not used again until it ends.
 * Locks are taken in the order of the paths, so that two that do this at once never wait for each other.
 */
export async function pinTogether<T>(
  folders: readonly string[],
  work: (held: readonly PinnedEnvironment[]) => Promise<T>,
): Promise<T> {
  const files: LmdbFile[] = []
  const releases: (() => void)[] = []
  const held: PinnedEnvironment[] = []
  try {
    const sorted = [...new Set(folders)].sort()
    for (const folder of sorted) files.push(await openWhenUnwritten(folder, () => new LmdbFile(folder, {})))
    const lock = (at: number): void => {
      const file = files[at]
      const folder = sorted[at]
      if (file === undefined || folder === undefined) {
        for (const [i, each] of files.entries()) {
          releases.push(each.readTransactions.pin())
          const pages = readMetaPages(join(sorted[i]!, DATA_FILE))
          held.push({ folder: sorted[i]!, copyTo: (target) => copyPinned(sorted[i]!, pages, target) })
        }
        return
      }
      file.transactionSync(() => lock(at + 1))
    }
    lock(0)
    return await work(held)
  } finally {
    for (const release of releases) release()
    for (const file of files) await file.close()
  }
}

/** The meta pages are those of the moment; of the rest, whatever has changed since is not reached from them. */
async function copyPinned(folder: string, pages: Uint8Array, target: string): Promise<void> {
  const whole = join(target, 'whole')
  mkdirSync(whole, { recursive: true, mode: 0o700 })
  const from = openSync(join(folder, DATA_FILE), 'r')
  const to = openSync(join(whole, DATA_FILE), 'wx', 0o600)
  try {
    writeAll(to, pages, 0)
    const buffer = new Uint8Array(COPY_BYTES)
    for (let at = pages.length; ; ) {
      const length = readSync(from, buffer, 0, COPY_BYTES, at)
      if (length === 0) break
      writeAll(to, buffer.subarray(0, length), at)
      at += length
    }
  } finally {
    closeSync(from)
    closeSync(to)
  }
  await compactFolder(whole, target)
  rmSync(whole, { recursive: true })
}

/** A disk that is getting full takes a part of what it is given, and says so with the next. */
function writeAll(file: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, at + done)
}

/** Leaves out free pages and puts the others in the order of the trees. */
export async function compactFolder(folder: string, target: string): Promise<void> {
  const file = new LmdbFile(folder, { readOnly: true })
  try {
    await file.copyCompacted(target)
  } finally {
    await file.close()
  }
  await createFreeList(target)
  const data = openSync(join(target, DATA_FILE), 'r')
  fsyncSync(data)
  closeSync(data)
}

/**
 * A compacted file has no list of free pages at all, and LMDB ends the process when the first transaction on such a file
 * frees some hundreds of pages (`key.mv_size > 0` in mdb_page_alloc). A small one before it makes the list.
 */
async function createFreeList(folder: string): Promise<void> {
  const file = new LmdbFile(folder, {})
  try {
    const meta = openMeta(file, GRAPH_DESCRIPTION)
    const layout = meta.raw.getBinaryFast(LAYOUT_KEY)
    if (layout === undefined) return
    const same = Uint8Array.from(layout.subarray(0, layout.length))
    file.transactionSync(() => void meta.raw.put(LAYOUT_KEY, same))
  } finally {
    await file.close()
  }
}
