// Copies several environments as of one point in time while other processes write to them. All write locks are held together
// until a read transaction of each environment has begun, so the copies equal the state that a power failure at that point
// would have left. The read transactions then protect the pages while the files are copied and compacted.

import { closeSync, fsyncSync, mkdirSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_FILE } from '../../kernel/folder/data-folder.ts'
import { readMetaPages } from '../pages/file-check.ts'
import { GRAPH_DESCRIPTION, openMeta } from './databases.ts'
import { LAYOUT_KEY } from './layout.ts'
import { LeakedPagesError, LmdbFile } from './lmdb-file.ts'
import { openWhenUnwritten } from './open-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from './open-lock.ts'

const COPY_BYTES = 1 << 20

/** One environment with an open read transaction. */
export interface PinnedEnvironment {
  readonly folder: string
  /**
   * Writes the file into the new folder `target`, compacted if LMDB can do that. `progress`: called with the length of each part that
   * was copied.
   */
  copyTo(target: string, progress?: (bytes: number) => void): Promise<void>
}

/**
 * Runs `work` with consistent read transactions on all folders. Other processes may write during `work`, but the pages
 * that they free are not reused until it ends. Locks are acquired in the order of the paths, so that concurrent calls cannot
 * deadlock. Throws OperationalError if an environment cannot be opened, LockTimeoutError if other processes keep writing.
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
    for (const folder of sorted) {
      files.push(await openWhenUnwritten(folder, () => new LmdbFile(folder, {}), COMMAND_LOCK_TIMEOUT_MS))
    }
    const lock = (at: number): void => {
      const file = files[at]
      const folder = sorted[at]
      if (file === undefined || folder === undefined) {
        for (const [i, each] of files.entries()) {
          releases.push(each.readTransactions.pin())
          const pages = readMetaPages(join(sorted[i]!, DATA_FILE))
          held.push({
            folder: sorted[i]!,
            copyTo: (target, progress) => copyPinned(sorted[i]!, pages, target, progress),
          })
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

/** Copies the file with the given meta pages. Pages changed since then are not reachable from these. */
async function copyPinned(
  folder: string,
  pages: Uint8Array,
  target: string,
  progress: (bytes: number) => void = () => {},
): Promise<void> {
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
      progress(length)
    }
  } finally {
    closeSync(from)
    closeSync(to)
  }
  try {
    await compactFolder(whole, target)
  } catch (failure) {
    if (!(failure instanceof LeakedPagesError)) throw failure
    // A backup that is larger is better than none. The incomplete compacted copy is replaced.
    renameSync(join(whole, DATA_FILE), join(target, DATA_FILE))
    flush(target)
  }
  rmSync(whole, { recursive: true })
}

/** A write to an almost full disk may be partial; the next write then reports the error. */
function writeAll(file: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, at + done)
}

/** Writes a compacted copy: without free pages, and with pages in tree order. Flushes it to disk. Throws LeakedPagesError, OperationalError. */
export async function compactFolder(folder: string, target: string): Promise<void> {
  const file = new LmdbFile(folder, { readOnly: true })
  try {
    await file.copyCompacted(target)
  } finally {
    await file.close()
  }
  await createFreeList(target)
  flush(target)
}

function flush(folder: string): void {
  const data = openSync(join(folder, DATA_FILE), 'r')
  fsyncSync(data)
  closeSync(data)
}

/**
 * Creates the free list of a compacted file with a small transaction. Without it, LMDB ends the process when the first
 * transaction frees several hundred pages (`key.mv_size > 0` in mdb_page_alloc).
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
