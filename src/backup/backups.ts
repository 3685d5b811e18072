// Backups on request of an operator: one job at a time works on the folder of backups, in a process of its own, so that requests do
// not wait for it. It must not run in this process: a second opening of an LMDB environment in one process takes a write lock that the
// asynchronous writer of the first may hold while it waits for this thread, and both wait forever. The lock of the job is held by this
// process; the state of each backup is in the folder.
import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { ByteStream } from '../http/route.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { TASK_LOCKS_FOLDER } from '../kernel/folder/data-folder.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import type { Log } from '../ops/log.ts'
import { ChildProcess } from '../processes/child-process.ts'
import type { ChildFigures } from '../processes/process-figures.ts'
import { type FileLock, lockFile } from '../store/process/file-lock.ts'
import { fileChunks } from '../transfer/files/byte-stream.ts'
import {
  backupPath,
  isBackupName,
  jobLockPath,
  type ListedBackup,
  listBackups,
  newBackupName,
  readBackup,
  removeBackup,
  writeBackupState,
} from './backup-files.ts'
import type { BackupJob, ScheduledJob } from './backup-job.ts'
import type { ScheduledRun } from './backup-schedule.ts'

/** The task of the process of a job. */
export interface BackupTask {
  readonly settings: unknown
  readonly job: BackupJob | ScheduledJob
  /** The service account that asked for it; empty: the schedule. */
  readonly requestedBy: string
}

/** Collaborators of the backups. */
interface BackupsDeps {
  /** The setting `backup_folder`; empty: there are no backups on request. */
  readonly folder: string
  readonly dataDir: string
  readonly settings: unknown
  /** Such as `verdigraph 1.0.0`. */
  readonly madeBy: string
  /** Public keys for which new backups are encrypted. */
  readonly recipients: readonly string[]
  /** The setting `backup_identity`. */
  readonly identityFile: string
  readonly clock: Clock
  readonly log: Log
  readonly figures: ChildFigures
  /** The command line of the process of a job; the id of this process is appended. */
  readonly command: readonly string[]
  /** How often the process of a job is asked whether it answers, milliseconds. For tests. Absent: that of `ChildProcess.watch`. */
  readonly pingMs?: number
  /** True if the project exists and is of the organization. */
  hasProject(projectId: string, organizationId: string): boolean
}

/** All backups, and whether a new one can be made. */
export interface BackupList {
  readonly isEnabled: boolean
  readonly backups: readonly ListedBackup[]
}

/** More must be deleted first: each needs the space of all data. */
const BACKUPS_MAX = 50
/** Another process may look for the lock in this moment. */
const LOCK_ATTEMPTS = 5
const LOCK_RETRY_MS = 10
/** In the folder of task locks. */
const JOB_LOCK = 'backup-job.lock'

const disabled: Result<never, ServiceError> = err({
  kind: 'not-found',
  message: 'backups on request are off: the setting `backup_folder` names no folder',
})
const busy: Result<never, ServiceError> = err({
  kind: 'conflict',
  message: 'another backup is made or verified now: wait until it has ended',
})
const unknown: Result<never, ServiceError> = err({ kind: 'not-found', message: 'no such backup' })
const interrupted = 'the service stopped before it was complete'

/** The backups of a service. */
export class Backups {
  private readonly deps: BackupsDeps
  /** The job that this process has started. */
  private running: Promise<void> | null = null
  private child: ChildProcess<BackupTask> | null = null
  private isClosing = false

  constructor(deps: BackupsDeps) {
    this.deps = deps
  }

  /** All backups, the newest first. */
  list(): BackupList {
    const { folder } = this.deps
    if (folder === '') return { isEnabled: false, backups: [] }
    const backups = listBackups(folder)
    return { isEnabled: true, backups: backups.some(isWorking) ? this.withoutInterrupted(backups) : backups }
  }

  /** Starts a backup. Errors: `not-found`, `conflict`, `invalid`. */
  async create(caller: ServiceAccountCaller, projectId: string | null): Promise<Result<ListedBackup, ServiceError>> {
    const { folder, clock, hasProject } = this.deps
    if (folder === '') return disabled
    if (projectId !== null && !hasProject(projectId, caller.organizationId))
      return err({ kind: 'invalid', issues: ['project_id: the organization has no project with this identifier'] })
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const lock = await this.lock()
    if (lock === null) return busy
    if (listBackups(folder).length >= BACKUPS_MAX) {
      lock.release()
      return err({ kind: 'conflict', message: `there are ${BACKUPS_MAX} backups: delete one first` })
    }
    const name = newBackupName(clock.now())
    writeBackupState(folder, name, {
      state: 'running',
      start_time: timestamp(clock.now()),
      end_time: null,
      requested_by: caller.serviceAccountId,
      projects: projectId === null ? null : [projectId],
      progress: 0,
      error: null,
      verification: null,
    })
    return this.start(lock, this.job('make', name, projectId), caller)
  }

  /** Starts the verification of a backup. Errors: `not-found`, `conflict`. */
  async verify(caller: ServiceAccountCaller, name: string): Promise<Result<ListedBackup, ServiceError>> {
    const { folder, clock } = this.deps
    const found = this.complete(name)
    if (!found.ok) return found
    const lock = await this.lock()
    if (lock === null) return busy
    const { name: _, bytes: __, isEncrypted: ___, ...state } = found.value
    writeBackupState(folder, name, {
      ...state,
      progress: 0,
      verification: { state: 'running', start_time: timestamp(clock.now()), end_time: null, error: null },
    })
    return this.start(lock, this.job('verify', name, null), caller)
  }

  /** The file of a complete backup. Errors: `not-found`, `conflict`. */
  read(name: string): Result<ByteStream & { readonly fileName: string }, ServiceError> {
    const found = this.complete(name)
    if (!found.ok) return found
    const path = backupPath(this.deps.folder, name, found.value.isEncrypted)
    return ok({ fileName: basename(path), bytes: found.value.bytes, open: () => fileChunks(path) })
  }

  /** Deletes a backup. Errors: `not-found`; `conflict` while a job works on it. */
  async delete(name: string): Promise<Result<null, ServiceError>> {
    const { folder } = this.deps
    if (folder === '') return disabled
    const found = isBackupName(name) ? readBackup(folder, name) : null
    if (found === null) return unknown
    const lock = isWorking(found) ? await this.lock() : null
    if (isWorking(found) && lock === null) return busy
    removeBackup(folder, name)
    lock?.release()
    return ok(null)
  }

  /** Stops a running job, whose backup is then interrupted. */
  async close(): Promise<void> {
    this.isClosing = true
    this.child?.kill()
    await this.running
  }

  private job(kind: BackupJob['kind'], name: string, projectId: string | null): BackupJob {
    const { dataDir, folder, madeBy, recipients, identityFile } = this.deps
    return { kind, dataDir, folder, name, projectId, madeBy, recipients, identityFile }
  }

  private complete(name: string): Result<ListedBackup, ServiceError> {
    const { folder } = this.deps
    if (folder === '') return disabled
    const found = isBackupName(name) ? readBackup(folder, name) : null
    if (found === null) return unknown
    return found.state === 'complete' && found.bytes > 0
      ? ok(found)
      : err({ kind: 'conflict', message: 'the backup is not complete' })
  }

  /** Runs a job of the schedule, in a process of its own. Rejects if it fails. */
  async runScheduled(job: ScheduledJob): Promise<ScheduledRun> {
    const lock = await this.lock()
    if (lock === null) return 'busy'
    if (this.isClosing) {
      lock.release()
      return 'busy'
    }
    const work = this.spawn(job, '')
    this.running = work.then(
      () => undefined,
      () => undefined,
    )
    try {
      await work
      return 'done'
    } catch (failure) {
      if (this.isClosing) return 'stopped'
      throw failure
    } finally {
      this.running = null
      lock.release()
    }
  }

  private start(lock: FileLock, job: BackupJob, caller: ServiceAccountCaller): Result<ListedBackup, ServiceError> {
    const { deps } = this
    const { kind, name } = job
    const { serviceAccountId } = caller
    this.running = this.spawn(job, serviceAccountId)
      .catch((failure: unknown) => {
        const reason = failure instanceof Error ? failure.message : String(failure)
        this.storeEnd(name, reason)
        if (this.isClosing)
          deps.log({ level: 'info', message: 'a job on a backup was interrupted by a stop', kind, name })
        else deps.log({ level: 'error', message: 'a job on a backup failed', kind, name, reason })
      })
      .finally(() => {
        lock.release()
        this.running = null
      })
    const found = readBackup(deps.folder, name)
    return found === null ? unknown : ok(found)
  }

  /** A process that was killed has stored nothing. */
  private storeEnd(name: string, reason: string): void {
    const { folder, clock } = this.deps
    const found = readBackup(folder, name)
    if (found === null || !isWorking(found)) return
    const { name: _, bytes: __, isEncrypted: ___, ...state } = found
    const error = this.isClosing ? interrupted : reason
    const end_time = timestamp(clock.now())
    const ended = { state: 'failed', end_time, error } as const
    const { verification } = state
    writeBackupState(
      folder,
      name,
      verification?.state === 'running'
        ? { ...state, verification: { ...verification, ...ended } }
        : { ...state, ...ended },
    )
  }

  private async spawn(job: BackupJob | ScheduledJob, requestedBy: string): Promise<void> {
    const { command, settings, pingMs } = this.deps
    const child = new ChildProcess<BackupTask>({ kind: 'backup-job', command, task: { settings, job, requestedBy } })
    this.child = child
    child.watch(undefined, pingMs)
    const exit = await child.exited
    this.child = null
    if (exit.code === null) {
      if (!this.isClosing) this.deps.figures.countExit('backup-job', exit, Math.round(this.deps.clock.now() / 1000))
      throw new Error(
        exit.killedFor === null ? `its process exited by ${exit.how}` : `its process was ended: ${exit.killedFor}`,
      )
    }
    // The process has stored a failure that it has noticed.
    const isScheduled = !('folder' in job)
    if (isScheduled && exit.code !== 0) throw new Error(`its process ended without a result (${exit.how})`)
  }

  /** The locks of jobs of the data folder and of the folder of backups. Null: another job works. */
  private async lock(): Promise<FileLock | null> {
    const { dataDir, folder } = this.deps
    const locks = join(dataDir, TASK_LOCKS_FOLDER)
    mkdirSync(locks, { recursive: true, mode: 0o700 })
    if (folder !== '') mkdirSync(folder, { recursive: true, mode: 0o700 })
    const paths = [join(locks, JOB_LOCK), ...(folder === '' ? [] : [jobLockPath(folder)])]
    for (let attempt = 0; attempt < LOCK_ATTEMPTS && this.running === null; attempt++) {
      const lock = lockAll(paths)
      if (lock !== null) return lock
      await Bun.sleep(LOCK_RETRY_MS)
    }
    return null
  }

  /** A job whose process was killed leaves the state `running`. */
  private withoutInterrupted(backups: readonly ListedBackup[]): readonly ListedBackup[] {
    if (this.running !== null) return backups
    const lock = lockFile(jobLockPath(this.deps.folder), 'exclusive')
    if (lock === null) return backups
    lock.release()
    return backups.map((one) => {
      if (one.state === 'running') return { ...one, state: 'failed', error: interrupted }
      const { verification } = one
      if (verification?.state !== 'running') return one
      return { ...one, verification: { ...verification, state: 'failed', error: interrupted } }
    })
  }
}

function isWorking({ state, verification }: ListedBackup): boolean {
  return state === 'running' || verification?.state === 'running'
}

/** Null: one of them is locked, and none is held. */
function lockAll(paths: readonly string[]): FileLock | null {
  const held: FileLock[] = []
  const release = (): void => {
    for (const lock of held) lock.release()
  }
  for (const path of paths) {
    const lock = lockFile(path, 'exclusive')
    if (lock === null) {
      release()
      return null
    }
    held.push(lock)
  }
  return { release }
}
