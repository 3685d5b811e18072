// The process that makes or verifies one backup for a serving process. It exits when the job is done, and with its parent.

import { systemClock } from '../kernel/clock.ts'
import { OperationalError } from '../kernel/errors.ts'
import { exitWithParent } from '../lanes/parent-death.ts'
import { backupAddressOf } from '../runtime/backup-settings.ts'
import type { BackupCommand } from '../runtime/backups.ts'
import type { Settings } from '../settings.ts'
import { type FinishedBackup, runBackupJob } from '../transfer/backup-job.ts'
import { UsageError } from './cli-error.ts'
import { logFailure } from './log-failure.ts'
import { recorded } from './record-operation.ts'
import { runScheduledJob } from './scheduled-backup.ts'

/** Runs the job that the parent sends. `parent`: the process id of the serving process. Rejects with UsageError without one. */
export async function runBackupProcess(parent: number): Promise<void> {
  if (process.send === undefined) throw new UsageError(['backup-job is started by `verdigraph serve` only'])
  exitWithParent(parent)
  // Ignored: the serving process decides when this one stops.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.exit(1))

  process.on('message', ({ settings, job, requestedBy }: BackupCommand) => {
    runJob(settings as Settings, job, requestedBy).then(
      () => process.exit(0),
      (failure: unknown) => {
        const about = { job: job.kind, ...('folder' in job && { backup: job.name }) }
        // The serving process logs the failure of a scheduled run, which is stored; only a stack is lost there.
        if ('folder' in job || !(failure instanceof OperationalError))
          logFailure(settings as Settings, 'a job of backups failed', failure, about)
        process.exit(1)
      },
    )
  })
  await new Promise(() => {})
}

function runJob(settings: Settings, job: BackupCommand['job'], requestedBy: string): Promise<FinishedBackup> {
  const counts = ({ projects, bytes }: FinishedBackup): object => ({ projects, bytes })
  const operation = 'svc.audit.operations.backup'
  switch (job.kind) {
    case 'make': {
      const { name, projectId } = job
      const about = { file: `${name}.tar`, requestedBy, ...(projectId !== null && { project: projectId }) }
      return recorded(settings, operation, about, () => runBackupJob(job, systemClock), counts)
    }
    // A verification and a drill change nothing: the audit log has the request of a verification.
    case 'verify':
      return runBackupJob(job, systemClock)
    case 'drill':
      return runScheduledJob(settings, job, systemClock)
    case 'scheduled-backup': {
      const about = { file: backupAddressOf(settings), requestedBy: 'schedule' }
      return recorded(settings, operation, about, () => runScheduledJob(settings, job, systemClock), counts)
    }
  }
}
