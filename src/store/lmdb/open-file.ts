// How an environment is opened: what is looked at before, the room that LMDB needs and does not ask for, and what the
// package is told. All of it while nobody writes.
import { accessSync, chmodSync, constants, existsSync, linkSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb'
import { OperationalError } from '../../kernel/errors.ts'
import { checkFileInSlices, findFileDamage } from '../pages/file-check.ts'
import type { SharedCounter } from '../process/shared-counter.ts'
import { diskFullReasonOf } from './disk-full.ts'
import { DATA_FILE, LOCK_FILE } from './environment-folder.ts'
import { OpenLock } from './open-lock.ts'

/**
 * Address space, not disk: a store that grows beyond it is mapped anew, at twice its size. A process has room for some
 * 6,000 of them; maps of 256 GiB filled it with 500.
 */
export const MAP_BYTES = 16 * 2 ** 30

const READERS_MAX = 1000
/** What each takes in their table, with its part of what stands before it. */
const READER_BYTES = 72
/** With the first pages of a store: LMDB spoils its memory, and the process dies at its end, where these find no room. */
const READER_TABLE_BYTES = 512 * 1024

const DATABASES_MAX = 16

export interface LmdbFileOptions {
  /** False: commits are not flushed to disk (tests). */
  readonly sync?: boolean
  readonly readOnly?: boolean
  /**
   * Another number after each commit of any process, before whoever wrote is told that it is done: only where all that
   * write to the file bump the same one. Without it nobody knows that nothing was committed.
   */
  readonly commitCounter?: Pick<SharedCounter, 'load' | 'bump'>
  /** For tests: the address space to begin with. */
  readonly mapBytes?: number
}

/**
 * `open` opens the folder, which it does at once: what it would have to wait for is waited for before, and this process goes
 * on with its own writes. Of those that open what another one writes to, none keeps the others waiting.
 */
export async function openWhenUnwritten<T>(path: string, open: () => T): Promise<T> {
  let gate: OpenLock
  try {
    gate = OpenLock.of(join(path, DATA_FILE))
  } catch {
    // It says better what is wrong with the folder.
    return open()
  }
  try {
    // Within the gate the file is only compared with what was found, so a large one does not hold the event loop.
    await checkFileInSlices(join(path, DATA_FILE)).catch(() => undefined)
    return await gate.runExclusiveAsync(open)
  } finally {
    gate.close()
  }
}

/** Looked at while nobody writes: what changes meanwhile would look damaged. */
export function openChecked(path: string, options: LmdbFileOptions): RootDatabase {
  const file = join(path, DATA_FILE)
  const fault = findDamage(file)
  if (fault !== null) throw new OperationalError(`${file} ${fault}`)
  allocateReaderTable(path)
  if (!canRegisterReaders(path)) {
    throw new OperationalError(
      `${join(path, LOCK_FILE)} cannot be written by this user, and what is read would change meanwhile`,
    )
  }
  const isNew = !existsSync(file)
  const root = open(packageOptions(path, options))
  // The package gives a new file the mode that the process has for new files.
  if (isNew) chmodSync(file, 0o600)
  return root
}

function findDamage(file: string): string | null {
  try {
    return findFileDamage(file)
  } catch (failure) {
    return `cannot be read: ${(failure as Error).message}`
  }
}

/**
 * LMDB maps a table of its readers, and the disk gives it room where it is first touched: with none left, the system ends
 * the process that touches it. So it is filled before anybody maps it.
 */
function allocateReaderTable(path: string): void {
  const file = join(path, LOCK_FILE)
  if (existsSync(file)) return
  const draft = `${file}.${process.pid}`
  try {
    writeFileSync(draft, new Uint8Array(READER_TABLE_BYTES), { mode: 0o600 })
    truncateSync(draft, READERS_MAX * READER_BYTES)
    // Never over one that another process has in use already.
    linkSync(draft, file)
  } catch (failure) {
    const lack = diskFullReasonOf(failure)
    if (lack !== null) throw new OperationalError(`there is no room for a store in ${path}: ${lack}`)
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * Where LMDB may not write to the table of readers it reads all the same, and writers use the pages anew that it is reading.
 * On a file system that is read-only nobody writes.
 */
function canRegisterReaders(path: string): boolean {
  try {
    accessSync(join(path, LOCK_FILE), constants.R_OK | constants.W_OK)
    return true
  } catch (failure) {
    return (failure as { code?: string }).code !== 'EACCES'
  }
}

function packageOptions(path: string, options: LmdbFileOptions): RootDatabaseOptionsWithPath {
  return {
    path,
    encoding: 'binary',
    keyEncoding: 'binary',
    mapSize: options.mapBytes ?? MAP_BYTES,
    maxDbs: DATABASES_MAX,
    maxReaders: READERS_MAX,
    noSubdir: false,
    noSync: options.sync === false,
    readOnly: options.readOnly === true,
    // A commit is then on disk when it resolves (ruling G9); writes that wait meanwhile share the next one.
    overlappingSync: false,
  }
}
