// Scheduled backups and drills as durable runs, which the one serving process starts that is elected. Their states are in the record of backups. A
// run that was due while no service ran is made once.

import { OperationalError } from '../kernel/errors.ts'
import type { CommitSignal } from '../kernel/folder/commit-signal.ts'
import { fileProblemOf } from '../kernel/folder/file-issue.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import { cronProblem, cronTimes, secondsWarning } from '../kernel/time/period-schedule.ts'
import type { Log } from '../ops/log.ts'
import type { BackupTotals } from '../ops/service-metrics.ts'
import { type AttemptEnd, DurableRuns, failuresOf, type RunKind } from '../runs/durable-runs.ts'
import type { Settings } from '../settings.ts'
import { LeaderElection } from '../store/process/leader-election.ts'
import type { ScheduledJob } from './backup-job.ts'
import {
  type BackupRecord,
  readBackupRecord,
  reportedBackupRecord,
  type ScheduledJobState,
  updateBackupRecord,
} from './backup-record.ts'

/** Collaborators of the schedule. */
interface BackupScheduleDeps {
  readonly settings: Settings
  readonly signal: CommitSignal
  readonly clock: Clock
  readonly log: Log
  /** Such as `verdigraph 1.0.0`. */
  readonly madeBy: string
  readonly organizationId: string
  /** Runs a job in a process of its own. Rejects if it fails. */
  run(job: ScheduledJob): Promise<ScheduledRun>
}

/** How a run ended that did not fail. `busy`: it did not begin, because another job works; `stopped`: with the service, and it is still due. */
export type ScheduledRun = 'done' | 'busy' | 'stopped'

interface Schedule {
  readonly kind: ScheduledJob['kind']
  readonly member: 'backup' | 'drill'
  readonly pattern: string
}

/** The patterns of the settings. Throws OperationalError for one that is wrong. */
export function schedulesOf({
  backupSchedule,
  drillSchedule,
}: Pick<Settings, 'backupSchedule' | 'drillSchedule'>): readonly Schedule[] {
  const all: readonly Schedule[] = [
    { kind: 'scheduled-backup', member: 'backup', pattern: backupSchedule },
    { kind: 'drill', member: 'drill', pattern: drillSchedule },
  ]
  const used = all.filter(({ pattern }) => pattern !== '')
  for (const { member, pattern } of used) {
    const problem = cronProblem(pattern)
    if (problem !== null) throw new OperationalError(`the setting ${member}_schedule is not a cron pattern: ${problem}`)
  }
  return used
}

/** A scheduled job as an operator sees it. */
interface ScheduledJobStatus {
  readonly job: 'backup' | 'drill'
  /** The cron pattern. */
  readonly schedule: string
  /** RFC 3339; null: never. */
  readonly nextTime: string | null
  /** Time since a run is due and not done; 0: none is due. */
  readonly overdueS: number
  readonly state: ScheduledJobState | null
}

/** The scheduled jobs at a time. Empty without a schedule. */
export function scheduledJobs(settings: Settings, nowMs: number): readonly ScheduledJobStatus[] {
  const { record, problem } = reportedBackupRecord(settings.dataDir)
  const time = new Date(nowMs).toISOString()
  const unread = {
    due_time: time,
    failures: 1,
    last_run: { name: '', start_time: time, end_time: time, error: problem },
  }
  return schedulesOf(settings).map(({ member, pattern }) => {
    const { lastMs, nextMs } = cronTimes(pattern, nowMs)
    const state = problem === null ? record[member] : unread
    // The first time after the last run: later ones may have been missed as well.
    const missedMs = state === null ? null : cronTimes(pattern, Date.parse(state.due_time)).nextMs
    const isOverdue =
      !awaitsBackup(member, settings, record) &&
      state !== null &&
      lastMs !== null &&
      lastMs > Date.parse(state.due_time) &&
      missedMs !== null
    return {
      job: member,
      schedule: pattern,
      nextTime: nextMs === null ? null : new Date(nextMs).toISOString(),
      overdueS: isOverdue ? Math.max(0, Math.round((nowMs - missedMs) / 1000)) : 0,
      state,
    }
  })
}

/** A drill has nothing to prove before the first scheduled backup. It is due as soon as that exists. */
function awaitsBackup(member: Schedule['member'], { backupSchedule }: Settings, { newest }: BackupRecord): boolean {
  return member === 'drill' && backupSchedule !== '' && newest === null
}

/** The figures of the metrics. */
export function backupTotals(settings: Settings, nowMs: number): BackupTotals {
  const { newest, proven } = reportedBackupRecord(settings.dataDir).record
  const seconds = (time: string | undefined): number | null => (time === undefined ? null : Date.parse(time) / 1000)
  return {
    jobs: scheduledJobs(settings, nowMs).map(({ job, overdueS, state }) => ({
      job,
      overdueS,
      failures: state?.failures ?? 0,
    })),
    newestS: seconds(newest?.made_at),
    newestBytes: newest?.bytes ?? null,
    provenS: seconds(proven?.made_at),
  }
}

/** The elected starter of scheduled jobs, which are durable runs. */
export class BackupSchedule {
  private readonly deps: BackupScheduleDeps
  private readonly schedules: readonly Schedule[]
  private readonly runs: DurableRuns
  private elections: LeaderElection | null = null

  /** Throws OperationalError for a pattern that is wrong. */
  constructor(deps: BackupScheduleDeps) {
    this.deps = deps
    this.schedules = schedulesOf(deps.settings)
    const { log, clock } = deps
    this.runs = new DurableRuns({
      kinds: [this.jobs()],
      clock,
      catchUp: () => undefined,
      onFailure: ({ id, error }) => log({ level: 'error', message: `a scheduled ${id} failed`, reason: error }),
      // Without the record, it is not known which jobs are due. The process still serves.
      onLookFailure(failure) {
        const reason = fileProblemOf(failure) ?? (failure instanceof Error ? failure.message : String(failure))
        log({ level: 'error', message: 'the record of backups cannot be used: no scheduled job starts', reason })
      },
    })
  }

  /** Becomes a candidate, if there is a schedule. */
  start(): void {
    if (this.schedules.length === 0) return
    for (const { member, pattern } of this.schedules) {
      const seconds = secondsWarning(pattern)
      if (seconds !== null)
        this.deps.log({ level: 'info', message: `warning: the setting ${member}_schedule: ${seconds}` })
    }
    this.elections = new LeaderElection(this.deps.settings.dataDir, this.deps.signal)
    this.elections.campaign('backup-schedule', () => this.runs.start(this.deps.signal))
  }

  /** Starts no more jobs. A running one is stopped by its owner. */
  close(): void {
    void this.runs.close()
    this.elections?.close()
  }

  private jobs(): RunKind<Schedule> {
    const { settings } = this.deps
    const { dataDir } = settings
    return {
      name: 'job',
      subjects: () => this.schedules,
      idOf: ({ member }) => member,
      // Since the last run, so that frequent backups do not keep drills from running.
      dueSinceMs({ member, pattern }, nowMs) {
        const record = readBackupRecord(dataDir)
        const state = record[member]
        const lastMs = cronTimes(pattern, nowMs).lastMs ?? 0
        if (state === null) {
          // The schedule is new: nothing was missed.
          const due_time = timestamp(lastMs)
          updateBackupRecord(dataDir, { [member]: { due_time, failures: 0, last_run: null } })
          return null
        }
        const sinceMs = Date.parse(state.due_time)
        return !awaitsBackup(member, settings, record) && lastMs > sinceMs ? sinceMs : null
      },
      failuresOf({ member }) {
        const { failures, last_run } = readBackupRecord(dataDir)[member] ?? { failures: 0, last_run: null }
        if (failures === 0 || last_run === null) return null
        return failuresOf(failures, Date.parse(last_run.end_time ?? last_run.start_time))
      },
      attempt: (schedule) => this.attempt(schedule),
      fail: async ({ member }, error, { failures }) => {
        const state = readBackupRecord(dataDir)[member]
        // Otherwise the process was killed before it could store the failure.
        if (state !== null && state.failures < failures) this.storeFailure(member, state, error)
      },
    }
  }

  private async attempt({ kind, member, pattern }: Schedule): Promise<AttemptEnd> {
    const { log, run, settings, madeBy, organizationId, clock } = this.deps
    const before = readBackupRecord(settings.dataDir)[member]
    const dueMs = cronTimes(pattern, clock.now()).lastMs ?? 0
    let ended: ScheduledRun
    try {
      ended = await run({ kind, dueMs, madeBy, organizationId })
    } catch (failure) {
      const reason = failure instanceof Error ? failure.message : String(failure)
      throw new Error(this.storedFailure(member, before) ?? reason)
    }
    if (ended === 'busy') return 'paused'
    if (ended === 'stopped') {
      const reason = this.storedFailure(member, before)
      if (reason !== null) throw new Error(reason)
      log({
        level: 'info',
        message: `a scheduled ${member} was interrupted by a stop, and is made after the next start`,
      })
      return 'paused'
    }
    const { newest, proven } = readBackupRecord(settings.dataDir)
    const name = (kind === 'drill' ? proven : newest)?.name ?? ''
    log({ level: 'info', message: `a scheduled ${member} succeeded`, name })
    return 'ended'
  }

  /** The failure that the process of a run has stored; null: it has stored none. */
  private storedFailure(member: Schedule['member'], before: ScheduledJobState | null): string | null {
    const state = readBackupRecord(this.deps.settings.dataDir)[member]
    return state !== null && state.failures > (before?.failures ?? 0) ? (state.last_run?.error ?? null) : null
  }

  private storeFailure(member: Schedule['member'], state: ScheduledJobState, error: string): void {
    const { settings, clock } = this.deps
    const { last_run: before } = state
    const end_time = timestamp(clock.now())
    const isOwn = before !== null && before.end_time === null
    const last_run = {
      name: isOwn ? before.name : '',
      start_time: isOwn ? before.start_time : end_time,
      end_time,
      error,
    }
    updateBackupRecord(settings.dataDir, { [member]: { ...state, failures: state.failures + 1, last_run } })
  }
}
