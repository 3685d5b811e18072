// Opens an environment with lmdb-js: checks the file before, allocates the reader table, and sets the options. All of it runs
// while no process writes to the environment (open-lock.ts).
import { accessSync, chmodSync, constants, existsSync, linkSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { RootDatabase, RootDatabaseOptionsWithPath } from 'lmdb'
import { OperationalError } from '../../kernel/errors.ts'
import { CREATING_FILE, DATA_FILE, LMDB_LOCK_FILE } from '../../kernel/folder/data-folder.ts'
import { checkFileInSlices, findFileDamage } from '../pages/file-check.ts'
import type { SharedCounter } from '../process/shared-counter.ts'
import { diskFullReasonOf } from './disk-full.ts'
import { loadDriver } from './driver.ts'
import { OpenLock } from './open-lock.ts'

/**
 * Initial size of a memory map: address space, not disk space. LMDB maps a larger environment again at twice the size. A
 * process can map about 6,000 of this size, and only 500 of 256 GiB.
 */
export const MAP_BYTES = 16 * 2 ** 30

const READERS_MAX = 1000
/** Bytes per reader in the reader table, with its share of the table's header. */
const READER_BYTES = 72
/** Contents of a new lock file. LMDB corrupts memory and the process crashes at exit if the first pages of a file do not fit. */
const READER_TABLE_BYTES = 512 * 1024
const emptyReaderTable = new Uint8Array(READER_TABLE_BYTES)

const DATABASES_MAX = 16

/** A data file is damaged. `message` says also what an operator does next. */
export class DamagedFileError extends OperationalError {
  override readonly name = 'DamagedFileError'
  /** The file and its damage. */
  readonly finding: string

  /** `damage`: a phrase that follows the name of the file. */
  constructor(file: string, damage: string) {
    const finding = `${file} ${damage}`
    super(
      `${finding}; check the data folder with \`verdigraph verify\`, and restore it from a backup with \`verdigraph restore\``,
    )
    this.finding = finding
  }
}

/** Options of an environment file. */
export interface LmdbFileOptions {
  /** False: commits are not flushed to disk. For tests. */
  readonly sync?: boolean
  readonly readOnly?: boolean
  /**
   * A counter that is incremented after each commit of any process, before the writer is notified. All processes that write to
   * the file must use the same counter. Without it no read transaction is reused.
   */
  readonly commitCounter?: Pick<SharedCounter, 'load' | 'increment'>
  /** How long to wait for writers of other processes when the file is opened, in milliseconds. Default: 10 s. */
  readonly lockTimeoutMs?: number
  /** False: under Node, other processes are not excluded. The caller makes sure that no other process opens the folder. */
  readonly lockFolder?: boolean
  /** Initial size of the memory map in bytes. For tests. */
  readonly mapBytes?: number
}

/**
 * Calls `open`, which opens the folder, when no process writes to it. The wait does not block this process. Concurrent
 * openings of one folder do not wait for each other. Throws LockTimeoutError after `lockTimeoutMs` (default: 10 s), and what
 * `open` throws.
 */
export async function openWhenUnwritten<T>(path: string, open: () => T, lockTimeoutMs?: number): Promise<T> {
  let lock: OpenLock
  try {
    lock = OpenLock.of(join(path, DATA_FILE))
  } catch {
    // `open` reports the problem with the folder.
    return open()
  }
  try {
    // Within the lock the file state is only compared, so a large file does not block the event loop.
    const isChecked = await lock.runExclusiveAsync(() => lock.isChecked(), lockTimeoutMs)
    if (!isChecked) await checkFileInSlices(join(path, DATA_FILE)).catch(() => undefined)
    return await lock.runExclusiveAsync(open, lockTimeoutMs)
  } finally {
    lock.close()
  }
}

/**
 * Opens the file after a check for damage. Call it while `lock` excludes writers, because a change would look like damage. Throws
 * OperationalError.
 */
export function openChecked(path: string, options: LmdbFileOptions, lock: OpenLock): RootDatabase {
  const file = join(path, DATA_FILE)
  const damage = findDamage(file, lock.isChecked())
  if (damage !== null) throw new DamagedFileError(file, damage)
  const creating = join(path, CREATING_FILE)
  const isNew = !existsSync(file) || existsSync(creating)
  if (isNew) noteCreation(creating)
  try {
    allocateReaderTable(path)
  } catch (failure) {
    if (isNew) rmSync(creating, { force: true })
    throw failure
  }
  if (!canRegisterReaders(path)) {
    throw new OperationalError(
      `${join(path, LMDB_LOCK_FILE)} is not writable for this user, so writers could overwrite pages while they are read`,
    )
  }
  const root = loadDriver().open(packageOptions(path, options))
  // lmdb-js creates a file with the default mode of the process.
  if (isNew) {
    chmodSync(file, 0o600)
    rmSync(creating, { force: true })
  }
  lock.setChecked()
  return root
}

function findDamage(file: string, isChecked: boolean): string | null {
  try {
    return findFileDamage(file, isChecked)
  } catch (failure) {
    return `cannot be read: ${(failure as Error).message}`
  }
}

/** Writes the file that says that the environment is being created. */
function noteCreation(path: string): void {
  try {
    writeFileSync(path, '', { mode: 0o600 })
  } catch (failure) {
    const reason = diskFullReasonOf(failure)
    if (reason !== null) throw new OperationalError(`not enough disk space for a store in ${dirname(path)}: ${reason}`)
    throw failure
  }
}

/**
 * Writes the reader table before LMDB maps it. If the disk has no space for a mapped page, the system ends the process that
 * touches the page.
 */
function allocateReaderTable(path: string): void {
  const file = join(path, LMDB_LOCK_FILE)
  if (existsSync(file)) return
  const draft = `${file}.${process.pid}`
  try {
    writeFileSync(draft, emptyReaderTable, { mode: 0o600 })
    truncateSync(draft, READERS_MAX * READER_BYTES)
    // Fails if another process has created the table since.
    linkSync(draft, file)
  } catch (failure) {
    const reason = diskFullReasonOf(failure)
    if (reason !== null) throw new OperationalError(`not enough disk space for a store in ${path}: ${reason}`)
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * Whether this process can register its read transactions. If the lock file is not writable, LMDB reads without registering,
 * and writers reuse the pages being read. On a read-only file system no process writes.
 */
function canRegisterReaders(path: string): boolean {
  try {
    accessSync(join(path, LMDB_LOCK_FILE), constants.R_OK | constants.W_OK)
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
    // The promise of a commit resolves when it is on disk. Writes that wait for it share the next commit.
    overlappingSync: false,
  }
}
