// Makes or verifies one backup of the folder of backups, and stores its progress and its outcome next to it.

import { OperationalError } from '../kernel/errors.ts'
import { fileProblemOf } from '../kernel/folder/file-issue.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { UnreadableBackupError } from './archive.ts'
import { backup } from './backup.ts'
import { type BackupState, backupPath, readBackup, writeBackupState } from './backup-files.ts'
import { fileSource } from './backup-source.ts'
import { readIdentities } from './encryption.ts'
import { verifyBackup } from './verify-backup.ts'

/** A job on the folder of backups. */
export interface BackupJob {
  readonly kind: 'make' | 'verify'
  readonly dataDir: string
  /** The folder of backups, which exists. */
  readonly folder: string
  readonly name: string
  /** Only this project; null: all. */
  readonly projectId: string | null
  /** Such as `verdigraph 1.0.0`. */
  readonly madeBy: string
  /** A new backup is encrypted for these public keys; empty: it is not encrypted. */
  readonly recipients: readonly string[]
  /** The file with the identity for verifications of encrypted backups; empty: they are not decrypted. */
  readonly identityFile: string
}

/** A job of the schedule. */
export interface ScheduledJob {
  readonly kind: 'scheduled-backup' | 'drill'
  /** The organization of the service, which owns the place. */
  readonly organizationId: string
  /** When it was due, milliseconds since the epoch. */
  readonly dueMs: number
  /** Such as `verdigraph 1.0.0`. */
  readonly madeBy: string
}

/** The result of a job. */
export interface FinishedBackup {
  readonly bytes: number
  readonly projects: number
}

const PROGRESS_INTERVAL_MS = 300

/**
 * Runs a job whose state is already stored as `running`. `alive`: called while it works. Rejects as `backup` and `verifyBackup` do, after
 * storing the failure.
 */
export async function runBackupJob(job: BackupJob, clock: Clock, alive: () => void): Promise<FinishedBackup> {
  const { folder, name } = job
  const before = readBackup(folder, name)
  if (before === null) throw new Error(`the backup ${name} has no state`)
  const { name: _, bytes: __, isEncrypted: ___, ...start } = before
  let state: BackupState = start
  let storedMs = performance.now()
  const store = (changed: Partial<BackupState>): void => {
    state = { ...state, ...changed }
    writeBackupState(folder, name, state)
  }
  const progress = (share: number): void => {
    alive()
    if (performance.now() - storedMs < PROGRESS_INTERVAL_MS) return
    storedMs = performance.now()
    store({ progress: Math.min(1, share) })
  }
  const now = (): string => new Date(clock.now()).toISOString()
  try {
    return await (job.kind === 'make' ? make(job, clock, progress, store) : verify(job, now, progress, state, store))
  } catch (failure) {
    const error = publicReason(failure, job)
    if (job.kind === 'make') store({ state: 'failed', end_time: now(), error })
    else {
      const isDamaged = failure instanceof OperationalError && !(failure instanceof UnreadableBackupError)
      const outcome = isDamaged ? 'damaged' : 'failed'
      store({ verification: verificationOf(state, { state: outcome, end_time: now(), error }) })
    }
    throw failure
  }
}

type StoreState = (changed: Partial<BackupState>) => void

async function make(
  { dataDir, folder, name, projectId, madeBy, recipients }: BackupJob,
  clock: Clock,
  progress: (share: number) => void,
  store: StoreState,
): Promise<FinishedBackup> {
  const { manifest, bytes } = await backup({
    dataDir,
    out: backupPath(folder, name, recipients.length > 0),
    recipients,
    ...(projectId !== null && { projectId }),
    madeBy,
    nowMs: clock.now(),
    progress: (done, total) => progress(total === 0 ? 0 : done / total),
  })
  const { projects } = manifest
  store({ state: 'complete', end_time: new Date(clock.now()).toISOString(), progress: 1, projects: [...projects] })
  return { bytes, projects: projects.length }
}

async function verify(
  { folder, name, identityFile }: BackupJob,
  now: () => string,
  progress: (share: number) => void,
  state: BackupState,
  store: StoreState,
): Promise<FinishedBackup> {
  const isEncrypted = readBackup(folder, name)?.isEncrypted === true
  if (isEncrypted && identityFile === '')
    throw new Error('the backup is encrypted, and the setting `backup_identity` names no identity')
  const identities = isEncrypted ? await readIdentities(identityFile) : null
  const source = fileSource(backupPath(folder, name, isEncrypted), identities)
  const { projects } = await verifyBackup(source, folder, progress)
  const verification = verificationOf(state, { state: 'sound', end_time: now(), error: null })
  store({ progress: 1, projects: [...projects], verification })
  return { bytes: 0, projects: projects.length }
}

function verificationOf(
  { verification, start_time }: BackupState,
  changed: Omit<NonNullable<BackupState['verification']>, 'start_time'>,
): NonNullable<BackupState['verification']> {
  return { start_time: verification?.start_time ?? start_time, ...changed }
}

/** The reason without the paths of the machine. */
function publicReason(failure: unknown, { dataDir, folder, name }: BackupJob): string {
  const message = fileProblemOf(failure) ?? (failure instanceof Error ? failure.message : String(failure))
  return message
    .replaceAll(backupPath(folder, name, true), 'the file')
    .replaceAll(backupPath(folder, name, false), 'the file')
    .replaceAll(folder, 'the folder of backups')
    .replaceAll(dataDir, 'the data folder')
}
