// The process that makes or verifies one backup for a serving process, or restores one in a drill. It exits when the job is done.

import { type FinishedBackup, runBackupJob } from '../../backup/backup-job.ts'
import { backupAddressOf } from '../../backup/backup-settings.ts'
import type { BackupTask } from '../../backup/backups.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import { type Parent, runChild } from '../../processes/run-child.ts'
import type { Settings } from '../../settings.ts'
import { runScheduledJob } from '../backup/scheduled-backup.ts'
import { recorded, UnrecordedOperationError } from '../folder/record-operation.ts'
import { logFailure } from './log-failure.ts'

/** Runs the job that the parent sends. `parent`: the process id of the serving process. Never resolves. */
export function runBackupProcess(parent: number): Promise<never> {
  return runChild<BackupTask>({
    kind: 'backup-job',
    parent,
    open: async (task, own) => ({ done: runJob(task, own).then(() => true), stop: async () => undefined }),
    failed: logJobFailure,
  })
}

function logJobFailure(failure: unknown, task: BackupTask | null): void {
  if (task === null) throw failure
  const { job, settings } = task
  const about = { job: job.kind, ...('folder' in job && { backup: job.name }) }
  // The serving process logs the failure of a scheduled run, which is stored; only a stack is lost there.
  if ('folder' in job || !(failure instanceof OperationalError))
    logFailure(settings as Settings, 'a job of backups failed', failure, about)
}

function runJob({ settings: given, job, requestedBy }: BackupTask, { alive }: Parent<never>): Promise<unknown> {
  const settings = given as Settings
  const made = (about: object, run: () => Promise<FinishedBackup>): Promise<unknown> =>
    recorded(settings, operation, about, run, counts).catch((failure: unknown) => {
      if (!(failure instanceof UnrecordedOperationError)) throw failure
      logFailure(settings, 'a backup was made, but its audit record could not be written', failure, about)
    })
  const counts = ({ projects, bytes }: FinishedBackup): object => ({ projects, bytes })
  const operation = 'svc.audit.operations.backup'
  switch (job.kind) {
    case 'make': {
      const { name, projectId } = job
      const about = { file: `${name}.tar`, requestedBy, ...(projectId !== null && { project: projectId }) }
      return made(about, () => runBackupJob(job, systemClock, alive))
    }
    // A verification and a drill change nothing: the audit log has the request of a verification.
    case 'verify':
      return runBackupJob(job, systemClock, alive)
    case 'drill':
      return runScheduledJob(settings, job, systemClock, alive)
    case 'scheduled-backup': {
      const about = { file: backupAddressOf(settings), requestedBy: 'schedule' }
      return made(about, () => runScheduledJob(settings, job, systemClock, alive))
    }
  }
}
