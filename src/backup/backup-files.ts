// The backups in the folder of the setting `backup_folder`: their names and states. The state of a backup is a
// JSON file next to it, so that every process of the service sees it, also after a restart.
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { isMemberName, MANIFEST_MEMBER } from './archive.ts'
import { isEncryptedHead } from './encryption.ts'

const EXTENSION = '.tar'
/** Of an encrypted backup. */
const ENCRYPTED_EXTENSION = '.tar.age'
const STATE_EXTENSION = '.json'
/** Locked by the process whose job works in the folder. */
const JOB_LOCK_FILE = '.job.lock'

/** Names that are listed, without the extension. No name leaves the folder. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/

const verificationSchema = z.object({
  state: z.enum(['running', 'sound', 'damaged', 'failed']),
  start_time: z.string(),
  end_time: z.string().nullable(),
  error: z.string().nullable().describe('the first damage, or why the verification failed; null: none'),
})

/** The schema of the state of a backup. */
const backupStateSchema = z.object({
  state: z.enum(['running', 'complete', 'failed']),
  start_time: z.string(),
  end_time: z.string().nullable().describe('null while the backup is made'),
  requested_by: z.string().describe('the service account; empty: the file was not made by this service'),
  projects: z.array(z.string()).nullable().describe('the identifiers of the projects in it; null: not known'),
  progress: z.number().describe('the share of the current job that is done, 0 to 1'),
  error: z.string().nullable(),
  verification: verificationSchema.nullable().describe('the last verification; null: it was never verified'),
})

/** The state of a backup, as it is stored. */
export type BackupState = z.infer<typeof backupStateSchema>

/** A backup in the folder. */
export interface ListedBackup extends BackupState {
  /** Without the extension. */
  readonly name: string
  /** The length of the file; 0 if it does not exist. */
  readonly bytes: number
  readonly isEncrypted: boolean
}

/** True if a name is one of a backup, existing or not. */
export function isBackupName(name: string): boolean {
  return NAME.test(name)
}

/** The path of a backup. `name`: checked by `isBackupName`. */
export function backupPath(folder: string, name: string, isEncrypted: boolean): string {
  return join(folder, `${name}${isEncrypted ? ENCRYPTED_EXTENSION : EXTENSION}`)
}

/** The path of the lock of the job in the folder. */
export function jobLockPath(folder: string): string {
  return join(folder, JOB_LOCK_FILE)
}

/** The name of a backup that is made at a time. */
export function newBackupName(nowMs: number): string {
  return `verdigraph-${new Date(nowMs).toISOString().replace(/[:.]/g, '-')}`
}

/** The backup of a name; null: it does not exist, or the file without a state is not a backup. */
export function readBackup(folder: string, name: string): ListedBackup | null {
  if (!isBackupName(name)) return null
  const state = readState(folder, name)
  const found = [false, true].flatMap((isEncrypted) => {
    const path = backupPath(folder, name, isEncrypted)
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat?.isFile() === true ? [{ isEncrypted, stat, path }] : []
  })
  const [file] = found
  if (file === undefined) return state === null ? null : { name, bytes: 0, isEncrypted: false, ...state }
  if (state === null && !looksLikeBackup(file.path, file.stat.size)) return null
  const { isEncrypted, stat } = file
  return { name, bytes: stat.size, isEncrypted, ...(state ?? foreignState(stat.mtimeMs)) }
}

/** All backups, the newest first. Empty if the folder does not exist. */
export function listBackups(folder: string): readonly ListedBackup[] {
  let files: readonly string[]
  try {
    files = readdirSync(folder)
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw failure
  }
  const names = files.flatMap((file) => {
    const extension = [ENCRYPTED_EXTENSION, EXTENSION, STATE_EXTENSION].find((one) => file.endsWith(one))
    return extension === undefined ? [] : [file.slice(0, -extension.length)]
  })
  return [...new Set(names)]
    .flatMap((name) => readBackup(folder, name) ?? [])
    .sort((a, b) => (a.start_time < b.start_time ? 1 : -1))
}

/** Stores the state of a backup. */
export function writeBackupState(folder: string, name: string, state: BackupState): void {
  const path = join(folder, `${name}${STATE_EXTENSION}`)
  writeFileSync(`${path}.next`, JSON.stringify(state), { mode: 0o600 })
  renameSync(`${path}.next`, path)
}

/** Deletes a backup and its state. */
export function removeBackup(folder: string, name: string): void {
  for (const isEncrypted of [false, true]) rmSync(backupPath(folder, name, isEncrypted), { force: true })
  rmSync(join(folder, `${name}${STATE_EXTENSION}`), { force: true })
}

function readState(folder: string, name: string): BackupState | null {
  try {
    return backupStateSchema.parse(JSON.parse(readFileSync(join(folder, `${name}${STATE_EXTENSION}`), 'utf8')))
  } catch {
    // A file of another program.
    return null
  }
}

/** A backup that a command has put into the folder. */
function foreignState(changedMs: number): BackupState {
  const time = new Date(changedMs).toISOString()
  return {
    state: 'complete',
    start_time: time,
    end_time: time,
    requested_by: '',
    projects: null,
    progress: 1,
    error: null,
    verification: null,
  }
}

/** Bytes of a tar header (POSIX.1-2024, ustar interchange format). */
const TAR_BLOCK = 512
/** The manifest is looked for in so many bytes at the end: those of about 20,000 members. */
const MANIFEST_SEARCH_BYTES = 4 * 1024 * 1024

/** Whether a file begins as an encrypted file, or as an archive of members of a backup and ends with a manifest. */
function looksLikeBackup(path: string, bytes: number): boolean {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    return false
  }
  try {
    const head = Buffer.alloc(TAR_BLOCK)
    readSync(file, head, 0, TAR_BLOCK, 0)
    if (isEncryptedHead(head)) return true
    if (bytes % TAR_BLOCK !== 0 || !isMemberName(nameInHeader(head, 0))) return false
    const end = Buffer.alloc(Math.min(bytes, MANIFEST_SEARCH_BYTES))
    readSync(file, end, 0, end.length, bytes - end.length)
    for (let at = end.length - TAR_BLOCK; at >= 0; at -= TAR_BLOCK) {
      if (end.toString('latin1', at + 257, at + 262) === 'ustar') return nameInHeader(end, at) === MANIFEST_MEMBER
    }
    return false
  } finally {
    closeSync(file)
  }
}

function nameInHeader(block: Buffer, at: number): string {
  const end = block.indexOf(0, at)
  return block.toString('latin1', at, end < 0 || end > at + 100 ? at + 100 : end)
}
